"""A sweep: the settings of many runs from one file, and for each a readable name that stays as the sweep grows."""

import hashlib
import itertools
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from l2d_core.common.checks import brief
from l2d_core.common.json_fields import flatten, parse_json, read_text_file
from l2d_core.config import ExpertConfig, RunConfig

MAX_RUNS, MAX_NAME = 10_000, 80
FORM = (
    '{"base": {...}, "grid": {"surrogate": [...], "expert.accuracy": [...]}} or {"base": {...}, "runs": [{...}, ...]}'
)


@dataclass(frozen=True)
class Sweep:
    """The runs by name. problems: why a run has no config, for settings that do not go together."""

    configs: dict[str, RunConfig]
    problems: dict[str, str]


def read_sweep(path: str | os.PathLike) -> Sweep:
    """The sweep in a JSON file of the form FORM: every combination of a grid's values, or the runs of a list.

    base: settings of all runs, fields of `RunConfig`. In base, grid and runs alike, a name with a dot, as
    "expert.accuracy" or "dataset_options.noise", sets a part of one, a name without replaces all of it.
    ValueError names the file and what is wrong; also where there is no run whose settings are right.
    """
    try:
        return plan_sweep(parse_json(read_text_file(path, "it"), "it"))
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{os.fspath(path)}: {problem}") from problem


def plan_sweep(content: Any) -> Sweep:
    """`read_sweep` of what was in the file."""
    if not isinstance(content, dict) or not content.keys() <= {"base", "grid", "runs"}:
        raise ValueError(f"a sweep must be {FORM}")
    base = _apply({}, _require(content.get("base", {}), dict, "base", "an object of settings"))
    changes = _changes(content)
    names: dict[str, int] = {}
    configs, problems = {}, {}
    for place, change in enumerate(changes):
        settings = _apply(base, change)
        name = run_name(settings, base)
        if name in names:
            raise ValueError(f"runs {names[name]} and {place} (from 0) have the same settings: {name}")
        names[name] = place
        try:
            configs[name] = RunConfig.from_json(json.dumps(settings))
        except ValueError as problem:
            problems[name] = str(problem)
    if not configs:
        raise ValueError(next(iter(problems.values())))
    return Sweep(configs, problems)


def vary(config: RunConfig, surrogates: Sequence[str], seeds: int) -> Sweep:
    """The sweep of a config with each of the surrogates, or its own, and this number of seeds, from its own on."""
    if not 1 <= seeds <= MAX_RUNS:
        raise ValueError(f"seeds must be at least 1 and at most {MAX_RUNS:,}, got {brief(seeds)}")
    grid = {"surrogate": [*surrogates] or [config.surrogate], "seed": [config.seed + place for place in range(seeds)]}
    return plan_sweep({"base": json.loads(config.to_json()), "grid": grid})


def _changes(content: dict) -> Sequence[dict]:
    if ("grid" in content) == ("runs" in content):
        raise ValueError(f"a sweep must have either grid or runs: {FORM}")
    if "runs" in content:
        runs = _require(content["runs"], list, "runs", "a list of objects")
        for place, run in enumerate(runs):
            _require(run, dict, f"runs[{place}]", "an object of settings")
        count = len(runs)
    else:
        grid = _require(content["grid"], dict, "grid", "an object of settings, with a list of values each")
        for key, values in grid.items():
            _require(values, list, f"grid[{key!r}]", "a list of values")
        count = math.prod(map(len, grid.values()))
        runs = (dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values()))
    if not 1 <= count <= MAX_RUNS:
        raise ValueError(f"a sweep must be of 1 to {MAX_RUNS:,} runs, got {count:,}")
    return list(runs)


def _require(value: Any, kind: type, name: str, wanted: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {wanted}, got {brief(value)}")
    return value


def _apply(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of base, replaced by those of change; dotted names set a part, after those without."""
    settings = {**base, **{key: value for key, value in change.items() if "." not in key}}
    for key in (key for key in change if "." in key):
        whole, _, part = key.partition(".")
        settings[whole] = {**_require(settings.get(whole, {}), dict, whole, "an object"), part: change[key]}
    return settings


def run_name(settings: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """A folder name with the surrogate, the settings in which the run differs from base, and the seed.

    It depends on these settings alone, so that runs keep their names as a sweep grows. Only a to z, digits and
    ".=_+-"; where that, or MAX_NAME, leaves something out, it ends in a hash of the differences.
    """
    own, other = flatten(_complete(settings)), flatten(_complete(base))
    differing = sorted(key for key in own.keys() | other.keys() if own.get(key) != other.get(key))
    said = {key: own.get(key) for key in differing if key not in ("surrogate", "seed")}
    parts = [_text(own.get("surrogate")), *(f"{_text(key)}={_text(value)}" for key, value in said.items())]
    parts.append(f"seed={_text(own.get('seed'))}")
    full = "-".join(parts)
    name = re.sub(r"[^a-z0-9=_+.-]", "_", full.lower())
    if name == full and len(name) <= MAX_NAME:
        return name
    exact = json.dumps([own.get("surrogate"), said, own.get("seed")], sort_keys=True)
    return f"{name[: MAX_NAME - 9]}-{hashlib.sha256(exact.encode()).hexdigest()[:8]}"


def _complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings, with the defaults for those that are left out, valid or not."""
    whole = {**asdict(RunConfig()), **settings}
    if isinstance(settings.get("expert"), dict):
        whole["expert"] = {**{setting.name: setting.default for setting in fields(ExpertConfig)}, **settings["expert"]}
    return json.loads(json.dumps(whole))


def _text(value: Any) -> str:
    """A value in a name: the items of a list joined by +, with x3 after one that occurs three times in a row."""
    if isinstance(value, list):
        counts = [(text, len(list(same))) for text, same in itertools.groupby(map(_text, value))]
        return "+".join(text if count == 1 else f"{text}x{count}" for text, count in counts) or "none"
    if (
        isinstance(value, str)
        and re.fullmatch(r"[a-z_][a-z0-9_.]*[a-z0-9_]", value)
        and value not in ("true", "false", "none")
    ):
        return value
    return "none" if value is None else json.dumps(value)  # text that is no plain word gets quotes, and so a hash
