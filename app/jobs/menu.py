"""What the page "Train" offers: data sets, networks, and settings to start from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from l2d_core.common.environment import has_fast_bfloat16
from l2d_core.common.json_fields import Option
from l2d_core.common.paths import PROGRAM
from l2d_core.config import PAPER_EXPERT, ExpertConfig, RunConfig
from l2d_core.datasets import LAB_DATASETS, LabDataset, cifar10, facts, galaxy_zoo, ham10000, hate_speech
from l2d_core.datasets.ham10000 import files
from l2d_core.experts.stored_answers import ANSWERS
from l2d_core.runs.shipped import SHIPPED


@dataclass(frozen=True)
class NetworkChoice:
    """A network with its options. rgb_only: it takes images of three channels; of_words: word vectors."""

    title: str
    model: str
    options: Mapping[str, Option]
    rgb_only: bool = False
    of_words: bool = False


NETWORKS = {
    "wide_10_1": NetworkChoice("Wide ResNet 10-1, 0.08 M weights", "wide_resnet", {"depth": 10, "width": 1}),
    "small": NetworkChoice("Small ResNet, 1.1 M weights", "small_resnet", {}),
    "wide_28_4": NetworkChoice("Wide ResNet 28-4, 5.9 M weights", "wide_resnet", {"depth": 28, "width": 4}),
    "lite0": NetworkChoice(
        "EfficientNet-Lite0, 3.4 M weights",
        "efficientnet_lite0",
        {"pretrained": True, "frozen_stages": 3, "dropout": 0.2},
        rgb_only=True,
    ),
    "resnet34": NetworkChoice(
        "ResNet34, 21 M weights",
        "resnet34",
        {"pretrained": True},
        rgb_only=True,
    ),
    "resnet50": NetworkChoice("ResNet50, 24 M weights", "resnet50", {"pretrained": True}, rgb_only=True),
    "text_cnn": NetworkChoice("CNN on word vectors (Kim 2014), 0.1 M weights", "text_cnn", {}, of_words=True),
}


@dataclass(frozen=True)
class TrainDataset:
    """A data set of `DATASETS`, as the page needs to know it.

    lab: the same data in the live lab, with title and class names. image_shape (C, H, W), or (D, T) of T word vectors,
    and sizes (training, validation, test; about, where the split is by group) are for the estimate; bytes_a_number is
    of the inputs.
    missing: (data_root) -> how to get the data, "" where they are there. starts: words -> settings to start from,
    the sensible ones first. people: who can be a human expert -> in words. trained: folder of a trained expert.
    """

    lab: LabDataset
    image_shape: tuple[int, ...]
    sizes: tuple[int, int, int]
    bytes_a_number: int
    missing: Callable[[Path], str]
    starts: Mapping[str, RunConfig]
    people: Mapping[str, str]
    trained: str = ""

    @property
    def trained_expert(self) -> str:
        """The folder of the trained expert, where it is there; else ""."""
        return self.trained if self.trained and (PROGRAM / self.trained / ANSWERS).is_file() else ""

    @property
    def networks(self) -> list[str]:
        """Names in NETWORKS that take these inputs."""
        of_words, is_rgb = len(self.image_shape) == 2, self.image_shape[0] == 3
        return [
            name for name, choice in NETWORKS.items() if choice.of_words == of_words and (is_rgb or not choice.rgb_only)
        ]


def network_of(config: RunConfig) -> str | None:
    """The name in NETWORKS of a config's network; None where it is none of them."""
    same = (name for name, it in NETWORKS.items() if (it.model, it.options) == (config.model, config.model_options))
    return next(same, None)


def _missing_cifar10(data_root: Path) -> str:
    return "" if cifar10.find_layout(data_root) is not None else cifar10.THREE_WAYS


def _missing_ham10000(data_root: Path) -> str:
    folder = files.find_folder(data_root)
    return "" if folder is not None and files.find_files(folder).images else ham10000.HOW_TO_GET


def _missing_galaxies(data_root: Path) -> str:
    return "" if galaxy_zoo.find_layout(data_root) is not None else galaxy_zoo.HOW_TO_GET


def _missing_tweets(data_root: Path) -> str:
    if find_spec("gensim") is None:
        return "Word vectors need the package gensim: pip install -e '.[text]'"
    return "" if (data_root / hate_speech.FILE).is_file() else hate_speech.HOW_TO_GET


def _digits(epochs: int, network: str) -> RunConfig:
    choice = NETWORKS[network]
    return RunConfig(
        dataset="digits",
        model=choice.model,
        model_options=choice.options,
        expert=PAPER_EXPERT,
        epochs=epochs,
        batch_size=64,
        learning_rate=0.05,
        augment="none",
        precision="float32",
    )


