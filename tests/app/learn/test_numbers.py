"""The numbers of the lesson: they are those of the library, and its sentences are true of what is shipped."""

import numpy as np
import pytest
from scipy.special import expit

from app.learn import numbers
from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.deferral import defer_by_argmax, defer_by_budget
from l2d_core.evaluation.margins import gain_margin
from l2d_core.evaluation.probabilities import expert_pairs
from l2d_core.runs.folder import open_run


def test_handing_over_nothing_or_everything_leaves_one_of_the_two():
    seen = numbers.shipped(numbers.PHOTOS)
    none, every = numbers.team(seen, 0), numbers.team(seen, 1)
    assert (none.system, none.deferred.value) == (none.machine, 0)
    assert (every.system, every.deferred.value) == (every.expert, 1)
    assert none.expert_on_deferred.value is None


def test_the_team_is_that_of_a_forced_budget_and_lies_on_its_curve():
    seen = numbers.shipped(numbers.PHOTOS)
    scores = open_run(numbers.PHOTOS).test
    deferred = defer_by_budget(gain_margin(scores.logits, scores.surrogate), 0.1, forced=True)
    assert numbers.team(seen, 0.1).system.value == accuracies(scores, deferred)["system"].value
    curve = numbers.team_curve(seen).set_index("deferred")
    assert curve["accuracy"].iloc[90] == pytest.approx(numbers.team(seen, 0.1).system.value)
    assert numbers.own_choice(seen) == defer_by_argmax(scores.logits).mean()


def test_the_weaker_expert_helps_the_shipped_network_as_the_lesson_says():
    seen = numbers.shipped(numbers.PHOTOS)
    team = numbers.team(seen, numbers.own_choice(seen))
    assert team.expert.value < 0.6 < team.machine.value < team.system.value
    assert team.expert_on_deferred.value > team.machine_on_deferred.value


def test_the_papers_worked_example():
    assert numbers.softmax_optimum(0.5, 1.0) == numbers.Optimum((0.25, 0.25), 0.5)


@pytest.mark.parametrize(("first", "right"), [(0.5, 0.0), (0.7, 0.3), (1.0, 0.9)])
def test_the_optimum_sums_to_one_and_its_odds_are_the_truth(first, right):
    best = numbers.softmax_optimum(first, right)
    assert sum(best.classes) + best.defer == pytest.approx(1)
    assert best.defer / (1 - best.defer) == pytest.approx(right)
    assert numbers.proxy(right) == pytest.approx(best.defer)


def test_a_slip_multiplies_the_odds_and_cannot_carry_a_sigmoid_past_one():
    assert numbers.odds_after(1.0, 0.1) == pytest.approx(np.exp(0.1))
    assert numbers.sigmoid_after(0.9, 0.1) == pytest.approx(expit(np.log(9) + 0.1))
    for right in (0.0, 0.5, 1.0):
        assert 0 <= numbers.sigmoid_after(right, 1.0) <= 1
        assert numbers.sigmoid_after(right, 0.0) == pytest.approx(right, abs=1e-8)


def test_an_honest_forecaster_errs_as_chance_would_have_it_and_a_bold_one_more():
    honest = [numbers.forecast(500, 1.0, seed) for seed in range(40)]
    errors = [one.error(15) for one in honest]
    assert np.mean(errors) == pytest.approx(np.mean([one.error_by_chance(15) for one in honest]), rel=0.1)
    assert numbers.forecast(5000, 2.5, 0).error(15) > 3 * numbers.forecast(5000, 1.0, 0).error(15)
    table = honest[0].reliability(15)
    assert table["cases"].sum() == 500
    assert len(honest[0].above_one) == 0


def test_the_same_draw_number_gives_the_same_luck():
    one, other = numbers.forecast(100, 1.3, 4), numbers.forecast(100, 1.3, 4)
    np.testing.assert_array_equal(one.said, other.said)
    np.testing.assert_array_equal(one.came_true, other.came_true)


def test_fewer_groups_stay_calibrated_and_know_less():
    one, many = numbers.grouped(1), numbers.grouped(12)
    assert len(one.said) == 1
    assert one.decomposition.discrimination == pytest.approx(0)
    assert one.error < many.error < 0.04
    assert many.decomposition.discrimination > 0.04
    assert many.system.value > one.system.value


def test_what_is_understated_is_counted_among_the_cases_that_pass():
    found = numbers.understated(0.05)
    for surrogate, one in found.items():
        scores = open_run(numbers.LESIONS[surrogate]).test
        risk = 1 - expert_pairs(scores)[0]
        wrong = ~scores.expert_correct[:, 0]
        assert one.n == (risk <= 0.05).sum()
        assert one.true == pytest.approx(wrong[risk <= 0.05].mean())
        assert one.said == pytest.approx(risk[risk <= 0.05].mean())
        assert one.low < one.true < one.high


def test_the_softmax_network_understates_the_risk_by_more_as_the_lesson_says():
    strict = numbers.understated(0.02)
    odds, ours = strict["softmax"], strict["one_vs_all"]
    assert odds.low > odds.said
    assert odds.true - odds.said > ours.true - ours.said


def test_no_lesion_at_all_is_no_division_by_zero():
    seen = numbers.shipped(numbers.LESIONS["one_vs_all"])
    assert (1 - seen.probability).min() > 0
    found = numbers.understated(1e-9)["one_vs_all"]
    assert (found.n, found.true) == (0, None)


def test_shares_by_class_are_means_over_the_trainings():
    scores = open_run(numbers.PHOTOS).test
    table = numbers.share_handed_over([scores, scores], scores.class_names)
    deferred = defer_by_argmax(scores.logits)
    assert table["share"][3] == pytest.approx(deferred[scores.labels == 3].mean())
    assert table["n"].sum() == len(scores)
    alone = numbers.machine_alone([scores], scores.class_names)
    right = scores.logits[:, :10].argmax(1) == scores.labels
    assert alone[3] == pytest.approx(right[scores.labels == 3].mean())


def test_the_proxy_of_the_shipped_network_exceeds_what_a_perfect_one_could_say():
    assert numbers.highest_proxy() > numbers.proxy(1.0)
