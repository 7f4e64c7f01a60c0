"""The fields of a dataclass out of a JSON object, each value checked against the type of its field."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin

Option = bool | int | float | str

_PLAIN = {
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    int | None: ("a whole number or null", (int, NoneType)),
    float: ("a number", (int, float)),
    str: ("text", (str,)),
    Option: ("a number, text, true or false", (bool, int, float, str)),
}


def read_fields(name: str, values: Any, dataclass_type: type) -> dict[str, Any]:
    """The values for some of the fields of a dataclass, in the fields' types: lists become tuples, objects dataclasses.

    name: what the object is called in messages. ValueError on what is no JSON object, on unknown fields (it lists
    the known ones), and on the first value that does not have the type of its field.
    """
    if not isinstance(values, dict):
        raise ValueError(f"{name} must be a JSON object, got {values!r}")
    types = {field.name: field.type for field in fields(dataclass_type)}
    unknown = [key for key in values if key not in types]
    if unknown:
        raise ValueError(f"{name} has the unknown fields {', '.join(map(repr, unknown))}; known are {', '.join(types)}")
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
    return _require(name, value, description, types)


def _require(name: str, value: Any, description: str, types: tuple[type, ...]) -> Any:
    # In Python True is a whole number; in JSON it is not.
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f"{name} must be {description}, got {value!r}")
    return value
