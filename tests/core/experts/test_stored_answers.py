"""Stored answers of an expert: found by id, never on cases that it was trained on, and hostile files refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from made_cifar10 import Trap

from l2d_core.common.array_files import save_arrays
from l2d_core.data import DeferralData, Splits
from l2d_core.experts import stored_answers
from l2d_core.experts.stored_answers import StoredAnswers, ask, open_answers

NAMES = ("a", "b", "c")
STORED = StoredAnswers(
    np.array([2, 0, 1, 1]),
    np.array(["four", "three", "two", "one"]),
    np.array(["test", "validation", "train", "train"]),
    NAMES,
    "the network",
)


def cases(*ids):
    return DeferralData.unasked(torch.zeros(len(ids), 2), torch.zeros(len(ids), dtype=torch.int64), ids, NAMES)


def splits(train=("one", "two"), validation=("three",), test=("four",)):
    return Splits(cases(*train), cases(*validation), cases(*test))


def test_answers_are_found_by_id_not_by_position():
    asked = ask(splits(train=("two", "one")), replace(STORED, answers=np.array([2, 0, 1, 0])))
    assert asked.train.answers.tolist() == [[1], [0]]
    assert asked.validation.answers.tolist() == [[0]]
    assert asked.test.answers.tolist() == [[2]]
    assert asked.test.expert_names == ("the network",)


def test_missing_answers_are_counted_and_named():
    with pytest.raises(ValueError, match=r"the network has no answer to 2 \(five, six\) of the test cases"):
        ask(splits(test=("four", "five", "six")), STORED)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_an_expert_is_not_tested_on_what_it_was_trained_on(part):
    with pytest.raises(ValueError, match=rf"was trained on 1 \(one\) of the {part} cases, where its answers are too"):
        ask(splits(**{part: ("one", "four")}), STORED)


def test_a_training_part_may_hold_cases_that_the_expert_did_not_see():
    assert ask(splits(train=("one", "three")), STORED).train.answers.tolist() == [[1], [0]]


def test_classes_must_be_the_same_in_the_same_order():
    with pytest.raises(ValueError, match=r"classes must be those of the expert, \('b', 'a', 'c'\), got \('a', 'b'"):
        ask(splits(), replace(STORED, class_names=("b", "a", "c")))


def test_answers_come_back_from_their_file(tmp_path):
    STORED.save(tmp_path / "answers.npz")
    loaded = open_answers(tmp_path)
    for name in ("answers", "ids", "parts"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(STORED, name))
    assert (loaded.class_names, loaded.name) == (STORED.class_names, STORED.name)


def test_a_relative_folder_is_also_looked_for_where_the_program_is(tmp_path, monkeypatch):
    (tmp_path / "program" / "shipped").mkdir(parents=True)
    STORED.save(tmp_path / "program" / "shipped" / "answers.npz")
    monkeypatch.setattr(stored_answers, "PROGRAM", tmp_path / "program")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert open_answers("shipped").name == "the network"
    (tmp_path / "here" / "shipped").mkdir()
    replace(STORED, name="my own").save(tmp_path / "here" / "shipped" / "answers.npz")
    assert open_answers("shipped").name == "my own"


def test_where_there_is_none_the_command_that_makes_it_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*answers\.npz.*pretrain expert --data-root DIR --out"):
        open_answers(tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"answers": np.array([2, 0, 1, 3])}, r"answers must lie in 0\.\.2, got 3 at row 3 \(one\)"),
        ({"answers": np.array([0.5, 0, 1, 1])}, "answers must be whole numbers, got float64"),
        ({"ids": np.array(["one", "one", "two", "one"])}, "ids must name each case once, got one 3 times"),
        ({"ids": np.array(["one"])}, r"ids must have shape \(4\), got \(1,\)"),
        ({"parts": np.array(["test", "test", "training", "test"])}, "parts must be one of 'train', 'validation', 'te"),
    ],
)
def test_answers_that_do_not_fit_are_refused_in_memory_and_in_a_file(tmp_path, changed, message):
    with pytest.raises(ValueError, match=message):
        replace(STORED, **changed)
    arrays = {name: np.asarray(getattr(STORED, name)) for name in ("answers", "ids", "parts", "class_names", "name")}
    save_arrays(tmp_path / "answers.npz", {**arrays, **changed, "format_version": np.asarray(1)})
    with pytest.raises(ValueError, match=rf"answers\.npz: {message}"):
        open_answers(tmp_path)


def test_files_of_another_kind_or_version_are_refused(tmp_path):
    path = tmp_path / "answers.npz"
    save_arrays(path, {"format_version": np.asarray(2), **dict.fromkeys(("answers", "ids", "parts"), np.zeros(1))})
    with pytest.raises(ValueError, match=r"answers\.npz lacks class_names, name; it holds format_version, answers"):
        open_answers(tmp_path)
    arrays = {name: np.asarray(getattr(STORED, name)) for name in ("answers", "ids", "parts", "class_names", "name")}
    save_arrays(path, {**arrays, "format_version": np.asarray(2)})
    with pytest.raises(ValueError, match=r"answers\.npz has format 2; this version reads 1"):
        open_answers(tmp_path)
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"answers\.npz is not a readable \.npz file"):
        open_answers(tmp_path)


def test_a_pickle_in_the_file_is_not_run(tmp_path):
    mark = tmp_path / "mark"
    np.savez(tmp_path / "answers.npz", answers=np.array([Trap(mark)], dtype=object))
    with pytest.raises(ValueError, match="not a readable"):
        open_answers(tmp_path)
    assert not mark.exists()
