"""The settings of a run as options of a command; given options override those of a file, or the defaults."""

import ast
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict, get_origin

import tyro

from l2d_core.common.json_fields import Option
from l2d_core.config import ExpertConfig, RunConfig

# The expert's settings by the names of their options; a confusion matrix is for files.
_EXPERT_FIELDS = {
    "expert": "kind",
    "accuracy": "accuracy",
    "wrong": "wrong",
    "classes": "classes",
    "expert_name": "name",
}


def _options_of(config: type) -> dict[str, Any]:
    """The fields of a dataclass as options: their types, with the texts below the fields as their help."""
    lines = ast.parse(inspect.getsource(config)).body[0].body  # pyright: ignore[reportAttributeAccessIssue]
    texts = {
        line.target.id: inspect.cleandoc(text.value.value)  # pyright: ignore[reportAttributeAccessIssue]
        for line, text in pairwise(lines)
        if isinstance(line, ast.AnnAssign) and isinstance(text, ast.Expr)
    }
    types = {field.name: field.type for field in fields(config)}
    types |= {name: tuple[str, ...] for name, wanted in types.items() if get_origin(wanted) is Mapping}
    return {name: Annotated[types[name], tyro.conf.arg(help=text)] for name, text in texts.items()}


def _all_options() -> dict[str, Any]:
    """The options in the order of the run's settings, those of the expert in its place."""
    run, expert = _options_of(RunConfig), _options_of(ExpertConfig)
    experts = {name: expert[field] for name, field in _EXPERT_FIELDS.items()}
    place = [field.name for field in fields(RunConfig)].index("expert")
    return dict([*run.items()][:place]) | experts | run


# Options that are not given keep the value of --config, or else the default of `RunConfig`.
RunOptions = TypedDict("RunOptions", _all_options(), total=False)  # pyright: ignore[reportArgumentType]


def make_config(options: Mapping[str, Any], file: Path | None = None) -> RunConfig:
    """The config of a file, or the default one, with its settings replaced by the given options.

    An expert of another kind does not inherit the settings of the previous one.
    ValueError names the file or the option and what is wrong with it.
    """
    settings = json.loads((RunConfig() if file is None else RunConfig.load(file)).to_json())
    given = {name: value for name, value in options.items() if name not in _EXPERT_FIELDS}
    expert = {_EXPERT_FIELDS[name]: options[name] for name in options.keys() & _EXPERT_FIELDS.keys()}
    if expert.get("kind", settings["expert"]["kind"]) == settings["expert"]["kind"]:
        expert = settings["expert"] | expert
    for name in [name for name in given if name.endswith("_options")]:
        given[name] = settings[name] | _read_pairs(name, given[name])
    return RunConfig.from_json(json.dumps({**settings, **given, "expert": expert}))


def _read_pairs(name: str, pairs: Sequence[str]) -> dict[str, Option]:
    """NAME=VALUE texts as a dict; a value that is not a number, true or false is text."""
    values: dict[str, Option] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise ValueError(f"--{name.replace('_', '-')} must be NAME=VALUE, got {pair!r}")
        values[key] = _read_value(value)
    return values


def _read_value(text: str) -> Option:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text
