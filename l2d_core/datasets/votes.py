"""Cases with many votes: the majority is the label, and one voter, drawn at random for each case, is the expert.

P(the expert is right | case) is therefore known exactly: it is the label's share of the votes.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64

from l2d_core.common.checks import require_known, require_range, require_shape
from l2d_core.data import DeferralData, Splits, Texts
from l2d_core.datasets.facts import ONE_VOTER

SUM_TOLERANCE = 1e-6


def shares_of(counts: np.ndarray) -> Float64[np.ndarray, "N K"]:
    """Counts of votes (N, K), or unnormalised shares, as shares that sum to 1.

    ValueError names the row where a count is negative or not finite, or where nobody has voted.
    """
    counts = np.asarray(counts, dtype=np.float64)
    require_shape("counts", counts, (None, None))
    require_range("counts", counts, 0, np.finfo(np.float64).max)
    sums = counts.sum(axis=1)
    if not sums.all():
        raise ValueError(f"counts must hold at least one vote a case, got none at row {int((sums == 0).argmax())}")
    return counts / sums[:, None]


def majority(shares: Float[np.ndarray, "N K"]) -> Int64[np.ndarray, " N"]:
    """The class with most votes, (N,); the first of equals."""
    return shares.argmax(axis=1)


def draw_votes(shares: Float[np.ndarray, "N K"], *, generator: np.random.Generator) -> Int64[np.ndarray, " N"]:
    """One vote per case, (N,), drawn from shares (N, K) whose rows sum to 1. ValueError names a row that does not."""
    _check(shares)
    upper = shares.cumsum(axis=1)
    # Divided by the last column, which becomes exactly 1, so that no class without a vote is ever drawn.
    return (generator.random(len(shares))[:, None] >= upper / upper[:, -1:]).sum(axis=1)


def expert_probability(shares: Float[np.ndarray, "N K"], labels: Int64[np.ndarray, " N"]) -> Float64[np.ndarray, " N"]:
    """P(m = y | x) for an expert who answers by `draw_votes`: the label's share. shares (N, K), labels (N,)."""
    _check(shares)
    require_range("labels", labels, 0, shares.shape[1] - 1)
    return shares[np.arange(len(labels)), labels].astype(np.float64)


def _check(shares: np.ndarray) -> None:
    require_range("shares", shares, 0, 1 + SUM_TOLERANCE)
    off = np.abs(shares.sum(axis=1) - 1) > SUM_TOLERANCE
    if off.any():
        row = int(off.argmax())
        raise ValueError(f"shares must sum to 1 in each row, got {shares[row].sum():.6g} at row {row}")


@dataclass(frozen=True)
class Voters:
    """The votes on N cases, found by id. ids (N,) text, unique; shares (N, K), which sum to 1; title: of the voters."""

    ids: np.ndarray
    shares: np.ndarray
    title: str

    @classmethod
    def of(cls, ids: Texts, votes: np.ndarray, title: str) -> "Voters":
        """From counts or shares of votes (N, K). ValueError on an id that occurs twice, or a case without votes."""
        ids = np.asarray(ids).astype(str)
        require_shape("ids", ids, (len(votes),))
        names, times = np.unique(ids, return_counts=True)
        if (times > 1).any():
            raise ValueError(f"ids must name each case once, got {names[times.argmax()]} {times.max()} times")
        return cls(ids, shares_of(votes), title)

    def answers(self, ids: Texts, *, generator: np.random.Generator) -> Int64[np.ndarray, " M"]:
        """One vote on each of these cases, (M,), drawn by the generator independently of which cases are given."""
        return draw_votes(self.shares, generator=generator)[self._rows(ids)]

    def right(self, ids: Texts, labels: np.ndarray) -> Float64[np.ndarray, " M"]:
        """P(m = y | x) for these cases with these labels, (M,)."""
        return expert_probability(self.shares[self._rows(ids)], labels)

    def ask(self, splits: Splits, name: str, *, generator: np.random.Generator) -> Splits:
        """The splits with one vote on each case as the expert's answer. name must be ONE_VOTER."""
        require_known("the expert's name", name, (ONE_VOTER,))
        if len(splits.train.class_names) != self.shares.shape[1]:
            raise ValueError(f"the votes are on {self.shares.shape[1]} classes, got {len(splits.train.class_names)}")
        drawn = draw_votes(self.shares, generator=generator)

        def answer(data: DeferralData) -> DeferralData:
            answers = torch.from_numpy(drawn[self._rows(data.ids)])
            return replace(data, answers=answers[:, None], expert_names=(self.title,))

        return Splits(answer(splits.train), answer(splits.validation), answer(splits.test))

    def _rows(self, ids: Texts) -> np.ndarray:
        row_of = {name: row for row, name in enumerate(self.ids.tolist())}
        missing = [str(name) for name in ids if str(name) not in row_of]
        if missing:
            raise ValueError(
                f"there are no votes on {len(missing):,} of the {len(ids):,} cases, the first is {missing[0]}"
            )
        return np.array([row_of[str(name)] for name in ids], dtype=np.int64)
