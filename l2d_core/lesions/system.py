"""The shipped system for skin lesions: two networks, the features to refit heads on, and the expert network."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float32
from torch import Tensor

from l2d_core.common.paths import PRETRAINED
from l2d_core.config import HeadConfig
from l2d_core.data import Scores
from l2d_core.datasets.ham10000.values import UNKNOWN
from l2d_core.evaluation.adjustment import Adjustment
from l2d_core.evaluation.similar_cases import Reference, make_reference
from l2d_core.experts.stored_answers import ANSWERS, StoredAnswers, open_answers
from l2d_core.lab import heads as lab
from l2d_core.lesions.bank import LesionBank, weights_digest
from l2d_core.lesions.detector import CATCHES, Detector
from l2d_core.lesions.expert_network import WEIGHTS as EXPERT_WEIGHTS
from l2d_core.lesions.expert_network import LearnedExpert, load_expert
from l2d_core.lesions.gallery import SPRITE, TABLE, Gallery
from l2d_core.lesions.networks import LesionNetwork, compile_network
from l2d_core.lesions.plane import Plane, fit_plane
from l2d_core.models.weights import load_weights
from l2d_core.runs.folder import RESULTS, WEIGHTS, open_run

RUNS = {name: f"ham10000/ham10000-{name}" for name in ("softmax", "one_vs_all")}  # surrogate -> folder of its run
HEAD = HeadConfig(epochs=60)  # a third of the live lab's cases, so that it takes as many steps
TUNED = "one_vs_all"  # the network whose features the bank holds
BANK, EXPERT, DETECTOR = "features/ham10000_tuned.npz", "ham10000/expert", "ham10000/detector.safetensors"
NEEDED = ("age", "sex", "localization")  # of a patient, for the expert network to answer
COMMANDS = {
    "runs": "python -m l2d_core pretrain runs --dataset ham10000 --data-root DIR",
    "expert": "python -m l2d_core pretrain expert --data-root DIR",
    "lesions": "python -m l2d_core pretrain lesions --data-root DIR",
}


@dataclass(frozen=True)
class LesionSystem:
    """All that is needed to score an image. networks, tests and validations (scores of these parts): by surrogate.

    answers: the expert network's answers for all images of HAM10000. detector: of pictures unlike the training
    images; catches: of `count_catches`; gallery: the test cases to be shown.
    """

    networks: Mapping[str, LesionNetwork]
    tests: Mapping[str, Scores]
    validations: Mapping[str, Scores]
    bank: LesionBank
    expert: LearnedExpert
    answers: StoredAnswers
    detector: Detector
    catches: pd.DataFrame
    gallery: Gallery

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.bank.class_names

    @property
    def prior(self) -> np.ndarray:
        """The share of each class among the training images, (K,)."""
        labels = self.bank.labels[self.bank.parts == "train"]
        return np.bincount(labels, minlength=len(self.class_names)) / len(labels)

    @cached_property
    def plane(self) -> Plane:
        """Of the map of the test cases."""
        return fit_plane(self.bank)

    @property
    def image_size(self) -> tuple[int, int]:
        """(height, width) that the networks take."""
        return self.networks[TUNED].image_size


@dataclass(frozen=True)
class LesionScores:
    """The networks' outputs for N images, which are all that is kept of them.

    logits: surrogate -> (N, K+1); features: those of the bank, (N, D); distance: of the detector, (N,);
    expert_features: the expert network's features of the image alone, (N, E).
    """

    logits: Mapping[str, np.ndarray]
    features: np.ndarray
    distance: np.ndarray
    expert_features: np.ndarray

    @classmethod
    def concatenate(cls, parts: Sequence["LesionScores"]) -> "LesionScores":
        """The scores of at least one part, one after another."""
        logits = {name: np.concatenate([part.logits[name] for part in parts]) for name in parts[0].logits}
        return cls(logits, *(np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS))

    def subset(self, rows: Sequence[int]) -> "LesionScores":
        """Copies of these rows, which do not keep the others in memory."""
        logits = {name: values[rows].copy() for name, values in self.logits.items()}
        return LesionScores(logits, *(getattr(self, name)[rows].copy() for name in _ARRAYS))


_ARRAYS = ("features", "distance", "expert_features")


@dataclass(frozen=True)
class Head:
    """A last layer on the bank's features: logits = features weight^T + bias; weight (K+1, D), bias (K+1,)."""

    weight: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True)
class ExpertSystems:
    """The systems for one expert. heads: refitted ones by surrogate, or None to use the networks' own logits."""

    reference: Reference
    heads: Mapping[str, Head] | None

    def logits(self, scores: LesionScores) -> Mapping[str, np.ndarray]:
        """Surrogate -> (N, K+1), to be read beside the reference."""
        if self.heads is None:
            return scores.logits
        return {name: scores.features @ head.weight.T + head.bias for name, head in self.heads.items()}

    def weighed(self, prior: np.ndarray, tau: float) -> "ExpertSystems":
        """The same, but the machine names classes by an `Adjustment`."""
        if tau == 0:
            return self
        return replace(self, reference=make_reference(self.reference.scores, Adjustment(prior, tau)))


def missing_commands(folder: str | os.PathLike | None = None) -> list[str]:
    """The commands that make the parts of the system missing in a folder, in the order to run them.

    folder: `PRETRAINED` if None.
    """
    folder = Path(PRETRAINED if folder is None else folder)
    wanted = {
        "runs": [folder / name / file for name in RUNS.values() for file in RESULTS],
        "expert": [folder / EXPERT / name for name in (EXPERT_WEIGHTS, ANSWERS)],
        "lesions": [folder / name for name in (BANK, DETECTOR, CATCHES, TABLE, SPRITE)],
    }
    return [COMMANDS[name] for name, paths in wanted.items() if not all(path.is_file() for path in paths)]