# As the paper states it; it is patience that ends the training, and the number of epochs is only a limit of ours.
_paper = partial(
    replace,
    epochs=200,
    batch_size=1024,
    optimizer="sgd",
    learning_rate=0.1,
    momentum=0.9,
    weight_decay=5e-4,
    schedule="cosine_warmup",
    warmup_epochs=0,
    patience=20,
    class_weights="none",
)


# As the authors ran it where that differs from the text: batches of their logs, answers drawn anew in each.
_as_authors = partial(_paper, batch_size=128, reference=True)


def _with_network(config: RunConfig, network: str) -> RunConfig:
    choice = NETWORKS[network]
    return replace(config, model=choice.model, model_options=choice.options)


QUICK = "Quick: seconds"
_PRECISION = "bfloat16" if has_fast_bfloat16() else "float32"
_cifar10 = replace(SHIPPED["cifar10"]["cifar10-one_vs_all"], precision=_PRECISION)
_ham10000 = replace(SHIPPED["ham10000"]["ham10000-one_vs_all"], precision=_PRECISION)

ONE_VOTER = "one_voter"
_BY_VOTES = ExpertConfig("human", name=ONE_VOTER)
_tweets = RunConfig(
    dataset="hate_speech",
    model="text_cnn",
    expert=_BY_VOTES,
    epochs=5,
    batch_size=128,
    optimizer="adamw",
    learning_rate=1e-3,
    weight_decay=0.01,
    augment="none",
    precision="float32",
)
_galaxies = replace(
    _ham10000, dataset="galaxy_zoo", expert=_BY_VOTES, batch_size=32, augment="crop_flip", class_weights="none"
)

DATASETS: dict[str, TrainDataset] = {
    "digits": TrainDataset(
        lab=LAB_DATASETS["digits"],
        image_shape=(1, 8, 8),
        sizes=(1078, 360, 359),
        bytes_a_number=4,
        missing=lambda _root: "",
        starts={
            QUICK: _digits(8, "wide_10_1"),
            "Longer, a larger network": _digits(30, "small"),
            "The paper's (made for CIFAR-10)": _as_authors(_with_network(_digits(200, "wide_28_4"), "wide_28_4")),
        },
        people={},
    ),
    "cifar10": TrainDataset(
        lab=LAB_DATASETS["cifar10"],
        image_shape=(3, 32, 32),
        sizes=(45_000, 5_000, 10_000),
        bytes_a_number=4,
        missing=_missing_cifar10,
        starts={
            "Sensible: for two cores": _cifar10,
            "The paper's: for a GPU": _as_authors(_with_network(_cifar10, "wide_28_4"), augment="none"),
        },
        people=facts.ANNOTATOR_TITLES,
    ),
    "ham10000": TrainDataset(
        lab=LAB_DATASETS["ham10000"],
        image_shape=(3, 150, 200),
        sizes=(6_009, 2_003, 2_003),
        bytes_a_number=2,
        missing=_missing_ham10000,
        starts={
            "Sensible: for two cores": _ham10000,
            "The paper's: for a GPU": _paper(
                _with_network(_ham10000, "resnet34"), augment="crop_flip", reference=False
            ),
        },
        people={},
        trained="pretrained/ham10000/expert",
    ),
    "hate_speech": TrainDataset(
        lab=LAB_DATASETS["hate_speech"],
        image_shape=(100, 40),
        sizes=(14_884, 4_950, 4_949),
        bytes_a_number=4,
        missing=_missing_tweets,
        starts={
            "Sensible: at most a minute per epoch": _tweets,
            "The paper's": _paper(_tweets, optimizer="adamw", learning_rate=1e-3, warmup_epochs=5),
        },
        people={ONE_VOTER: hate_speech.TITLE},
    ),
    "galaxy_zoo": TrainDataset(
        lab=LAB_DATASETS["galaxy_zoo"],
        image_shape=(3, 112, 112),
        sizes=(6_000, 2_000, 2_000),
        bytes_a_number=2,
        missing=_missing_galaxies,
        starts={
            "Sensible: for two cores": _galaxies,
            "The paper's, at half its pixels: for a GPU": _paper(
                _with_network(_galaxies, "resnet50"),
                optimizer="adamw",
                learning_rate=1e-3,
                warmup_epochs=5,
            ),
        },
        people={ONE_VOTER: galaxy_zoo.TITLE},
    ),
}


def first_start(dataset: str) -> RunConfig:
    """The settings that a data set opens with."""
    return next(iter(DATASETS[dataset].starts.values()))
