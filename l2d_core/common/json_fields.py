"""Values from outside, checked against types: JSON files, fields of dataclasses, options of functions."""

import inspect
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin

from l2d_core.common.checks import brief, list_names
from l2d_core.common.files import open_regular

MAX_JSON_BYTES = 4 * 2**20  # of a file of settings; a sweep of a thousand runs takes less than a tenth

Option = bool | int | float | str

_PLAIN = {
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    int | None: ("a whole number or null", (int, NoneType)),
    float: ("a number", (int, float)),
    str: ("text", (str,)),
    Option: ("a number, text, true or false", (bool, int, float, str)),
}

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def read_text_file(path: str | os.PathLike, name: str, max_bytes: int = MAX_JSON_BYTES) -> str:
    """The text of a small file in UTF-8, with or without a byte order mark; name: what messages call it.

    OSError if it cannot be read; ValueError if it is too large or not UTF-8.
    """
    with open_regular(path) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"{name} must have at most {max_bytes:,} bytes, got more")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(f"{name} must be text in UTF-8: {problem.reason} at byte {problem.start:,}") from None


def parse_json(text: str, name: str) -> Any:
    """The value of a JSON text; ValueError if it is not JSON, too deep, or has too long a number."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{name} is no JSON: {problem}") from problem


def read_fields(name: str, values: Any, dataclass_type: type) -> dict[str, Any]:
    """The values for some of the fields of a dataclass, in the fields' types: lists become tuples, objects dataclasses.

    name: what the object is called in messages. ValueError on what is no JSON object, on unknown fields (it lists
    the known ones), and on the first value that does not have the type of its field.
    """
    if not isinstance(values, dict):
        raise ValueError(f"{name} must be a JSON object, got {brief(values)}")
    types = {field.name: field.type for field in fields(dataclass_type)}
    unknown = [key for key in values if key not in types]
    if unknown:
        raise ValueError(f"{name} has the unknown fields {list_names(unknown)}; known are {', '.join(types)}")
    return {key: _read(f"{name}.{key}", value, types[key]) for key, value in values.items()}


def _read(name: str, value: Any, wanted: Any) -> Any:
    if is_dataclass(wanted) and isinstance(wanted, type):
        return wanted(**read_fields(name, value, wanted))
    if get_origin(wanted) is tuple:
        _require(name, value, "a list", (list,))
        return tuple(_read(f"{name}[{place}]", item, get_args(wanted)[0]) for place, item in enumerate(value))
    if get_origin(wanted) is Mapping:
        _require(name, value, "an object of names and values", (dict,))
        return {key: _read(f"{name}.{key}", item, get_args(wanted)[1]) for key, item in value.items()}
    description, types = _PLAIN[wanted]
    _require(name, value, description, types)
    if float in types and isinstance(value, int):
        _require_float(name, value)
    return value


def _require(name: str, value: Any, description: str, types: tuple[type, ...]) -> Any:
    # In Python True is a whole number; in JSON it is not.
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f"{name} must be {description}, got {brief(value)}")
    return value


def _require_float(name: str, value: int) -> None:
    """A whole number may stand for a float if it is in the range of floats."""
    try:
        float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number of at most 1.8e308, got {brief(value)}") from None


def flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects as one level of names with dots."""
    flat = {}
    for key, value in settings.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def check_options(owner: str, function: Callable, options: Mapping[str, Option]) -> None:
    """Raise ValueError on an option that the function does not have, or that is not of the type that it wants.

    owner: what has the options, in messages, as "model 'resnet34'". The first two parameters are no options.
    """
    known = dict(list(inspect.signature(function).parameters.items())[2:])
    for name, value in options.items():
        if name not in known:
            raise ValueError(f"{owner} has no option {name!r}; it has {', '.join(known) or 'none'}")
        wanted = known[name].annotation
        fits = (int, float) if wanted is float else wanted
        # In Python True is a whole number; in a config it is not.
        if wanted in _WORDS and not (isinstance(value, fits) and isinstance(value, bool) == (wanted is bool)):
            raise ValueError(f"{name} of {owner} must be {_WORDS[wanted]}, got {value!r}")
