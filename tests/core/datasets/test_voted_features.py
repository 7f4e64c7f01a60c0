"""Tweets and galaxies in the live lab: labels from votes, voters as people, and the numbers that the card tells."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from l2d_core.common.seeds import numpy_generator
from l2d_core.datasets import LAB_DATASETS
from l2d_core.datasets.feature_bank import FOLDER, FeatureBank, bank_path
from l2d_core.datasets.voted_features import bank_voters
from l2d_core.datasets.votes import majority
from l2d_core.evaluation.summary import summarise
from l2d_core.experts.simulated import per_class
from l2d_core.lab import heads

NAMES = {"hate_speech": "HateSpeech", "galaxy_zoo": "Galaxies"}
CARD = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
NOWHERE = Path("there is no such folder")


@pytest.mark.parametrize("name", NAMES)
def test_the_labels_of_a_bank_are_what_most_voters_said(name):
    bank = FeatureBank.load(bank_path(name))
    assert bank.votes is not None
    assert (majority(bank.votes.astype(float)) == bank.labels).all()
    assert bank.votes.sum(axis=1).min() >= {"hate_speech": 3, "galaxy_zoo": 22}[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_voters_are_people_who_need_no_files_and_are_right_as_often_as_is_known(name):
    people = LAB_DATASETS[name].people
    assert people is not None
    assert people.missing(NOWHERE) == ""
    test = LAB_DATASETS[name].load(0, 0.0).test
    ids, labels = np.asarray(test.ids), test.labels.numpy()
    right = people.right(NOWHERE, ids, labels)
    drawn = [people.answers(NOWHERE, ids, "one_voter", numpy_generator(seed, "people")) for seed in range(40)]
    share = np.mean([answers == labels for answers in drawn], axis=0)
    error = np.sqrt((right * (1 - right)).sum() / 40) / len(ids)
    assert share.mean() == pytest.approx(right.mean(), abs=4 * error)
    assert (share[right == 1] == 1).all()


def test_a_bank_without_votes_has_no_voters():
    with pytest.raises(ValueError, match="the bank cifar10 has no votes"):
        bank_voters("cifar10")


@pytest.mark.parametrize("expert", ["a vote", "sliders"])
@pytest.mark.parametrize("name", NAMES)
def test_the_card_tells_what_heads_reach(name, expert):
    dataset = LAB_DATASETS[name]
    splits = dataset.load(0, 0.0)
    fit = heads.fit(
        splits.train,
        splits.test,
        per_class([0.9, 0.5, 0.3]) if expert == "sliders" else None,
        people=None if expert == "sliders" else lambda ids, seed: voted(name, ids, seed),
        seeds=range(6),
        config=dataset.head,
    )
    table = summarise(fit.scores).set_index(["estimator", "measure"])["mean"]
    row = re.search(rf"^\| {NAMES[name]}, {expert} \(([\d,]+)\) \|(.*)$", CARD, flags=re.MULTILINE)
    assert row is not None
    told = [float(number) for number in re.findall(r"([\d.]+) ±", row.group(2))]
    measures = [("odds", "ece"), ("proxy", "ece"), ("sigmoid", "ece"), ("odds", "system"), ("sigmoid", "system")]
    found = [100 * table[key] for key in [*measures, ("odds", "machine_alone"), ("sigmoid", "expert_alone")]]
    assert int(row.group(1).replace(",", "")) == len(splits.test)
    np.testing.assert_allclose(found, told, atol=0.6 if name == "hate_speech" else 2.0)
    assert table["sigmoid", "ece"] < table["odds", "ece"] < table["proxy", "ece"]


def voted(name, ids, seed):
    return LAB_DATASETS[name].people.answers(NOWHERE, ids, "one_voter", numpy_generator(seed, "people"))


def test_votes_that_do_not_fit_the_cases_are_refused():
    bank = FeatureBank.load(bank_path("galaxy_zoo"))
    assert bank.votes is not None
    with pytest.raises(ValueError, match=r"votes must have shape \(1000, 3\), got \(1000, 2\)"):
        replace(bank, votes=bank.votes[:, :2])
    negative = bank.votes.astype(float)
    negative[7, 1] = -1
    with pytest.raises(ValueError, match=rf"votes must lie in 0\.\.inf, got -1.0 at row 7 \({bank.ids[7]}\)"):
        replace(bank, votes=negative)
