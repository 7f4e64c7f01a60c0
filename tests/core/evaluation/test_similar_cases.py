"""Readings of new cases: probabilities, the test cases that were scored alike, place among them, and decisions."""

import numpy as np
import pytest

from l2d_core.calibration.intervals import wilson_interval
from l2d_core.data import Scores
from l2d_core.evaluation.similar_cases import Measured, make_reference, read_cases
from l2d_core.surrogates import SURROGATES

NAMES = ("a", "b")


def scores(surrogate, num_cases=40, seed=0):
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(num_cases, 3)) * 2
    labels, answers = (generator.integers(0, 2, num_cases) for _ in range(2))
    return Scores.from_arrays(logits, labels, answers, surrogate=surrogate, class_names=NAMES)


def reference():
    return make_reference({name: scores(name) for name in ("softmax", "one_vs_all")})


def test_an_estimate_is_placed_into_its_bin_with_share_and_wilson_interval():
    # 15 bins of equal width: 0.55 is in (8/15, 9/15], with three of the five test cases, of which two came true.
    measured = Measured.of(np.array([0.1, 0.54, 0.58, 0.6, 0.9]), np.array([0, 1, 1, 0, 1]))
    found = measured.place(0.55).evidence
    assert (found.low, found.high, found.n) == (8 / 15, 9 / 15, 3)
    assert found.share == pytest.approx(2 / 3)
    low, high = wilson_interval([2 / 3], [3])
    assert (found.interval_low, found.interval_high) == pytest.approx((low[0], high[0]))


@pytest.mark.parametrize("edge", range(1, 16))
def test_a_value_on_an_edge_belongs_to_the_bin_below_as_in_the_reliability_table(edge):
    value = edge / 15
    measured = Measured.of(np.array([value, value]), np.array([0, 1]))
    found = measured.place(value).evidence
    assert found.n == 2
    assert found.low < value <= found.high


def test_every_test_case_finds_itself_in_its_own_bin():
    generator = np.random.default_rng(0)
    probability, correct = generator.random(200), generator.integers(0, 2, 200)
    measured = Measured.of(probability, correct)
    counts = {(one.low, one.high): one.n for one in measured.bins}
    placed = [measured.place(float(p)).evidence for p in probability]
    assert sum(counts.values()) == 200
    for low, high in counts:
        assert sum((one.low, one.high) == (low, high) for one in placed) == counts[low, high]


def test_a_bin_without_test_cases_gives_no_share():
    found = Measured.of(np.array([0.1]), np.array([1])).place(0.9).evidence
    assert (found.n, found.share, found.interval_low, found.interval_high) == (0, None, None, None)


def test_an_estimate_above_one_is_kept_raw_counts_as_one_and_has_a_negative_risk():
    measured = Measured.of(np.array([0.2, 0.99, 1.7, 3.0]), np.array([0, 1, 1, 0]))
    placed = measured.place(2.5)
    assert placed.probability == 2.5
    assert placed.risk == -1.5
    assert placed.evidence.n == 3
    assert measured.histogram["share"].iloc[0] == 0.5  # two of four below risk 0
    assert measured.histogram["share"].sum() == pytest.approx(1)


def test_the_rank_is_the_share_of_test_cases_with_at_most_this_risk():
    measured = Measured.of(np.array([0.9, 0.8, 0.8, 0.1]), np.array([1, 1, 0, 0]))
    ranks = [measured.place(p).rank for p in (0.95, 0.9, 0.8, 0.5, 0.05)]
    assert ranks == [0, 0.25, 0.75, 0.75, 1]


def test_a_reading_says_what_the_surrogates_say():
    logits = {"softmax": np.array([[2.0, 0.0, 1.0]]), "one_vs_all": np.array([[1.0, -1.0, 3.0]])}
    (reading,) = read_cases(reference(), logits)
    p = np.exp([2.0, 0.0, 1.0]) / np.exp([2.0, 0.0, 1.0]).sum()
    softmax, one_vs_all = reading.systems["softmax"], reading.systems["one_vs_all"]
    assert reading.expert["odds"].probability == pytest.approx(p[2] / (p[0] + p[1]))
    assert reading.expert["proxy"].probability == pytest.approx(p[2])
    assert reading.expert["sigmoid"].probability == pytest.approx(1 / (1 + np.exp(-3)))
    assert softmax.margin == pytest.approx(p[2] - p[0])
    assert (softmax.predicted, softmax.deferred) == (0, False)
    assert (one_vs_all.predicted, one_vs_all.deferred) == (0, True)
    assert one_vs_all.margin == pytest.approx(1 / (1 + np.exp(-3)) - 1 / (1 + np.exp(-1)))
    assert softmax.class_probability == pytest.approx(
        SURROGATES["softmax"].class_probability(_tensor([[2.0, 0.0, 1.0]]))[0].tolist()
    )
    assert softmax.machine.risk == pytest.approx(1 - max(softmax.class_probability))


def test_readings_do_not_depend_on_the_other_cases():
    logits = {name: np.random.default_rng(1).normal(size=(7, 3)) for name in ("softmax", "one_vs_all")}
    together = read_cases(reference(), logits)
    alone = [read_cases(reference(), {name: one[row : row + 1] for name, one in logits.items()})[0] for row in range(7)]
    assert together == alone
    assert read_cases(reference(), {name: one[:0] for name, one in logits.items()}) == []


def test_logits_of_other_surrogates_are_refused_by_name():
    with pytest.raises(ValueError, match="softmax, one_vs_all, of the same cases each; got softmax"):
        read_cases(reference(), {"softmax": np.zeros((1, 3))})
    with pytest.raises(ValueError, match="of the same cases each"):
        read_cases(reference(), {"softmax": np.zeros((1, 3)), "one_vs_all": np.zeros((2, 3))})
    with pytest.raises(ValueError, match="finite"):
        read_cases(reference(), {"softmax": np.full((1, 3), np.nan), "one_vs_all": np.zeros((1, 3))})


def test_references_need_the_same_classes():
    with pytest.raises(ValueError, match="the same classes"):
        make_reference({})


def _tensor(rows):
    import torch

    return torch.tensor(rows, dtype=torch.float64)
