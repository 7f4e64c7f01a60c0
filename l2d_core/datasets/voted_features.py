"""Tweets and galaxies in the live lab: the shipped feature banks of data sets with many votes per case."""

from functools import cache

from l2d_core.config import HeadConfig
from l2d_core.datasets import galaxy_zoo, hate_speech
from l2d_core.datasets.feature_bank import FeatureBank, bank_path
from l2d_core.datasets.image_features import load_splits
from l2d_core.datasets.lab_dataset import Crowd, LabDataset
from l2d_core.datasets.votes import ONE_VOTER, Voters

NOISE_NAME = "Noise on the features (in standard deviations)"


@cache
def bank_voters(name: str) -> Voters:
    """The voters on the cases of the shipped bank of that name. ValueError for a bank without votes."""
    bank = FeatureBank.load(bank_path(name))
    if bank.votes is None:
        raise ValueError(f"the bank {name} has no votes")
    return Voters.of(bank.ids, bank.votes, ONE_VOTER)


def _crowd(name: str, who: str, what: str, source: str) -> Crowd:
    """The voters as a `Crowd`: their votes are in the bank, so that no file is ever missing."""
    return Crowd(
        names={ONE_VOTER: f"{who}, drawn for each seed and {what}"},
        missing=lambda _root: "",
        answers=lambda _root, ids, _name, generator: bank_voters(name).answers(ids, generator=generator),
        right=lambda _root, ids, labels: bank_voters(name).right(ids, labels),
        source=source,
        tested_on=f"In training and test alike: for each seed and {what} one vote is drawn from those that are "
        f"recorded, so that P(the expert is right) is known {what} by {what}: the share of votes that agree with the "
        "label, which is what most voters said.",
    )


HATE_SPEECH = LabDataset(
    title="HateSpeech: tweets",
    class_names=hate_speech.CLASS_NAMES,
    load=lambda seed, noise: load_splits("hate_speech", seed, noise),
    num_train=14_900,
    noise_name=NOISE_NAME,
    max_noise=2.0,
    default_noise=0.0,
    source="Davidson and others 2017, arXiv 1703.04009, MIT. Sentence vectors of the tweets, without their text. "
    "Tweets with the same words stay in one part. The components of the vectors were fitted, without labels, on the "
    "training part of seed 0",
    class_titles={"hate": "hate speech", "offensive": "offensive language", "neither": "neither of the two"},
    people=_crowd(
        "hate_speech", hate_speech.TITLE, "tweet", "Davidson and others 2017, MIT; three or more votes a tweet"
    ),
)
GALAXY_ZOO = LabDataset(
    title="Galaxy Zoo: galaxies",
    class_names=galaxy_zoo.CLASS_NAMES,
    load=lambda seed, noise: load_splits("galaxy_zoo", seed, noise),
    num_train=600,
    noise_name=NOISE_NAME,
    max_noise=2.0,
    default_noise=0.0,
    source="Galaxy Zoo 2 (Lintott and others 2008; Willett and others 2013; Hart and others 2016), images of the Sloan "
    "Digital Sky Survey; attribution, non-commercial. 1,000 galaxies, no random sample; 4 are artifacts. The test part "
    "has 200: numbers are rough",
    head=HeadConfig(epochs=30, batch_size=32, learning_rate=0.01),
    class_titles={
        "smooth": "smooth and round",
        "featured": "with features or a disk",
        "artifact": "a star or an artifact",
    },
    people=_crowd(
        "galaxy_zoo", galaxy_zoo.TITLE, "galaxy", "Galaxy Zoo 2, Willett and others 2013; 22 to 73 votes a galaxy"
    ),
)
