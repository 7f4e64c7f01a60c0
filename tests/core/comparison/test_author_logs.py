"""The authors' logged outputs: read, and refused where they do not do."""

import json

import numpy as np
import pytest

from l2d_core.comparison.author_logs import read_logged

ROWS = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.25, 0.25, 0.5]]


def dump(content):
    return json.dumps(content).encode()


def test_softmax_probabilities_give_odds_and_decisions():
    outputs = read_logged(dump(ROWS), dump([1, 0, 1]), surrogate="softmax")
    np.testing.assert_allclose(outputs.expert_probability("odds"), [1.0, 1 / 9, 1.0])
    np.testing.assert_allclose(outputs.expert_probability("proxy"), [0.5, 0.1, 0.5])
    assert outputs.deferred.tolist() == [True, False, True]
    assert outputs.expert_correct.tolist() == [True, False, True]
    assert outputs.left_over == 0


def test_sigmoids_are_taken_as_they_are():
    outputs = read_logged(dump([[0.9, 0.8, 0.95], [1.0, 0.0, 1.0]]), dump([1, 1]), surrogate="one_vs_all")
    np.testing.assert_allclose(outputs.expert_probability("sigmoid"), [0.95, 1.0])


def test_json_within_a_string_is_read_and_what_is_left_over_is_counted():
    outputs = read_logged(dump(json.dumps(ROWS)), dump(json.dumps([1, 0, 1, 1, 0])), surrogate="softmax")
    assert len(outputs.logits) == 3
    assert outputs.left_over == 2


@pytest.mark.parametrize(
    ("rows", "flags", "message"),
    [
        (b"[[0.2", dump([1]), "the probabilities is no JSON"),
        (b"[" * 100_000, dump([1]), "the probabilities is no JSON"),
        (dump([]), dump([1]), "rows of K"),
        (dump([[0.5, 0.5]]), dump([1]), "rows of K"),
        (dump([[0.2, 0.3, 0.5], [1.0]]), dump([1, 1]), "must be a list of numbers"),
        (dump([["a", "b", "c"]]), dump([1]), "must be a list of numbers"),
        (dump({"a": 1}), dump([1]), "must be a list of"),
        (dump(ROWS), dump([1, 0]), "as long as the probabilities, 3, got 2"),
        (dump(ROWS), dump([1, 0, 2]), "holds 2 at row 2"),
        (dump([[0.2, 0.3, 0.6]]), dump([1]), "must sum to 1"),
        (dump([[0.2, 0.3, -0.6]]), dump([1]), "must lie in 0..1"),
        (b"[[0.2, 0.3, NaN]]", dump([1]), "must lie in 0..1"),
    ],
)
def test_what_does_not_do_is_named(rows, flags, message):
    with pytest.raises(ValueError, match=message):
        read_logged(rows, flags, surrogate="softmax")
