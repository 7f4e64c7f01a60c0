"""Measures by group: identities, hand values, the slow twin of the standardised mean, and intervals that hold."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from l2d_core.evaluation.groups import MEASURES, Cases, group_table

PER_SEED = ("machine_correct", "expert_correct", "deferred", "probability")


def made(seed=0, num_cases=600):
    """Cases of two groups that differ in their mix of three strata, two cases a cluster."""
    generator = np.random.default_rng(seed)
    groups = generator.choice(["men", "women"], num_cases)
    mix = np.where(groups == "men", 0.7, 0.2)
    strata = np.where(generator.random(num_cases) < mix, "nv", generator.choice(["mel", "bcc"], num_cases))
    return groups, Cases(
        machine_correct=generator.random((1, num_cases)) < np.where(strata == "nv", 0.95, 0.5),
        expert_correct=generator.random((1, num_cases)) < 0.7,
        deferred=generator.random((1, num_cases)) < 0.3,
        probability=generator.random((1, num_cases)) * 1.1,
        strata=strata,
        clusters=np.array([f"lesion {row // 2}" for row in range(num_cases)]),
    )


def table(cases, groups, **options):
    return group_table(cases, groups, generator=np.random.default_rng(0), **options).set_index("group")


def test_the_n_weighted_group_values_are_the_overall_ones():
    groups, cases = made()
    found = table(cases, groups, resamples=5)
    parts = found.drop(index="all")
    assert parts["n"].sum() == found.loc["all", "n"] == 600
    for name in MEASURES:
        assert np.average(parts[name], weights=parts["n"]) == pytest.approx(found.loc["all", name], abs=1e-12)


def test_four_cases_by_hand():
    cases = Cases(
        machine_correct=np.array([[True, False, True, False]]),
        expert_correct=np.array([[False, True, True, False]]),
        deferred=np.array([[False, True, True, False]]),
        probability=np.array([[0.5, 0.7, 1.2, 0.1]]),
        strata=np.array(["x", "x", "x", "y"]),
        clusters=np.array(["1", "1", "2", "3"]),
    )
    row = table(cases, np.array(["a", "a", "a", "b"]), resamples=3).loc["a"]
    assert (row["n"], row["clusters"]) == (3, 2)
    assert row["deferred"] == pytest.approx(2 / 3)
    assert row["machine"] == pytest.approx(2 / 3)
    assert row["system"] == pytest.approx(1)
    assert row["estimate"] == pytest.approx((0.5 + 0.7 + 1) / 3)
    assert row["overestimate"] == pytest.approx((0.5 - 0.3 + 0) / 3)  # above the share right is positive


@pytest.mark.parametrize("group", ["men", "women"])
def test_the_standardised_value_is_that_of_a_slow_twin(group):
    groups, cases = made(3)
    found = table(cases, groups, standardise=True, resamples=2).loc[group, "machine"]
    shares = {name: np.mean(cases.strata == name) for name in ("nv", "mel", "bcc")}
    twin = sum(
        share * cases.machine_correct[0, (groups == group) & (cases.strata == name)].mean()
        for name, share in shares.items()
    )
    assert found == pytest.approx(twin, abs=1e-12)


def test_groups_that_differ_only_in_their_mix_are_alike_once_it_is_the_same():
    groups, cases = made(1, num_cases=20_000)
    raw, same = (table(cases, groups, standardise=flag, resamples=2)["machine"] for flag in (False, True))
    assert abs(raw["men"] - raw["women"]) > 0.15
    assert abs(same["men"] - same["women"]) < 0.03


def test_a_stratum_that_a_group_lacks_is_left_out():
    groups, cases = made()
    groups = np.where(cases.strata == "nv", "only nv", groups)
    row = table(cases, groups, standardise=True, resamples=2).loc["only nv"]
    assert row["machine"] == pytest.approx(cases.machine_correct[0, groups == "only nv"].mean())


def test_the_interval_holds_the_truth_about_as_often_as_it_says_where_cases_of_a_cluster_are_alike():
    truth, hits = 0.7, 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        right = np.repeat(generator.random((1, 100)) < truth, 2, axis=1)  # both images of a lesion, or neither
        flags = np.ones((1, 200), dtype=bool)
        clusters = np.repeat(np.arange(100).astype(str), 2)
        cases = Cases(right, flags, ~flags, np.full((1, 200), 0.5), clusters, clusters)
        row = group_table(cases, np.full(200, "a"), resamples=200, generator=generator).iloc[0]
        hits += row["machine_low"] <= truth <= row["machine_high"]
    assert 0.89 <= hits / 200 <= 0.985  # by image instead of lesion it would be about 0.83


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "truth", "least"), [(30, 0.7, 0.92), (30, 0.95, 0.74), (100, 0.95, 0.92)])
def test_the_interval_of_a_small_group_is_too_narrow_only_where_nearly_all_are_right(clusters, truth, least):
    held = []
    for seed in range(500):
        generator = np.random.default_rng(seed)
        right = generator.random((1, clusters)) < truth
        flags, names = np.ones((1, clusters), dtype=bool), np.arange(clusters).astype(str)
        cases = Cases(right, flags, ~flags, np.full((1, clusters), 0.5), names, names)
        row = group_table(cases, np.full(clusters, "a"), resamples=500, generator=generator).iloc[0]
        held.append(row["machine_low"] <= truth <= row["machine_high"])
    assert least <= np.mean(held) <= 0.985


def test_several_seeds_count_as_the_mean_of_each_alone():
    groups, first = made(0)
    other = made(0)[1]
    other = replace(other, machine_correct=~other.machine_correct, probability=1.1 - other.probability)
    rows = [table(cases, groups, resamples=2) for cases in (first, other)]
    parts = {name: np.concatenate([getattr(one, name) for one in (first, other)]) for name in PER_SEED}
    both = table(replace(first, **parts), groups, resamples=2)
    for name in (*MEASURES, "ece"):
        np.testing.assert_allclose(both[name], (rows[0][name] + rows[1][name]) / 2, atol=1e-12)


def test_intervals_do_not_depend_on_how_many_resamples_are_in_memory_at_a_time(monkeypatch):
    groups, cases = made()
    whole = table(cases, groups, resamples=7)
    monkeypatch.setattr("l2d_core.evaluation.groups.CHUNK", 2 * len(cases))
    pd.testing.assert_frame_equal(table(cases, groups, resamples=7), whole)


def test_other_shapes_and_too_many_cases_are_refused():
    groups, cases = made()
    with pytest.raises(ValueError, match="groups"):
        table(cases, groups[:5])
    many = np.zeros((1, 50_001), dtype=bool)
    cases = Cases(many, many, many, many / 1.0, many[0].astype(str), many[0].astype(str))
    with pytest.raises(ValueError, match="at most 50,000 cases, got 50,001"):
        table(cases, many[0].astype(str))
