"""Settings of a training, frozen and checked when they are made."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

import numpy as np

from l2d_core.common.checks import brief, require_known, require_range
from l2d_core.common.json_fields import Option, parse_json, read_fields, read_text_file

LEARNING_RATES = {"linear": 0.1, "mlp": 0.003}
HEADS = tuple(LEARNING_RATES)
PRECISIONS = ("bfloat16", "float32")


@dataclass(frozen=True)
class HeadConfig:
    """How the live lab trains a head: AdamW with a cosine rate, from `learning_rate` down to 0.

    kind: "linear", or "mlp" with one hidden layer of `hidden_units` rectified units. weight_decay is AdamW's.
    learning_rate: None for LEARNING_RATES[kind]. precision: of the inputs and weights in products while training,
    "bfloat16" or "float32"; weights, losses and scores are float32 in any case.
    ValueError names the setting that is out of range.
    """

    kind: str = "linear"
    hidden_units: int = 64
    epochs: int = 20
    batch_size: int = 512
    learning_rate: float | None = None
    weight_decay: float = 0.01
    precision: str = "float32"

    def __post_init__(self) -> None:
        require_known("kind", self.kind, HEADS)
        require_known("precision", self.precision, PRECISIONS)
        for name in ("hidden_units", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.learning_rate is not None and not 0 < self.learning_rate < float("inf"):
            raise ValueError(f"learning_rate must be above 0 and finite, got {self.learning_rate}")
        if not 0 <= self.weight_decay < float("inf"):
            raise ValueError(f"weight_decay must be at least 0 and finite, got {self.weight_decay}")

    @property
    def rate(self) -> float:
        """The learning rate to start from."""
        return LEARNING_RATES[self.kind] if self.learning_rate is None else self.learning_rate


CONFIG_VERSION = 1
OPTIMIZERS = ("sgd", "adamw", "adam")
SCHEDULES = ("cosine_warmup", "one_cycle", "constant")
AUGMENTATIONS = ("none", "flip", "crop_flip", "crop_flip_colour")
CLASS_WEIGHTS = ("none", "balanced", "sqrt")
WRONG_RULES = ("others", "all")
_CHOICES = {
    "optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
    "augment": AUGMENTATIONS,
    "class_weights": CLASS_WEIGHTS,
    "precision": PRECISIONS,
}
# A batch of one case has no variance, and batch norm divides by it.
_LEAST = {"split_seed": 0, "epochs": 1, "batch_size": 2, "warmup_epochs": 0, "seed": 0}
# More is a slip; and torch cannot calculate with arbitrarily large numbers.
_MOST = {"epochs": 100_000, "batch_size": 10**9}
MAX_EPOCHS = _MOST["epochs"]
MAX_CLASS = 10**9  # no data set has so many; arrays of whole numbers end at 9.2e18
# The settings of each kind of expert; those of other kinds have to be left as they are.
EXPERT_KINDS = {
    "per_class": ("accuracy", "wrong"),
    "right_on": ("accuracy", "classes"),
    "confusion": ("confusion",),
    "human": ("name",),
    "learned": ("name",),
}


@dataclass(frozen=True)
class ExpertConfig:
    """Who the expert of a run is; each kind has its own settings.

    "per_class": accuracy, one number a class or one for all, and wrong, as in `experts.per_class`.
    "right_on": classes, and accuracy, one number (1 if left out), as in `experts.right_on`.
    "confusion": confusion, K rows of K shares, P(answer | true class).
    "human": name, whose recorded answers; which there are, the data set knows.
    "learned": name, the folder of a trained expert with its stored answers, as in `stored_answers.open_answers`.
    ValueError names the setting that is wrong, or that another kind has.
    """

    kind: str = "per_class"
    """per_class, right_on, confusion, human or learned."""
    accuracy: tuple[float, ...] = ()
    """How often the expert is right: per_class takes a share for each class or one for all, right_on one."""
    wrong: str = "others"
    """Where a per_class expert guesses: others, or all (the true class included)."""
    classes: tuple[int, ...] = ()
    """The classes that a right_on expert knows, numbered from 0."""
    confusion: tuple[tuple[float, ...], ...] = ()
    name: str = ""
    """Whose recorded answers a human expert gives, such as random_label1; the folder of a learned expert."""

    def __post_init__(self) -> None:
        require_known("expert.kind", self.kind, EXPERT_KINDS)
        require_known("expert.wrong", self.wrong, WRONG_RULES)
        require_range("expert.accuracy", np.asarray(self.accuracy), 0, 1)
        require_range("expert.classes", np.asarray(self.classes), 0, MAX_CLASS)
        for row in self.confusion:
            require_range("expert.confusion", np.asarray(row), 0, 1)
        self._check_kind()

    def _check_kind(self) -> None:
        own = EXPERT_KINDS[self.kind]
        for setting in fields(self)[1:]:
            if setting.name not in own and getattr(self, setting.name) != setting.default:
                raise ValueError(f"expert.{setting.name} is no setting of kind {self.kind!r}; it has {', '.join(own)}")
        needed = {"per_class": "accuracy", "confusion": "confusion", "human": "name", "learned": "name"}.get(self.kind)
        if needed and not getattr(self, needed):
            raise ValueError(f"expert.{needed} must be given for kind {self.kind!r}, got {getattr(self, needed)!r}")
        if self.kind == "right_on" and len(self.accuracy) > 1:
            raise ValueError(f"expert.accuracy must be one number for kind 'right_on', got {len(self.accuracy)}")

    @property
    def is_simulated(self) -> bool:
        """Whether the answers are drawn from a confusion matrix, so that they can be drawn again."""
        return self.kind not in ("human", "learned")


# The expert of the paper's first experiment, on CIFAR-10.
PAPER_EXPERT = ExpertConfig(accuracy=(0.75,) * 5 + (0.2,) * 5)


@dataclass(frozen=True)
class RunConfig:
    """All that decides a run, but for the device: the same settings give the same run.

    dataset, model, surrogate: names in the registries, checked where they are looked up, each with options.
    schedule: "cosine_warmup" rises in a line over warmup_epochs, then falls to 0 as a
        cosine; "one_cycle" rises over the first 30 % of the steps; "constant".
    augment: "none", "flip" (left to right), "crop_flip" (shifted by up to 4 pixels too) or "crop_flip_colour" (cut out,
        reflected on both axes, colours varied); see `augment.draw_moves`.
    class_weights: what the loss of a training case is multiplied by. "none": 1; "balanced": in inverse proportion to
        the training cases of its class; "sqrt": to the root of that; the mean over the training cases is 1. The loss
        on validation is never weighted: it is about the cases as they come. Beware that what a system learns with
        weights, P(expert right) too, is about cases as common as the weights make them.
    precision: "bfloat16" is autocast; losses and logits are float32 all the same.
    patience: None never stops early.
    random_labels: drawn once, and the expert answers by them. Test labels stay the true ones.
    reference: as the paper's authors ran it: losses divided by ln 2, answers drawn anew in each batch and at each
        evaluation, and batch statistics, not running ones, at evaluation.
    ValueError names the setting that is wrong, and what it may be.
    """

    dataset: str = "cifar10"
    """cifar10, digits, ham10000, hate_speech, galaxy_zoo or voted_images."""
    dataset_options: Mapping[str, Option] = field(default_factory=dict)
    """Options of the data set as NAME=VALUE, such as noise=0.5."""
    split_seed: int = 0
    """The seed of the split into training, validation and test cases."""
    model: str = "small_resnet"
    """small_resnet, wide_resnet, resnet34, resnet50, efficientnet_lite0 or, for hate_speech, text_cnn."""
    model_options: Mapping[str, Option] = field(default_factory=dict)
    """Options of the network as NAME=VALUE, such as depth=28 width=4."""
    surrogate: str = "one_vs_all"
    """softmax, one_vs_all or asymmetric_softmax; or a method to compare with, which no page reads: score,
    compare_confidence, confidence, triage or triage_network."""
    surrogate_options: Mapping[str, Option] = field(default_factory=dict)
    """Options of the loss as NAME=VALUE."""
    expert: ExpertConfig = PAPER_EXPERT
    epochs: int = 12
    """The largest number of passes over the training cases."""
    batch_size: int = 256
    """The largest number of cases per step."""
    optimizer: str = "sgd"
    """sgd (Nesterov), adamw or adam."""
    learning_rate: float = 0.2
    """The highest learning rate of the schedule."""
    momentum: float = 0.9
    """The momentum of sgd; beta 1 of adamw and adam."""
    weight_decay: float = 5e-4
    """Applied to all weights."""
    schedule: str = "one_cycle"
    """cosine_warmup, one_cycle or constant."""
    warmup_epochs: int = 0
    """Epochs of the warm-up of cosine_warmup."""
    augment: str = "crop_flip"
    """none, flip, crop_flip or crop_flip_colour."""
    class_weights: str = "none"
    """Weights of the training cases by class: none, balanced or sqrt."""
    precision: str = "bfloat16"
    """bfloat16 or float32."""
    channels_last: bool = True
    """Keep images with the channels last in memory."""
    compile: bool = False
    """Compile the network with torch.compile."""
    patience: int | None = 20
    """Stop after this many epochs without a lower validation loss."""
    redraw_answers: bool = False
    """The expert answers anew in each epoch."""
    random_labels: bool = False
    """Labels of training and validation cases are drawn uniformly: the paper's random data."""
    reference: bool = False
    """Train as the paper's authors did."""
    seed: int = 0
    """The seed of the first weights, the batches, the augmentation and the expert's answers."""

    def __post_init__(self) -> None:
        for name in ("dataset_options", "model_options", "surrogate_options"):
            object.__setattr__(self, name, dict(getattr(self, name)))  # nobody changes them from outside
        for name, known in _CHOICES.items():
            require_known(name, getattr(self, name), known)
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise ValueError(f"{name} must be at most {most:,}, got {brief(getattr(self, name))}")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience must be at least 1, or None to never stop early, got {self.patience}")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate must be above 0 and finite, got {self.learning_rate}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be at least 0 and below 1, got {self.momentum}")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must be at least 0 and finite, got {self.weight_decay}")
        self._check_combinations()

    def _check_combinations(self) -> None:
        if self.warmup_epochs and self.schedule != "cosine_warmup":
            raise ValueError(f"warmup_epochs must be 0 with the schedule {self.schedule!r}, got {self.warmup_epochs}")
        if self.warmup_epochs >= self.epochs:
            raise ValueError(f"warmup_epochs must be below epochs, {self.epochs}, got {self.warmup_epochs}")
        if self.redraws and not self.expert.is_simulated:
            raise ValueError(
                f"redraw_answers and reference need a simulated expert, got one of kind {self.expert.kind!r}"
            )
        if self.random_labels and not self.expert.is_simulated:
            raise ValueError(f"random_labels need a simulated expert, got one of kind {self.expert.kind!r}")

    @property
    def redraws(self) -> bool:
        """Whether the expert answers anew in each epoch."""
        return self.redraw_answers or self.reference

    def to_json(self) -> str:
        """The settings as a JSON object, with the version of this format; `from_json` reads it."""
        return json.dumps({"version": CONFIG_VERSION, **asdict(self)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "RunConfig":
        """What `to_json` wrote, or a part of it: what is missing is left at its default.

        ValueError on what is no JSON object, on another version, on unknown fields and on bad values.
        """
        values = parse_json(text, "the config")
        version = values.pop("version", CONFIG_VERSION) if isinstance(values, dict) else CONFIG_VERSION
        if version != CONFIG_VERSION:
            raise ValueError(
                f"the config has version {brief(version)}, and this program reads version {CONFIG_VERSION}: "
                "use the program that wrote it, or write its settings anew"
            )
        return cls(**read_fields("config", values, cls))

    @classmethod
    def load(cls, path: str | os.PathLike) -> "RunConfig":
        """The config in a JSON file; ValueError names the file and what is wrong in it."""
        try:
            return cls.from_json(read_text_file(path, "the config"))
        except ValueError as problem:
            raise ValueError(f"{os.fspath(path)}: {problem}") from problem
