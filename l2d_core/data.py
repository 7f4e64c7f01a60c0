"""The data of the library: cases with answers, their splits, and the scores of a trained system."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from io import IOBase

import numpy as np
import torch
from torch import Tensor

from l2d_core.common.array_files import as_texts, load_arrays, require_few_rows, save_arrays
from l2d_core.common.checks import brief, list_names, require_finite, require_known, require_range, require_shape
from l2d_core.surrogates import SURROGATES

SCORES_VERSION = 1
MAX_SCORES_BYTES = 2 * 1024**3
MAX_NAMES = 30_000  # of classes in a file of scores; the largest data sets of images have 22,000
Texts = Sequence[str] | np.ndarray


@dataclass(frozen=True)
class DeferralData:
    """N cases with their true classes and the answers of J experts.

    inputs (N, ...) float; labels (N,) in 0..K-1; answers (N, J) in 0..K-1, or -1 where an expert was not asked;
    ids (N,) text; class_names K; expert_names J. Raises ValueError that names the argument and the row.
    """

    inputs: Tensor
    labels: Tensor
    answers: Tensor
    ids: Texts
    class_names: tuple[str, ...]
    expert_names: tuple[str, ...] = ("expert",)

    def __post_init__(self) -> None:
        _check_cases(
            len(self.inputs),
            self.labels.numpy(),
            self.answers.numpy(),
            self.ids,
            self.class_names,
            self.expert_names,
        )
        if not _is_finite(self.inputs):
            require_finite("inputs", self.inputs.reshape(len(self.inputs), -1).numpy(), self.ids)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def expert_correct(self) -> Tensor:
        """(N, J) bool: the expert was asked and named the true class."""
        return self.answers == self.labels[:, None]

    @classmethod
    def unasked(cls, inputs: Tensor, labels: Tensor, ids: Texts, class_names: Sequence[str]) -> "DeferralData":
        """Cases of which the one expert has not been asked yet: every answer is -1."""
        return cls(inputs, labels, torch.full((len(labels), 1), -1), ids, tuple(class_names))

    def subset(self, rows: np.ndarray) -> "DeferralData":
        """The cases at `rows`, in that order; or, where rows are N flags, those that are True.

        ValueError on other numbers than whole ones, or out of range.
        """
        rows = np.asarray(rows)
        if rows.dtype == bool:
            require_shape("rows", rows, (len(self),))
            rows = np.flatnonzero(rows)
        if rows.size and not np.issubdtype(rows.dtype, np.integer):
            raise ValueError(f"rows must be whole numbers, or a flag for each case, got {rows.dtype}")
        if rows.size:
            require_range("rows", rows, -len(self), len(self) - 1)
        index = torch.as_tensor(rows, dtype=torch.int64)
        ids = np.asarray(self.ids)[index.numpy()]
        return replace(self, inputs=self.inputs[index], labels=self.labels[index], answers=self.answers[index], ids=ids)

    def sample(self, size: int, *, generator: np.random.Generator) -> "DeferralData":
        """`size` cases drawn without replacement, all of them where there are fewer."""
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        rows = generator.permutation(len(self))[:size]
        return self.subset(np.sort(rows))


@dataclass(frozen=True)
class Splits:
    """The three parts of a data set; no group (lesion, say) is in two of them."""

    train: DeferralData
    validation: DeferralData
    test: DeferralData


@dataclass(frozen=True)
class Scores:
    """All that evaluation needs: raw logits of a system on N cases, the labels, and the experts' answers.

    logits (N, K+J) float: K class scores, then one deferral score per expert; labels (N,) in 0..K-1;
    answers (N, J) in 0..K-1 or -1 (not asked); ids (N,); surrogate: a name in `SURROGATES`.
    """

    logits: np.ndarray
    labels: np.ndarray
    answers: np.ndarray
    ids: np.ndarray
    class_names: tuple[str, ...]
    expert_names: tuple[str, ...]
    surrogate: str

    def __post_init__(self) -> None:
        width = len(self.class_names) + len(self.expert_names)
        if not np.issubdtype(self.logits.dtype, np.floating):
            raise ValueError(f"logits must be floating-point numbers, got {self.logits.dtype}")
        require_shape("logits", self.logits, (None, width))
        require_shape("ids", self.ids, (None,))
        _check_cases(len(self.logits), self.labels, self.answers, self.ids, self.class_names, self.expert_names)
        require_finite("logits", self.logits, self.ids)

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def from_arrays(
        cls,
        logits: np.ndarray,
        labels: np.ndarray,
        answers: np.ndarray,
        *,
        surrogate: str,
        ids: Texts | None = None,
        class_names: Texts | None = None,
        expert_names: Texts | None = None,
    ) -> "Scores":
        """Scores from plain arrays: one expert's answers may be (N,); missing names and ids are numbered."""
        logits, labels, answers = np.asarray(logits), np.asarray(labels), np.asarray(answers)
        if answers.ndim == 1:
            answers = answers[:, None]
        require_shape("logits", logits, (None, None))
        require_shape("answers", answers, (None, None))
        num_experts = answers.shape[1]
        num_classes = logits.shape[1] - num_experts
        if num_classes < 1:
            raise ValueError(f"logits must have K+J columns, got {logits.shape[1]} for {num_experts} experts")
        return cls(
            logits=logits,
            labels=labels,
            answers=answers,
            ids=np.asarray([str(i) for i in (range(len(logits)) if ids is None else ids)]),
            class_names=tuple(
                (f"class {k}" for k in range(num_classes)) if class_names is None else map(str, class_names)
            ),
            expert_names=tuple(map(str, _number_experts(num_experts) if expert_names is None else expert_names)),
            surrogate=surrogate,
        )

    @classmethod
    def from_data(
        cls, data: DeferralData, logits: np.ndarray, *, surrogate: str, answers: np.ndarray | None = None
    ) -> "Scores":
        """The scores of a system on these cases, logits (N, K+J); answers (N, J) in place of those of the data."""
        return cls(
            logits=logits,
            labels=data.labels.numpy(),
            answers=data.answers.numpy() if answers is None else answers,
            ids=np.asarray(data.ids, dtype=str),
            class_names=data.class_names,
            expert_names=data.expert_names,
            surrogate=surrogate,
        )

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def num_experts(self) -> int:
        return len(self.expert_names)

    @property
    def expert_correct(self) -> np.ndarray:
        """(N, J) bool: the expert was asked and named the true class."""
        return self.answers == self.labels[:, None]

    def subset(self, rows: np.ndarray) -> "Scores":
        """The cases at these rows, in that order."""
        return replace(self, **{name: getattr(self, name)[rows] for name in ("logits", "labels", "answers", "ids")})

    def save(self, path: str | os.PathLike) -> None:
        """Write an .npz without pickled objects; the file appears whole or not at all."""
        arrays = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        save_arrays(path, {"format_version": np.asarray(SCORES_VERSION), **arrays})

    @classmethod
    def load(
        cls,
        source: str | os.PathLike | IOBase,
        surrogates: Collection[str] = SURROGATES,
        *,
        max_bytes: int = MAX_SCORES_BYTES,
        max_cases: float = float("inf"),
    ) -> "Scores":
        """Read what `save` wrote. ValueError names the file and what is wrong with it; pickled objects are refused.

        surrogates: those that the scores may be of. max_bytes: of the unpacked arrays; max_cases: the most allowed.
        """
        arrays = load_arrays(source, max_bytes)
        try:
            require_few_rows(arrays, max_cases)
            return cls._of(arrays, surrogates)
        except ValueError as problem:
            if not isinstance(source, str | os.PathLike):
                raise
            raise ValueError(f"{os.fspath(source)}: {problem}") from problem

    @classmethod
    def _of(cls, arrays: Mapping[str, np.ndarray], surrogates: Collection[str]) -> "Scores":
        wanted = [field.name for field in fields(cls)]
        missing = [name for name in ["format_version", *wanted] if name not in arrays]
        if missing:
            raise ValueError(f"the scores file lacks {', '.join(missing)}; it holds {list_names(arrays) or 'nothing'}")
        version = arrays["format_version"]
        if version.shape != () or version != SCORES_VERSION:
            got = brief(version.tolist())
            raise ValueError(f"the scores file has format {got}; this version reads {SCORES_VERSION}")
        for name in ("class_names", "expert_names"):
            require_shape(name, arrays[name], (None,))
            if arrays[name].size > MAX_NAMES:
                raise ValueError(f"{name} must be at most {MAX_NAMES:,}, got {arrays[name].size:,}")
        width = arrays["class_names"].size + arrays["expert_names"].size
        require_shape("logits", arrays["logits"], (None, width))  # before names take many times their size as texts
        require_shape("surrogate", arrays["surrogate"], ())
        require_known("surrogate", str(arrays["surrogate"]), surrogates)
        texts = {name: as_texts(name, arrays[name]) for name in ("ids", "class_names", "expert_names", "surrogate")}
        return cls(
            **{name: arrays[name] for name in ("logits", "labels", "answers")},
            ids=texts["ids"],
            class_names=tuple(texts["class_names"].tolist()),
            expert_names=tuple(texts["expert_names"].tolist()),
            surrogate=str(texts["surrogate"]),
        )


