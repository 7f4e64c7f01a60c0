"""Published pickles of NumPy arrays, read without calling anything that they name.

Each class or function that a pickle refers to becomes a stand-in that only stores its arguments, and only the few
names that NumPy's arrays need are allowed. Reading therefore runs no code from the file, whatever it contains.
"""

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

MAX_BYTES = 64 * 1024**2
_KNOWN = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("_codecs", "encode"),  # how Python 3 stores bytes for Python 2
}
_WHOLE_NUMBERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
_TORCH_MAGIC = 0x1950A86A20F9469CFC6C  # torch.save's older format: four pickles in a row, the last with the content


def load_array_pickle(path: Path) -> dict[str, Any]:
    """The content of a pickled dict, by name: arrays of integers, and plain values and containers.

    path: a plain pickle, or one in torch.save's formats, of at most 64 MiB.
    FileNotFoundError where there is none; ValueError names the file and what in it is not allowed.
    """
    size = os.path.getsize(path)
    if not 0 < size <= MAX_BYTES:
        raise ValueError(f"{path} must hold 1 to {MAX_BYTES:,} bytes, got {size:,}: download it again")
    try:
        content = _unpickle(_without_archive(Path(path).read_bytes()))
        if not isinstance(content, dict):
            raise ValueError(f"it holds a {type(content).__name__}, not a dict")
        return {_text(name): _array(value) if isinstance(value, _StandIn) else value for name, value in content.items()}
    except Exception as problem:  # a malicious pickle can fail in any way
        reason = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
        raise ValueError(f"{path} is no pickled dict of plain NumPy arrays ({reason}): download it again") from problem


class _StandIn:
    """In place of an object of the pickle: the arguments of the call that makes it, and its state."""

    arguments: tuple = ()
    state: Any = ()

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments

    def __setstate__(self, state: Any) -> None:
        self.state = state


# The version in Python, whose memo is a dict; the one in C would allocate memory for any index in the file.
class _ArrayUnpickler(pickle._Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) not in _KNOWN:
            raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}, which is not admitted")
        return _StandIn


def _without_archive(data: bytes) -> bytes:
    """The pickle in a torch.save archive, or else the data themselves."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith("/data.pkl")]
        if len(members) != 1 or members[0].file_size > MAX_BYTES:
            raise ValueError(f"the archive must hold one data.pkl of at most {MAX_BYTES:,} bytes")
        return archive.read(members[0])


def _unpickle(data: bytes) -> Any:
    stream = io.BytesIO(data)
    content = _ArrayUnpickler(stream, encoding="bytes").load()
    if content == _TORCH_MAGIC:
        for _ in range(3):
            content = _ArrayUnpickler(stream, encoding="bytes").load()
    return content


def _array(stand_in: _StandIn) -> np.ndarray:
    """The array with the (version, shape, type, column order, bytes) in the stand-in's state."""
    _, shape, kind, is_fortran, data = stand_in.state
    code, byte_order = _text(kind.arguments[0]), _text(kind.state[1])
    if code not in _WHOLE_NUMBERS or byte_order not in ("<", ">", "|", "="):
        raise ValueError(f"arrays must be of whole numbers ({', '.join(_WHOLE_NUMBERS)}), got {byte_order}{code}")
    if isinstance(data, _StandIn):
        text, encoding = data.arguments
        data = text.encode(_require_latin1(encoding))
    flat = np.frombuffer(data, dtype=np.dtype(code).newbyteorder(byte_order))
    return flat.reshape(shape, order="F" if is_fortran else "C")


def _require_latin1(encoding: Any) -> str:
    if _text(encoding) != "latin1":
        raise ValueError(f"bytes must be written as latin1, got {encoding!r}")
    return "latin1"


def _text(value: Any) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else str(value)
