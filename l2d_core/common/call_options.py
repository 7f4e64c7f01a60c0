"""Options that a config has for a function in a registry: checked against the function's own signature."""

import inspect
from collections.abc import Callable, Mapping

from l2d_core.common.json_fields import Option

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


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
