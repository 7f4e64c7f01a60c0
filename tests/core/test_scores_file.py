"""Scores in a file: they come back as they were, and no pickle, no lie about sizes and no other file gets in."""

import pickle
from dataclasses import fields
from unittest.mock import Mock

import numpy as np
import pytest
from scores_files import IDS, claim, named_scores, npy, scores_bytes

from l2d_core import data
from l2d_core.common.array_files import load_arrays, save_arrays
from l2d_core.data import Scores


@pytest.fixture
def load(tmp_path):
    """A function that loads scores from the bytes of a file."""

    def read(content):
        path = tmp_path / "uploaded.npz"
        path.write_bytes(content)
        with path.open("rb") as file:
            return Scores.load(file)

    return read


def assert_same(one, other):
    for field in fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert mine == theirs


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_scores_come_back_from_a_file_as_they_were(dtype, tmp_path):
    scores = named_scores(logits=named_scores().logits.astype(dtype))
    scores.save(tmp_path / "scores.npz")
    assert_same(Scores.load(tmp_path / "scores.npz"), scores)
    assert_same(Scores.load(str(tmp_path / "scores.npz")), scores)
    assert [path.name for path in tmp_path.iterdir()] == ["scores.npz"]


def test_the_hand_made_file_of_these_tests_is_one_that_loads(load):
    assert_same(load(scores_bytes(named_scores())), named_scores())


def test_the_same_scores_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        named_scores().save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_failed_write_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "scores.npz"
    named_scores().save(path)
    with pytest.raises(ValueError, match="ids must be a plain array, got object: it could only be stored as a pickle"):
        named_scores(ids=np.array(IDS, dtype=object)).save(path)
    assert_same(Scores.load(path), named_scores())


sprung = []


def spring():
    sprung.append("unpickled")


class Trap:
    """Says so when it is unpickled."""

    def __reduce__(self):
        return spring, ()


def test_a_pickle_is_refused_unopened(load):
    trapped = np.array([Trap(), *IDS[1:]], dtype=object)
    pickle.loads(pickle.dumps(Trap()))
    assert sprung == ["unpickled"]  # the trap works
    with pytest.raises(ValueError, match=r"not a readable \.npz file of plain arrays: Object arrays cannot be loaded"):
        load(scores_bytes(named_scores(), ids=npy(trapped, allow_pickle=True)))
    with pytest.raises(ValueError, match=r"not a readable \.npz file"):
        load(pickle.dumps(Trap()))
    assert sprung == ["unpickled"]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_a_truncated_file_is_named_and_refused(share, tmp_path):
    path = tmp_path / "cut.npz"
    whole = scores_bytes(named_scores())
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"cut\.npz is not a readable \.npz file"):
        Scores.load(path)


def test_a_flipped_bit_is_found_by_the_checksum(load):
    content = bytearray(scores_bytes(named_scores()))
    place = content.find(named_scores().logits.tobytes())
    assert place > 0
    content[place + 3] ^= 1
    with pytest.raises(ValueError, match=r"not a readable \.npz file.*CRC"):
        load(content)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Scores.load(tmp_path / "none.npz")


def test_the_allowed_size_is_the_sum_over_the_members(tmp_path):
    save_arrays(tmp_path / "zeros.npz", {"a": np.zeros(1000), "b": np.zeros(500)})
    whole = 2 * 128 + 1500 * 8  # each header takes 128 bytes
    assert load_arrays(tmp_path / "zeros.npz", whole)["b"].shape == (500,)
    assert (tmp_path / "zeros.npz").stat().st_size < whole / 10
    with pytest.raises(ValueError, match=rf"unpacks to {whole:,} bytes, more than the {whole - 1:,} allowed"):
        load_arrays(tmp_path / "zeros.npz", whole - 1)


@pytest.mark.parametrize(
    "content",
    [
        claim((10**13, 4)),
        claim((5, 4)),
        claim((-1, 4)),
        claim((5, 4), descr="|O"),
        npy(np.zeros((5, 4)))[:40],
        b"\x93NUMPY\x09\x00" + bytes(40),
    ],
    ids=["more than any memory", "more than there is", "negative", "objects", "cut header", "unknown version"],
)
def test_a_lying_header_inside_the_zip_is_refused(content, load):
    with pytest.raises(ValueError, match=r"not a readable \.npz file of plain arrays"):
        load(scores_bytes(named_scores(), logits=content))


