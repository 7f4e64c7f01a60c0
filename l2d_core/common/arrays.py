"""Arrays at the door: whatever numpy can read, CPU tensors included, becomes float64 or a ValueError."""

from typing import Any

import numpy as np

from l2d_core.common.checks import require_finite, require_shape

# All that np.asarray takes. numpy's own ArrayLike refuses a tuple of floats when it is checked at run time.
ArrayLike = Any


def as_floats(name: str, values: ArrayLike, shape: tuple[int | None, ...] = (None,)) -> np.ndarray:
    """The values in float64; ValueError names a wrong type or shape, or the first NaN or infinity."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise ValueError(f"{name} must be numbers: {problem}") from problem
    require_shape(name, array, shape)
    require_finite(name, array)
    return array


def as_flags(name: str, values: ArrayLike, length: int) -> np.ndarray:
    """The values as bool (length,); ValueError on another type: 0 and 1 might be row numbers."""
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise ValueError(f"{name} must be bool, got {array.dtype}")
    require_shape(name, array, (length,))
    return array
