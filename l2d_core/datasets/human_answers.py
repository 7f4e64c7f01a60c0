"""People's answers on CIFAR-10: CIFAR-10N for the training images, CIFAR-10H for the test images.

A system can thus be trained with some people's answers and tested with those of others. Cases are found by their ids,
"train/cat/0007": part, class, and number within the class in the published order.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64, Int64

from l2d_core.common.checks import require_known, require_range, require_shape
from l2d_core.data import DeferralData, Splits
from l2d_core.datasets.array_pickle import load_array_pickle
from l2d_core.datasets.cifar10 import (
    CLASS_NAMES,
    IMAGES_A_CLASS,
    PARTS,
    find_layout,
    read_batches,
    require_published_order,
)
from l2d_core.datasets.facts import ANNOTATORS, EACH_ANNOTATOR

TRAINING_FILE = "cifar10n/CIFAR-10_human.pt"
COUNTS_FILE = "cifar10h/cifar10h-counts.npy"
TEST_LABELS_FILE = "cifar10h/test_labels.npy"
LEAST_AGREEMENT = 0.6  # agreement with the true classes: people reach 0.82 and more, shuffled rows 0.1
_SOURCES = {
    TRAINING_FILE: "CIFAR-10N, Wei and others 2022, github.com/UCSC-REAL/cifar-10-100n, data/; CC BY-NC 4.0",
    COUNTS_FILE: "CIFAR-10H, Peterson and others 2019, github.com/jcpeterson/cifar-10h, data/; CC BY-NC-SA 4.0",
}
_ID = re.compile(rf"({'|'.join(PARTS)})/({'|'.join(CLASS_NAMES)})/(\d{{1,9}})")

Ids = Sequence[str] | np.ndarray


def ask(splits: Splits, data_root: Path, annotator: str, *, generator: np.random.Generator) -> Splits:
    """The splits of `cifar10.load` with the answers of `recorded_answers`, and the people's title as the expert."""
    names = dict.fromkeys(("train", "validation"), f"{annotator} of CIFAR-10N") | {"test": "an answer of CIFAR-10H"}
    parts = {}
    for part, name in names.items():
        data: DeferralData = getattr(splits, part)
        answers = recorded_answers(data_root, data.ids, annotator, generator=generator)
        parts[part] = replace(data, answers=torch.from_numpy(answers)[:, None], expert_names=(name,))
    return Splits(**parts)


def recorded_answers(
    data_root: Path, ids: Ids, annotator: str, *, generator: np.random.Generator
) -> Int64[np.ndarray, " N"]:
    """One person's answer for each image, (N,) in 0..9: CIFAR-10N's annotator for a training image; for a test image
    one of CIFAR-10H's about 51 people, drawn by the generator independently of which other ids are given.

    ids: those of `cifar10.load` or of the CIFAR-10 feature bank; annotator: one of ANNOTATORS.
    FileNotFoundError names a missing file and its source; ValueError what does not fit: an id, an annotator, or a
    file that is damaged or not in CIFAR-10's published order.
    """
    parts, classes, numbers = _parse(ids)
    answers = np.empty(len(parts), dtype=np.int64)
    for part, read in (("train", _read_annotator), ("test", _draw_of_counts)):
        chosen = parts == part
        if chosen.any():
            answers[chosen] = read(Path(data_root), annotator, generator)[classes[chosen], numbers[chosen]]
    return answers


def answers_for_seed(data_root: Path, ids: Ids, name: str, generator: np.random.Generator) -> Int64[np.ndarray, " N"]:
    """`recorded_answers` of one of ANNOTATORS, or, for EACH_ANNOTATOR, of one that the generator draws."""
    if name == EACH_ANNOTATOR:
        name = ANNOTATORS[generator.integers(len(ANNOTATORS))]
    return recorded_answers(data_root, ids, name, generator=generator)


def probability_right(data_root: Path, ids: Ids, labels: Int64[np.ndarray, " N"]) -> Float64[np.ndarray, " N"]:
    """P(a person is right | image) of test images with these labels, by `answer_distribution`."""
    return answer_distribution(data_root, ids)[np.arange(len(ids)), labels]


def answer_distribution(data_root: Path, ids: Ids) -> Float64[np.ndarray, "N K"]:
    """P(a person says class k | image), (N, 10), of test images: shares among CIFAR-10H's answers.

    The entry at the true class is P(m = y | x) of the answers that `recorded_answers` draws, exactly.
    Raises what that raises; ValueError on ids of training images.
    """
    parts, classes, numbers = _parse(ids)
    if (parts != "test").any():
        row = int((parts != "test").argmax())
        raise ValueError(f"ids must be of test images, which CIFAR-10H is about, got {ids[row]} at row {row}")
    counts = _read_counts(Path(data_root))[classes, numbers]
    return counts / counts.sum(axis=1, keepdims=True)


