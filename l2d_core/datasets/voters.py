"""The voters on the cases of a data set as its expert: of each case one of its votes, found by the case's name."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float64, Int64

from l2d_core.common.checks import require_known, require_shape
from l2d_core.data import DeferralData, Splits, Texts
from l2d_core.datasets.votes import draw_votes, right_probability, shares_of

ONE_VOTER = "one_voter"


@dataclass(frozen=True)
class Voters:
    """Who voted on N cases. ids (N,) text, each once; shares (N, K) of the votes, which sum to 1; title: in words."""

    ids: np.ndarray
    shares: np.ndarray
    title: str

    @classmethod
    def of(cls, ids: Texts, votes: np.ndarray, title: str) -> "Voters":
        """From counts or shares of votes (N, K). ValueError where a case is named twice, or nobody has voted on it."""
        ids = np.asarray(ids).astype(str)
        require_shape("ids", ids, (len(votes),))
        names, times = np.unique(ids, return_counts=True)
        if (times > 1).any():
            raise ValueError(f"ids must name each case once, got {names[times.argmax()]} {times.max()} times")
        return cls(ids, shares_of(votes), title)

    def answers(self, ids: Texts, *, generator: np.random.Generator) -> Int64[np.ndarray, " M"]:
        """A vote on each of these cases, (M,): for a generator the same whichever other cases are asked for."""
        return draw_votes(self.shares, generator=generator)[self._rows(ids)]

    def right(self, ids: Texts, labels: np.ndarray) -> Float64[np.ndarray, " M"]:
        """P(m = y | x) of these cases with these labels, (M,)."""
        return right_probability(self.shares[self._rows(ids)], labels)

    def ask(self, splits: Splits, name: str, *, generator: np.random.Generator) -> Splits:
        """The splits with a vote on each case, and who voted as the expert. name must be ONE_VOTER."""
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