def load_system(folder: str | os.PathLike | None = None) -> LesionSystem:
    """The system in a folder, or in `PRETRAINED` if None. It takes seconds, since the networks are compiled.

    FileNotFoundError where something is missing, with the commands that make it; ValueError names the file that is
    damaged or does not belong to the others.
    """
    folder = Path(PRETRAINED if folder is None else folder)
    missing = missing_commands(folder)
    if missing:
        raise FileNotFoundError(
            f"the networks for skin lesions are not all there; make them with: {'; '.join(missing)}"
        )
    bank = LesionBank.load(folder / BANK)
    detector, weights = Detector.load(folder / DETECTOR), weights_digest(folder / RUNS[TUNED] / WEIGHTS)
    for name, own in ((BANK, bank.weights), (DETECTOR, detector.weights)):
        if own != weights:
            raise ValueError(f"{folder / name} is of other weights than {RUNS[TUNED]}; make it: {COMMANDS['lesions']}")
    gallery = Gallery.load(folder)
    if gallery.cases["id"].tolist() != bank.ids[bank.parts == "test"].tolist():
        raise ValueError(f"{folder / TABLE} lists other images than the test part of {BANK}; {COMMANDS['lesions']}")
    runs = {surrogate: open_run(folder / name) for surrogate, name in RUNS.items()}
    tests, validations = ({name: getattr(run, part) for name, run in runs.items()} for part in ("test", "validation"))
    for surrogate, scores in tests.items():
        if scores.surrogate != surrogate or scores.class_names != bank.class_names:
            raise ValueError(
                f"{folder / RUNS[surrogate]} must be a run of {surrogate} on {', '.join(bank.class_names)}"
            )
    networks = {surrogate: load_network(folder / name) for surrogate, name in RUNS.items()}
    expert, answers = load_expert(folder / EXPERT), open_answers(folder / EXPERT)
    return LesionSystem(
        networks, tests, validations, bank, expert, answers, detector, pd.read_csv(folder / CATCHES), gallery
    )


def load_network(folder: Path) -> LesionNetwork:
    """The network of a run, compiled for images of its size. Raises what `load_weights` raises."""
    model, network = load_weights(folder / WEIGHTS)
    _, height, width = network.image_shape
    return compile_network(model, (height, width))


def score_images(
    system: LesionSystem, images: Float32[Tensor, "N 3 H W"], expert_images: Float32[Tensor, "N 3 h w"]
) -> LesionScores:
    """The outputs for images prepared by `to_input`, once at the networks' size and once at the expert network's."""
    seen = {surrogate: network.score(images) for surrogate, network in system.networks.items()}
    features, early, _ = seen[TUNED]
    logits = {surrogate: parts[2] for surrogate, parts in seen.items()}
    with torch.inference_mode():
        expert_features = system.expert.network.mixer(expert_images).float().numpy()
    return LesionScores(logits, system.bank.project(features), system.detector.distance(early), expert_features)


def ask_expert(system: LesionSystem, expert_features: Float32[np.ndarray, "N E"], patients: pd.DataFrame) -> np.ndarray:
    """The class that the expert network names for each of N cases, (N,).

    expert_features: those of `LesionScores`; patients: age, sex and localization as `read_metadata` gives them.
    ValueError names a case in which one of them is unknown: no answer is invented.
    """
    for column in NEEDED:
        unknown = np.flatnonzero(patients[column] == UNKNOWN)
        if len(unknown):
            raise ValueError(f"{column} must be known for the expert to answer, got {UNKNOWN!r} at row {unknown[0]}")
    together = torch.cat([torch.from_numpy(expert_features), system.expert.metadata(patients)], dim=1)
    with torch.inference_mode():
        return system.expert.network.head(together).argmax(1).numpy()


def systems_as_trained(system: LesionSystem) -> ExpertSystems:
    """For the expert with whom the two networks were trained: their own logits, and the scores of their runs."""
    return ExpertSystems(make_reference(system.tests), None)


def systems_for_mixer(system: LesionSystem) -> ExpertSystems:
    """For the expert network: heads refitted with its stored answers. ValueError where they do not fit the bank."""
    row_of = {str(name): row for row, name in enumerate(system.answers.ids)}
    absent = [str(name) for name in system.bank.ids[system.bank.parts != "train"] if str(name) not in row_of]
    if absent:
        raise ValueError(f"the expert network has no answer to {len(absent):,} images of the bank, as {absent[0]}")

    def people(ids: np.ndarray, _seed: int) -> np.ndarray:
        return system.answers.answers[[row_of[str(name)] for name in ids]].astype(np.int64)

    trained_on = system.answers.ids[system.answers.parts == "train"]
    if np.isin(system.bank.ids[system.bank.parts != "train"], trained_on).any():
        raise ValueError("the expert network was trained on images of the bank's validation or test part")
    return refit(system, people=people)


def refit(system: LesionSystem, confusion: Tensor | None = None, *, people: lab.People | None = None) -> ExpertSystems:
    """For an expert as `lab.fit` takes one: heads fitted on the bank's validation part and scored on its test part.

    The networks never saw the validation part in training: on the training part their features are too good, and
    heads would be too sure. One seed, well under a second.
    """
    train, test = system.bank.part("validation"), system.bank.part("test")
    fit = lab.fit(train, test, confusion, people=people, surrogates=tuple(RUNS), seeds=(0,), config=HEAD)
    heads = {name: Head(layer.weight[0], layer.bias[0]) for name, (layer,) in fit.layers.items()}
    return ExpertSystems(make_reference({name: scores[0] for name, scores in fit.scores.items()}), heads)