@pytest.mark.parametrize("code", [0xD800, 0x110000])
@pytest.mark.parametrize("name", ["ids", "class_names", "expert_names"])
def test_texts_that_no_page_can_show_are_refused(load, name, code):
    texts = np.asarray(getattr(named_scores(), name)).astype("<U9")
    texts.view(np.uint32)[0] = code
    with pytest.raises(ValueError, match=f"{name} must be text in Unicode"):
        load(scores_bytes(named_scores(), **{name: npy(texts)}))


def test_names_of_a_strangers_arrays_are_quoted_in_short(load):
    names = [f"\x1b[2J{number}{'y' * 60_000}" for number in range(100)]
    with pytest.raises(ValueError, match="the scores file lacks") as lacking:
        load(scores_bytes(named_scores(), labels=None, **{name: npy(0) for name in names}))
    assert len(str(lacking.value)) < 2_000
    assert "\x1b" not in str(lacking.value)


def test_items_of_no_size_are_refused_before_they_become_texts(load):
    with pytest.raises(ValueError, match="its array 'class_names' has items of no size"):
        load(scores_bytes(named_scores(), class_names=claim((3,), descr="<U0")))


def test_names_are_counted_before_they_become_texts(load, monkeypatch):
    monkeypatch.setattr(data, "as_texts", Mock(side_effect=AssertionError("texts were made")))
    with pytest.raises(ValueError, match=r"logits must have shape \(any, 1002\), got \(5, 4\)"):
        load(scores_bytes(named_scores(), class_names=npy(np.arange(1000).astype(str))))
    monkeypatch.setattr(data, "MAX_NAMES", 999)
    with pytest.raises(ValueError, match="class_names must be at most 999, got 1,000"):
        load(scores_bytes(named_scores(), class_names=npy(np.arange(1000).astype(str))))


@pytest.mark.parametrize("name", ["ids", "class_names"])
def test_a_text_that_no_page_can_show_is_refused(name, load):
    texts = np.array(getattr(named_scores(), name), dtype="<U100000")
    with pytest.raises(ValueError, match=f"{name} must have at most 1,000 characters each, got 100,000"):
        load(scores_bytes(named_scores(), **{name: npy(texts)}))


def test_another_format_version_is_refused(load):
    for version in (2, 0, "1", [1]):
        with pytest.raises(ValueError, match=r"the scores file has format .*; this version reads 1$"):
            load(scores_bytes(named_scores(), format_version=npy(version)))


@pytest.mark.parametrize("name", ["format_version", *(field.name for field in fields(Scores))])
def test_a_missing_array_is_named(name, load):
    with pytest.raises(ValueError, match=f"the scores file lacks {name}; it holds "):
        load(scores_bytes(named_scores(), **{name: None}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.array([0, 1, 1, 9, 1])}, r"labels must lie in 0\.\.1, got 9 at row 3 \(皮膚\)"),
        ({"labels": np.array(1)}, r"labels must have shape \(5\), got \(\)"),
        ({"class_names": np.array([["x", "y"]])}, r"class_names must have shape \(any\), got \(1, 2\)"),
        ({"expert_names": np.array("anna")}, r"expert_names must have shape \(any\), got \(\)"),
        ({"logits": np.full((5, 4), np.inf)}, r"logits must be finite, got inf at row 0"),
    ],
)
def test_a_file_is_checked_like_scores_made_by_hand(change, message, load):
    (name, value), *_ = change.items()
    with pytest.raises(ValueError, match=message):
        load(scores_bytes(named_scores(), **{name: npy(value)}))


@pytest.mark.parametrize(
    "change",
    [{"logits": b"not an array"}, {"format_version": b"1"}, {"logits": npy(np.full((5, 4), "x"))}, {"ids": npy("a")}],
    ids=["bytes for an array", "bytes for a version", "text for numbers", "one text for all ids"],
)
def test_a_member_of_another_kind_is_refused_with_a_message(change, load):
    with pytest.raises(ValueError, match=next(iter(change))):
        load(scores_bytes(named_scores(), **change))
