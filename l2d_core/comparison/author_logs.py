"""Outputs in the format that the paper's authors log: probabilities per case, and whether the expert was right."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from l2d_core.common.checks import require_known, require_range
from l2d_core.comparison.mapped_tables import logits_of_probabilities
from l2d_core.comparison.table_files import MAX_BYTES
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.surrogates import SURROGATES


@dataclass(frozen=True)
class LoggedOutputs:
    """Outputs without labels. logits (N, K+1); expert_correct (N,) bool; surrogate as in `Scores`.

    left_over: number of values of expert_correct without a case, since the authors log whole batches.
    """

    logits: np.ndarray
    expert_correct: np.ndarray
    surrogate: str
    left_over: int

    @property
    def deferred(self) -> np.ndarray:
        """(N,) bool, the system's own choice."""
        return defer_by_argmax(self.logits)

    def expert_probability(self, estimator: str) -> np.ndarray:
        """(N,), raw: above 1 where the estimator is unbounded. ValueError on an unknown estimator."""
        known = SURROGATES[self.surrogate].estimators
        require_known("estimator", estimator, known)
        return known[estimator](torch.from_numpy(self.logits)).numpy()[:, 0]


def read_logged(
    probabilities: str | os.PathLike | bytes, correct: str | os.PathLike | bytes, *, surrogate: str
) -> LoggedOutputs:
    """Read two JSON files: a list of K+1 probabilities per case, the last one of deferring, and a list of 0 and 1.

    JSON inside a JSON string is read too. The second list may be longer.
    surrogate: "softmax" or "asymmetric_softmax", whose probabilities sum to 1, or "one_vs_all", a sigmoid each.
    ValueError names the file and the row at fault; FileNotFoundError if a file is missing.
    """
    require_known("surrogate", surrogate, SURROGATES)
    of_rows, of_flags = _name(probabilities, "the probabilities"), _name(correct, "the list of 0 and 1")
    rows = _numbers(_read(probabilities, of_rows), of_rows, 2)
    flags = _numbers(_read(correct, of_flags), of_flags, 1)
    if len(flags) < len(rows):
        raise ValueError(f"{of_flags} must be as long as the probabilities, {len(rows):,}, got {len(flags):,}")
    bad = (flags != 0) & (flags != 1)
    if bad.any():
        raise ValueError(f"{of_flags} holds {flags[bad][0]:g} at row {int(bad.argmax())}")
    require_range(of_rows, rows, 0, 1)
    logits = logits_of_probabilities(rows, surrogate)
    return LoggedOutputs(logits, flags[: len(rows)] == 1, surrogate, len(flags) - len(rows))


def _name(source: str | os.PathLike | bytes, what: str) -> str:
    """The name of a file in messages: its path if it has one."""
    return what if isinstance(source, bytes) else os.fspath(source)


def _read(source: str | os.PathLike | bytes, what: str) -> Any:
    if not isinstance(source, bytes):
        size = Path(source).stat().st_size
        if not Path(source).is_file():
            raise ValueError(f"{what} must be a file")
        if size > MAX_BYTES:
            raise ValueError(f"{what} must have at most {MAX_BYTES:,} bytes")
        source = Path(source).read_bytes()
    try:
        content = json.loads(source)
        return json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{what} is no JSON: {problem}") from problem


def _numbers(content: Any, what: str, axes: int) -> np.ndarray:
    try:
        array = np.asarray(content, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"{what} must be a list of numbers, of one length each: {problem}") from problem
    if array.ndim != axes or array.size == 0 or (axes == 2 and array.shape[1] < 3):
        wanted = "rows of K+1 numbers, K at least 2" if axes == 2 else "numbers"
        raise ValueError(f"{what} must be a list of {wanted}, got shape {array.shape}")
    return array
