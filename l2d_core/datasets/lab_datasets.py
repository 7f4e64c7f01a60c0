"""The data sets of the live lab: what its page says of them, without the libraries that loading them takes."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from l2d_core.config import HeadConfig
from l2d_core.datasets import facts
from l2d_core.datasets.lab_dataset import Crowd, LabDataset

NOISE_NAME = "Noise on the features (in standard deviations)"


def _later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module of data sets, which is imported when the function is called."""
    return lambda *arguments, **options: getattr(import_module(f"l2d_core.datasets.{module}"), name)(
        *arguments, **options
    )


_load_bank = _later("image_features", "load_splits")
_bank_voters = _later("voted_features", "bank_voters")

HAM10000 = LabDataset(
    title="HAM10000: skin lesions",
    class_names=facts.HAM10000,
    load=lambda seed, noise: _load_bank("ham10000", seed, noise),
    num_train=6000,
    noise_name="Noise on the features (in standard deviations)",
    max_noise=2.0,
    default_noise=0.0,
    source="Tschandl, Rosendahl and Kittler 2018, doi 10.7910/DVN/DBW86T, CC BY-NC 4.0. Split by lesion; "
    "several images of one lesion are not independent. The features' components were fitted, without labels, on the "
    "training part of seed 0",
    class_titles={
        "akiec": "akiec: actinic keratosis",
        "bcc": "bcc: basal cell carcinoma",
        "bkl": "bkl: benign keratosis",
        "df": "df: dermatofibroma",
        "mel": "mel: melanoma",
        "nv": "nv: melanocytic nevus (mole)",
        "vasc": "vasc: vascular lesion",
    },
    is_medical=True,
)

CIFAR10_PEOPLE = Crowd(
    names={
        **facts.ANNOTATOR_TITLES,
        facts.EACH_ANNOTATOR: "one of the three annotators, drawn for each seed",
    },
    missing=_later("human_answers", "what_is_missing"),
    answers=_later("human_answers", "answers_for_seed"),
    right=_later("human_answers", "probability_right"),
    source="CIFAR-10N, Wei and others 2022, CC BY-NC 4.0 (training images); "
    "CIFAR-10H, Peterson and others 2019, CC BY-NC-SA 4.0 (test images)",
    tested_on="Tested on other people: for each seed and test image one answer is drawn from the about 51 that are "
    "recorded, so that P(the expert is right) is known image by image.",
)
CIFAR10 = LabDataset(
    title="CIFAR-10: small photographs",
    class_names=facts.CIFAR10,
    load=lambda seed, noise: _load_bank("cifar10", seed, noise),
    num_train=9000,
    noise_name="Noise on the features (in standard deviations)",
    max_noise=2.0,
    default_noise=0.0,
    source="Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images",
    people=CIFAR10_PEOPLE,
)


def _crowd(name: str, who: str, what: str, source: str) -> Crowd:
    """The voters as a `Crowd`: their votes are in the bank, so that no file is ever missing."""
    return Crowd(
        names={facts.ONE_VOTER: f"{who}, drawn for each seed and {what}"},
        missing=lambda _root: "",
        answers=lambda _root, ids, _name, generator: _bank_voters(name).answers(ids, generator=generator),
        right=lambda _root, ids, labels: _bank_voters(name).right(ids, labels),
        source=source,
        tested_on=f"In training and test alike: for each seed and {what} one vote is drawn from those that are "
        f"recorded, so that P(the expert is right) is known {what} by {what}: the share of votes that agree with the "
        "label, which is what most voters said.",
    )


HATE_SPEECH = LabDataset(
    title="HateSpeech: tweets",
    class_names=facts.HATE_SPEECH,
    load=lambda seed, noise: _load_bank("hate_speech", seed, noise),
    num_train=14_900,
    noise_name=NOISE_NAME,
    max_noise=2.0,
    default_noise=0.0,
    source="Davidson and others 2017, arXiv 1703.04009, MIT. Sentence vectors of the tweets, without their text. "
    "Tweets with the same words stay in one part. The components of the vectors were fitted, without labels, on the "
    "training part of seed 0",
    class_titles={"hate": "hate speech", "offensive": "offensive language", "neither": "neither of the two"},
    people=_crowd(
        "hate_speech", facts.TWEET_ANNOTATOR, "tweet", "Davidson and others 2017, MIT; three or more votes per tweet"
    ),
)
GALAXY_ZOO = LabDataset(
    title="Galaxy Zoo: galaxies",
    class_names=facts.GALAXY_ZOO,
    load=lambda seed, noise: _load_bank("galaxy_zoo", seed, noise),
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
        "galaxy_zoo", facts.GALAXY_VOLUNTEER, "galaxy", "Galaxy Zoo 2, Willett and others 2013; 22 to 73 votes each"
    ),
)
DIGITS = LabDataset(
    title="Handwritten digits",
    class_names=facts.DIGITS,
    load=_later("digits", "load"),
    num_train=1078,
    noise_name="Pixel noise (standard deviation, 1 = white to black)",
    max_noise=1.5,
    default_noise=0.5,
    source="Optical Recognition of Handwritten Digits (Alpaydin and Kaynak 1998, doi 10.24432/C50P49, CC BY 4.0), "
    "the 1,797 images that come with scikit-learn",
    head=HeadConfig(kind="mlp", batch_size=64),
)
GAUSSIANS = LabDataset(
    title="Gaussians in the plane (truth known)",
    class_names=facts.GAUSSIANS,
    load=_later("gaussians", "load"),
    num_train=4000,
    noise_name="Spread of each class (standard deviation; the class centres are 1 from the origin)",
    max_noise=1.5,
    default_noise=0.6,
    min_noise=0.2,
    source="Drawn by this program: four Gaussian classes with shares 40, 30, 20 and 10 %",
    head=HeadConfig(kind="mlp", batch_size=256),
    class_probability=_later("gaussians", "class_probability"),
    plane=_later("gaussians", "plane"),
)
