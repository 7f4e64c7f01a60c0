"""Predictions of other programs: what becomes of each column, and what is said of those that do not do."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from small_scores import random_scores

from l2d_core.comparison.mapped_tables import (
    Columns,
    guess_columns,
    logits_of_probabilities,
    read_predictions,
    to_scores,
)
from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.probabilities import expert_probability
from l2d_core.surrogates import SURROGATES

COLUMNS = Columns("label", ("expert",), ("logit_a", "logit_b", "logit_c"), ("defer",), "case")
NAMES = ("a", "b", "c")


def table_of(scores, **changes):
    columns = {"case": scores.ids, "label": scores.labels, "expert": scores.answers[:, 0]}
    names = ("logit_a", "logit_b", "logit_c", "defer")
    return pd.DataFrame({**columns, **{name: scores.logits[:, k] for k, name in enumerate(names)}, **changes})


def as_csv(table, **options):
    return table.to_csv(index=False, **options).encode()


def as_parquet(table):
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "write", [as_csv, as_parquet, lambda table: as_csv(table, sep=";")], ids=["csv", "parquet", ";"]
)
def test_scores_come_back_as_they_went_out(write):
    scores = random_scores(30)
    read = to_scores(read_predictions(write(table_of(scores))), COLUMNS, surrogate="softmax", domain="logits")
    np.testing.assert_array_equal(read.logits, scores.logits)
    np.testing.assert_array_equal(read.labels, scores.labels)
    np.testing.assert_array_equal(read.answers, scores.answers)
    assert list(read.ids) == list(scores.ids)
    assert read.class_names == ("logit_a", "logit_b", "logit_c")


def test_classes_may_go_by_name_and_an_answer_may_be_missing():
    scores = random_scores(6)
    said = [NAMES[k] for k in scores.answers[:, 0]]
    table = table_of(scores, label=[NAMES[k] for k in scores.labels], expert=[None, *said[1:]])
    for source in (as_csv(table), as_parquet(table)):
        data = read_predictions(source)
        data["expert"] = data["expert"].replace("", None)
        read = to_scores(data, COLUMNS, surrogate="softmax", domain="logits", class_names=NAMES)
        np.testing.assert_array_equal(read.labels, scores.labels)
        assert read.answers[0, 0] == -1
        np.testing.assert_array_equal(read.answers[1:], scores.answers[1:])


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_probabilities_give_the_same_decisions_and_estimates_as_their_logits(surrogate):
    scores = random_scores(40, surrogate=surrogate)
    probability = SURROGATES[surrogate].probabilities(torch.from_numpy(scores.logits), 1).numpy()
    names = ("logit_a", "logit_b", "logit_c", "defer")
    table = table_of(scores, **{name: probability[:, k] for k, name in enumerate(names)})
    read = to_scores(table, COLUMNS, surrogate=surrogate, domain="probabilities")
    np.testing.assert_allclose(expert_probability(read), expert_probability(scores), rtol=1e-9)
    close = np.abs(scores.logits[:, 3] - scores.logits[:, :3].max(axis=1)) < 1e-9  # a tie may fall either way
    np.testing.assert_array_equal(defer_by_argmax(read.logits)[~close], defer_by_argmax(scores.logits)[~close])
    assert (
        accuracies(read, np.zeros(40, bool))["machine_alone"] == accuracies(scores, np.zeros(40, bool))["machine_alone"]
    )


def test_probabilities_of_0_and_1_have_finite_logits():
    table = pd.DataFrame(
        {"case": ["x"], "label": [0], "expert": [0]} | {name: [0.0] for name in COLUMNS.scores} | {"defer": [1.0]}
    )
    for surrogate in ("softmax", "one_vs_all"):  # asymmetric softmax has class probabilities that sum to 1
        read = to_scores(table, COLUMNS, surrogate=surrogate, domain="probabilities")
        assert np.isfinite(read.logits).all()
        assert defer_by_argmax(read.logits).all()


@pytest.mark.parametrize("row", [(1.0, 0, 0, 1.0), (1.0, 0, 0, 0.9), (0.5, 0.5, 0, 1.0), (0.5, 0.5, 0, 0.5)])
def test_probabilities_of_an_asymmetric_softmax_keep_their_decision_at_the_edges(row):
    (logits,) = logits_of_probabilities(np.array([row]), "asymmetric_softmax")
    assert np.isfinite(logits).all()
    assert defer_by_argmax(logits[None])[0] == (row[3] >= max(row[:3]))


def test_the_classes_of_an_asymmetric_softmax_must_sum_to_1_by_themselves():
    with pytest.raises(ValueError, match=r"classes of asymmetric_softmax must sum to 1 in each row, got 0.6 at row 0"):
        logits_of_probabilities(np.array([[0.3, 0.2, 0.1, 0.4]]), "asymmetric_softmax")


@pytest.mark.parametrize(
    ("change", "domain", "message"),
    [
        ({"logit_b": [0.1, np.nan, 0.3]}, "logits", r"logit_b must be finite, got nan at row 1 \(case 1\)"),
        ({"logit_b": [0.1, np.inf, 0.3]}, "logits", r"logit_b must be finite, got inf at row 1 \(case 1\)"),
        ({"logit_b": ["0.1", "much", "1"]}, "logits", r"logit_b must hold numbers"),
        ({"label": [0, 3, 1]}, "logits", r"label, a class, must lie in 0..2, got 3 at row 1 \(case 1\)"),
        ({"label": [0, -1, 1]}, "logits", r"label, a class, must lie in 0..2, got -1 at row 1"),
        ({"expert": [0, 1, 7]}, "logits", r"expert, a class, must lie in -1..2, got 7 at row 2"),
        ({"label": ["a", "b", "cat"]}, "logits", r"label must be one of .* got 'cat' at row 2 \(case 2\)"),
        ({"label": ["a", None, "b"]}, "logits", r"label must be given in every row, got nothing at row 1"),
        ({"label": [0.5, 0.0, 1.0]}, "logits", r"label must be one of .* got 0.5 at row 0"),
        ({"logit_b": [0.1, 1.2, 0.3]}, "probabilities", r"logit_b, a probability, must lie in 0..1, got 1.2 at row 1"),
        ({}, "probabilities", r"must sum to 1 in each row, got 2 at row 0 \(case 0\), and in 3 rows: are they logits"),
        ({}, "percent", r"domain must be one of 'logits', 'probabilities'; got 'percent'"),
    ],
)
def test_what_does_not_do_is_named_with_its_column_and_row(change, domain, message):
    rows = {"case": ["case 0", "case 1", "case 2"], "label": [0, 1, 2], "expert": [0, 0, -1]}
    table = pd.DataFrame({**rows, **dict.fromkeys((*COLUMNS.scores, "defer"), [0.5] * 3), **change})
    with pytest.raises(ValueError, match=message):
        to_scores(table, COLUMNS, surrogate="softmax", domain=domain, class_names=NAMES)


def test_columns_that_are_missing_are_listed_with_those_that_are_there():
    table = table_of(random_scores(3)).drop(columns=["case", "defer"])
    with pytest.raises(ValueError, match="lacks the columns 'case', 'defer'; it has label, expert, logit_a"):
        to_scores(table, COLUMNS, surrogate="softmax", domain="logits")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("y", ("m",), ("a",), ("d",)), "at least 2, got 1"),
        (("y", ("m", "n"), ("a", "b"), ("d",)), "got 2 and 1"),
        (("y", (), ("a", "b"), ("d",)), "got 0 and 1"),
        (("y", ("m",), ("a", "y"), ("d",)), "one thing only, got 'y' twice"),
    ],
)
def test_columns_must_make_a_whole(arguments, message):
    with pytest.raises(ValueError, match=message):
        Columns(*arguments)


def test_columns_are_proposed_by_their_names_and_types():
    assert guess_columns(table_of(random_scores(3))) == COLUMNS
    named = {"image_id": ["x"], "dx": ["a"], "expert_answer": ["b"], "p_a": [0.2], "p_b": [0.3], "p_defer": [0.5]}
    guess = guess_columns(pd.DataFrame(named))
    assert guess == Columns("dx", ("expert_answer",), ("p_a", "p_b"), ("p_defer",), "image_id")
    assert guess_columns(pd.DataFrame({"x": [1.0], "y": [0]})) is None
    assert guess_columns(pd.DataFrame({"a": [1.0]})) is None


SCORES = {"logit_a": [0.5, 0.1], "logit_b": [0.2, 0.3], "defer": [0.1, 0.4]}


@pytest.mark.parametrize(
    ("change", "answers", "defer"),
    [
        ({"expert": [1.0, np.nan]}, ("expert",), ("defer",)),  # an empty cell makes whole numbers into others
        ({"expert": [1, 0], "logit_a": [2, 0]}, ("expert",), ("defer",)),
        ({"expert": [1, 0], "defer": [3, -1]}, ("expert",), ("defer",)),
        (
            {"expert_0": [1, 0], "expert_1": [0, -1], "defer_1": [0.1, 2.0]},
            ("expert_0", "expert_1"),
            ("defer", "defer_1"),
        ),
        ({"answer": ["a", None], "expert": [0.3, 0.2], "defer": ["x", "y"]}, ("answer",), ("expert",)),
        ({"expert": [1, 0], "page": [30, 41], "group": [1, 2]}, ("expert",), ("defer",)),
    ],
)
def test_whole_numbers_are_answers_or_scores_by_their_names(change, answers, defer):
    table = pd.DataFrame({"id": ["x", "y"], "label": [0, 1], **SCORES, **change})
    assert guess_columns(table) == Columns("label", answers, ("logit_a", "logit_b"), defer, "id")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "upload.csv"),
        (b"a,b\n", "must hold rows"),
        (b"a,a\n1,2\n", "a name of its own for each column, got 'a' twice"),
        (b"a,b\n1,2\n3\n", "upload.csv must have 2 fields in each row, got 1 at line 3"),
        (b"\xff\xfe\x00\x01,\x80\n\x81,\x82\n", "upload.csv must be text in UTF-8, line 2 is not"),
        (b"PAR1 and nothing more", "upload.csv is no readable Parquet file"),
        (b"PAR1" + bytes(100) + b"PAR1", "upload.csv is no readable Parquet file"),
        ((",".join(f"c{k}" for k in range(2001)) + "\n" + ",".join(["1"] * 2001)).encode(), "at most 2,000 columns"),
    ],
)
def test_files_that_are_no_tables_are_named(data, message):
    with pytest.raises(ValueError, match=message):
        read_predictions(data, "upload.csv")


def test_the_command_writes_scores_that_can_be_opened(tmp_path, capsys):
    from l2d_core.cli.commands import main
    from l2d_core.data import Scores

    scores = random_scores(12)
    (tmp_path / "mine.csv").write_bytes(as_csv(table_of(scores)))
    arguments = ["import", str(tmp_path / "mine.csv"), "--out", str(tmp_path / "mine.npz"), "--surrogate", "softmax"]
    arguments += ["--domain", "logits", "--label", "label", "--answers", "expert", "--id", "case", "--defer", "defer"]
    assert main([*arguments, "--scores", "logit_a", "logit_b", "logit_c"]) == 0
    assert "12 cases, 3 classes, 1 experts" in capsys.readouterr().out
    np.testing.assert_array_equal(Scores.load(tmp_path / "mine.npz").logits, scores.logits)
    assert main([*arguments, "--scores", "logit_a", "logit_b", "logit_z"]) == 2
    assert "lacks the columns 'logit_z'" in capsys.readouterr().err


def test_numbers_are_refused_where_they_could_be_names_or_places_of_classes():
    table = pd.DataFrame(
        {"y": [1, 2], "m": [2, 2], "1": [9.0, 0.0], "2": [0.0, 9.0], "3": [0.0, 0.0], "d": [-9.0, -9.0]}
    )
    columns = Columns("y", ("m",), ("1", "2", "3"), ("d",))
    with pytest.raises(ValueError, match=r"y has numbers, and so have the classes, '1', '2', '3', in another order"):
        to_scores(table, columns, surrogate="softmax", domain="logits")
    named = to_scores(table, columns, surrogate="softmax", domain="logits", class_names=("a", "b", "c"))
    assert named.labels.tolist() == [1, 2]
    in_order = table.rename(columns={"1": "0", "2": "1", "3": "2"})
    columns = Columns("y", ("m",), ("0", "1", "2"), ("d",))
    assert to_scores(in_order, columns, surrogate="softmax", domain="logits").labels.tolist() == [1, 2]


def test_among_names_a_number_is_a_place_and_minus_one_is_not_asked():
    table = table_of(random_scores(4), label=["a", "1", "b", "c"], expert=["b", "-1", "2", None])
    made = to_scores(table, COLUMNS, surrogate="softmax", domain="logits", class_names=NAMES)
    assert made.labels.tolist() == [0, 1, 1, 2]
    assert made.answers[:, 0].tolist() == [1, -1, 2, -1]
    with pytest.raises(ValueError, match="label must be one of"):
        to_scores(
            table_of(random_scores(2), label=["a", "-1"]),
            COLUMNS,
            surrogate="softmax",
            domain="logits",
            class_names=NAMES,
        )


def test_a_column_without_a_name_is_no_column():
    with pytest.raises(ValueError, match="the table lacks the columns ''"):
        to_scores(table_of(random_scores(2)), replace(COLUMNS, label=""), surrogate="softmax", domain="logits")


def test_one_long_id_does_not_make_all_others_take_its_room():
    scores = random_scores(100_000)
    table = table_of(scores, case=["x" * 200, *("abcdefghijklmn" for _ in range(99_999))])  # 80 MB as numpy has it
    with pytest.raises(ValueError, match="case must hold ids of similar length, got one of 200 characters at row 0"):
        to_scores(table, COLUMNS, surrogate="softmax", domain="logits")
