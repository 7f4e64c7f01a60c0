"""Pickles of arrays: the published kinds are read, and nothing in a file is ever called."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import torch
from made_cifar10 import python2_batch, trap

from l2d_core.datasets.array_pickle import load_array_pickle

ARRAYS = {
    "counts": np.arange(6).reshape(2, 3),
    "bytes": np.arange(4, dtype=np.uint8),
    "big_endian": np.arange(3, dtype=">i4"),
    "columns_first": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(3, 2)),
    "names": ["a", "b"],
    "number": 7,
}


def torch_file(content, **how):
    buffer = io.BytesIO()
    torch.save(content, buffer, **how)
    return buffer.getvalue()


KINDS = {
    "torch's archive": torch_file(ARRAYS),
    "torch's older format": torch_file(ARRAYS, _use_new_zipfile_serialization=False),
    **{f"protocol {number}": pickle.dumps(ARRAYS, protocol=number) for number in (2, 3, 4)},
    "numpy 1": pickle.dumps(ARRAYS, protocol=2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray"),
}


def written(tmp_path, content):
    path = tmp_path / "file.pt"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_come_back_as_they_were(tmp_path, kind):
    read = load_array_pickle(written(tmp_path, KINDS[kind]))
    assert list(read) == list(ARRAYS)
    for name, value in ARRAYS.items():
        if isinstance(value, np.ndarray):
            assert isinstance(read[name], np.ndarray)
            np.testing.assert_array_equal(read[name], value)
    assert read["number"] == 7


def test_a_pickle_of_python_2_is_read(tmp_path):
    rows = np.arange(6, dtype=np.uint8).reshape(2, 3)
    content = python2_batch(rows, [4, 9])
    assert pickle.loads(content, encoding="latin1")["labels"] == [4, 9]  # the made bytes are what Python 2 writes
    read = load_array_pickle(written(tmp_path, content))
    np.testing.assert_array_equal(read["data"], rows)
    assert read["labels"] == [4, 9]


def test_a_pickle_that_would_run_code_is_refused_and_runs_none(tmp_path):
    mark = tmp_path / "was_here"
    content = trap(mark)
    with pytest.raises(ValueError, match=r"file\.pt is no pickled dict.*asks for pathlib.* is not admitted"):
        load_array_pickle(written(tmp_path, content))
    assert not mark.exists()
    pickle.loads(content)
    assert mark.exists()  # so that the test can fail


def test_a_trap_in_an_archive_is_refused_too(tmp_path):
    mark = tmp_path / "was_here"
    with zipfile.ZipFile(tmp_path / "file.pt", "w") as archive:
        archive.writestr("archive/data.pkl", trap(mark))
    with pytest.raises(ValueError, match="is not admitted"):
        load_array_pickle(tmp_path / "file.pt")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must hold 1 to 67,108,864 bytes, got 0: download it again"),
        (b"<!DOCTYPE html><html></html>", "is no pickled dict of plain NumPy arrays"),
        (pickle.dumps([1, 2]), "it holds a list, not a dict"),
        (pickle.dumps({"a": np.array([None])}), "arrays must be of whole numbers"),
        (pickle.dumps({"a": np.array([0.5])}), r"arrays must be of whole numbers .*, got <f8"),
        (pickle.dumps({"a": np.dtype("i8")}), "is no pickled dict"),
        (pickle.dumps({"a": torch.zeros(2)}), "is not admitted"),
        (torch_file({"a": torch.zeros(2)}), "is no pickled dict"),
        (pickle.dumps(ARRAYS)[:-9], "is no pickled dict"),
        (b"\x80\x02}r\xff\xff\xff\xff.", None),  # asks for a memo of four thousand million places
    ],
)
def test_what_is_no_dict_of_such_arrays_is_refused(tmp_path, content, message):
    path = written(tmp_path, content)
    if message is None:
        assert load_array_pickle(path) == {}
        return
    with pytest.raises(ValueError, match=message):
        load_array_pickle(path)


def test_bytes_that_do_not_fill_the_shape_are_refused(tmp_path):
    content = python2_batch(np.zeros((2, 3), dtype=np.uint8), [1]).replace(b"M\x03\x00", b"M\x04\x00")
    with pytest.raises(ValueError, match="cannot reshape"):
        load_array_pickle(written(tmp_path, content))


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_array_pickle(tmp_path / "none.pt")