def split_by_group(
    groups: Sequence | np.ndarray, labels: np.ndarray, fractions: Sequence[float], *, generator: np.random.Generator
) -> list[np.ndarray]:
    """Cut N cases into parts so that no group is in two of them, each class in about the given shares.

    groups (N,) any values; labels (N,); fractions of the groups, summing to 1. A group's class is that of its
    first case. Returns sorted index arrays, one per fraction. Deterministic given the generator's state. The
    order of the rows does not matter where all cases of a group have one class.
    """
    groups, labels = np.asarray(groups), np.asarray(labels)
    require_shape("labels", labels, (len(groups),))
    if len(groups) == 0:
        raise ValueError("groups must hold at least one case, got 0")
    if not (abs(sum(fractions) - 1) <= 1e-9 and min(fractions) >= 0):
        raise ValueError(f"fractions must be at least 0 and sum to 1, got {list(fractions)}")
    _, first, group_of_case = np.unique(groups, return_index=True, return_inverse=True)
    part_of_group = np.empty(len(first), dtype=np.int64)
    for label in np.unique(labels[first]):
        members = generator.permutation(np.flatnonzero(labels[first] == label))
        cuts = np.round(np.cumsum(fractions)[:-1] * len(members)).astype(int)
        for part, chunk in enumerate(np.split(members, cuts)):
            part_of_group[chunk] = part
    part_of_case = part_of_group[group_of_case]
    return [np.flatnonzero(part_of_case == part) for part in range(len(fractions))]


def _is_finite(values: Tensor) -> bool:
    """By the smallest and largest value, where a NaN prevails; without a copy of what may be most of the memory."""
    return values.numel() == 0 or all(torch.isfinite(edge).item() for edge in torch.aminmax(values))


def _number_experts(num_experts: int) -> tuple[str, ...]:
    return ("expert",) if num_experts == 1 else tuple(f"expert {j + 1}" for j in range(num_experts))


def _check_cases(
    num_cases: int,
    labels: np.ndarray,
    answers: np.ndarray,
    ids: Texts,
    class_names: tuple[str, ...],
    expert_names: tuple[str, ...],
) -> None:
    if num_cases == 0:
        raise ValueError("there must be at least one case, got 0")
    require_shape("labels", labels, (num_cases,))
    require_shape("answers", answers, (num_cases, len(expert_names)))
    if len(ids) != num_cases:
        raise ValueError(f"ids must name each of the {num_cases} cases, got {len(ids)}")
    for name, values, low in (("labels", labels, 0), ("answers", answers, -1)):
        if not np.issubdtype(values.dtype, np.integer):
            raise ValueError(f"{name} must be whole numbers, got {values.dtype}")
        require_range(name, values, low, len(class_names) - 1, ids)