def what_is_missing(data_root: Path) -> str:
    """Which files of people's answers are missing, and where to get them; "" where none is."""
    try:
        for name in _SOURCES:
            _require_file(Path(data_root), name)
        _read_test_labels(Path(data_root))
    except (FileNotFoundError, ValueError) as problem:
        return str(problem)
    return ""


def _parse(ids: Ids) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Part, class and number of each id, (N,) each."""
    found = [_ID.fullmatch(str(image_id)) for image_id in ids]
    for row, match in enumerate(found):
        if match is None:
            raise ValueError(
                "ids must be part, class and number within the class in the published order, as train/cat/0007; "
                f"got {ids[row]} at row {row}"
            )
    groups = [match.groups() for match in found if match is not None]
    parts = np.asarray([part for part, _, _ in groups], dtype=str)
    classes = np.asarray([CLASS_NAMES.index(name) for _, name, _ in groups], dtype=np.int64)
    numbers = np.asarray([int(number) for _, _, number in groups], dtype=np.int64)
    for part in PARTS:
        chosen = parts == part
        last = IMAGES_A_CLASS[part] - 1
        require_range(f"numbers of {part} images in ids", numbers[chosen], 0, last, np.asarray(ids)[chosen])
    return parts, classes, numbers


def _read_annotator(data_root: Path, annotator: str, _: np.random.Generator) -> np.ndarray:
    """The annotator's answers, (10, 5000), by class and number within it."""
    require_known("annotator", annotator, ANNOTATORS)
    path = _require_file(data_root, TRAINING_FILE)
    content = load_array_pickle(path)
    lacking = [name for name in ("clean_label", annotator) if not isinstance(content.get(name), np.ndarray)]
    if lacking:
        raise ValueError(f"{path} lacks {' and '.join(lacking)}; it holds {', '.join(content)}: download it again")
    labels, answers = content["clean_label"], content[annotator]
    require_published_order(labels, "train", f"clean_label in {path}")
    name = f"{annotator} in {path}"
    require_shape(name, answers, labels.shape)
    require_range(name, answers, 0, len(CLASS_NAMES) - 1)
    _require_agreement(name, answers, labels)
    return _by_class(answers, labels)


def _draw_of_counts(data_root: Path, _: str, generator: np.random.Generator) -> np.ndarray:
    """One answer for each test image, (10, 1000), by class and number within it."""
    upper = _read_counts(data_root).cumsum(axis=2)
    uniform = generator.random(upper.shape[:2])
    return (uniform[:, :, None] >= upper / upper[:, :, -1:]).sum(axis=2)


def _read_counts(data_root: Path) -> np.ndarray:
    """How many people gave each answer, (10, 1000, 10): by class, number within it, and answer."""
    path = _require_file(data_root, COUNTS_FILE)
    labels = _read_test_labels(data_root)
    counts = _load_array(path)
    name = f"the counts in {path}"
    require_shape(name, counts, (len(labels), len(CLASS_NAMES)))
    require_range(name, counts, 0, np.inf)
    require_range(f"{name}, summed over each image,", counts.sum(axis=1), 1, np.inf)
    _require_agreement(name, counts.argmax(axis=1), labels)
    return _by_class(counts, labels)


def _read_test_labels(data_root: Path) -> np.ndarray:
    """The true classes of the test images in their published order, which an image folder does not give."""
    path = data_root / TEST_LABELS_FILE
    if path.is_file():
        labels = _load_array(path)
        require_published_order(labels, "test", f"the labels in {path}")
        return labels
    folder = find_layout(data_root)
    if folder is None or folder.name == "cifar10":
        raise FileNotFoundError(
            f"there is no file {path}: CIFAR-10H needs the 10,000 test labels in their published order, from there, "
            f"or from CIFAR-10 itself in {data_root / 'cifar-10-batches-py'}"
        )
    return read_batches(folder, "test")[1]


def _require_file(data_root: Path, name: str) -> Path:
    if not (data_root / name).is_file():
        raise FileNotFoundError(f"there is no file {data_root / name} ({_SOURCES[name]})")
    return data_root / name


def _load_array(path: Path) -> np.ndarray:
    try:
        array = np.load(path, allow_pickle=False)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
            raise ValueError("it holds no array of whole numbers")
        return array.astype(np.int64)
    except Exception as problem:  # a damaged header can fail in any way
        raise ValueError(f"{path} is no .npy file of whole numbers ({problem}): download it again") from problem


def _require_agreement(name: str, answers: np.ndarray, labels: np.ndarray) -> None:
    agreement = float((answers == labels).mean())
    if agreement < LEAST_AGREEMENT:
        raise ValueError(
            f"{name} must be in the published order of the images; they agree with the true classes in "
            f"{agreement:.0%} only"
        )


def _by_class(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Values (N, ...) in the published order as (10, N / 10, ...): by class, then by number within the class."""
    return values[np.argsort(labels, kind="stable")].reshape(len(CLASS_NAMES), -1, *values.shape[1:])
