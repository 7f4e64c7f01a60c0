"""Who is served worse: each measure of a system by group, raw and with every group's mix of strata made the same.

All measures are means over cases, so that the n-weighted mean of the raw group values is the value over all cases.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from l2d_core.calibration.binned import calibration_error, calibration_error_by_chance
from l2d_core.common.checks import require_range, require_shape
from l2d_core.evaluation.estimator_view import EstimatorView
from l2d_core.evaluation.probabilities import clip_probability

MEASURES = ("deferred", "machine", "expert", "system", "estimate", "overestimate")
RESAMPLES, INTERVAL = 1_000, (0.025, 0.975)
MAX_CASES = 50_000  # of which a bootstrap takes a few seconds
CHUNK = 5_000_000  # weights of a bootstrap that are in memory at a time


@dataclass(frozen=True)
class Cases:
    """What groups are compared by, of N cases and S seeds.

    machine_correct, expert_correct, deferred: (S, N) bool. probability: the estimate of P(the expert is right), (S, N),
    raw. strata: (N,) text, such as diagnoses, to standardise by. clusters: (N,) text: cases of one cluster, such as
    images of one lesion, are resampled together. ValueError names what does not fit.
    """

    machine_correct: np.ndarray
    expert_correct: np.ndarray
    deferred: np.ndarray
    probability: np.ndarray
    strata: np.ndarray
    clusters: np.ndarray

    def __post_init__(self) -> None:
        require_shape("probability", self.probability, (None, None))
        for name in ("machine_correct", "expert_correct", "deferred"):
            require_shape(name, getattr(self, name), self.probability.shape)
        for name in ("strata", "clusters"):
            require_shape(name, getattr(self, name), self.probability.shape[1:])
        require_range("probability", self.probability, 0, np.inf)

    def __len__(self) -> int:
        return len(self.strata)

    def digest(self) -> str:
        """A text that differs where any value does."""
        parts = (np.ascontiguousarray(getattr(self, one.name)) for one in fields(self))
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()

    def values(self) -> np.ndarray:
        """The MEASURES of each case, (N, 6), means over seeds. overestimate: the clipped estimate less the outcome."""
        estimate = clip_probability(self.probability)
        system = np.where(self.deferred, self.expert_correct, self.machine_correct)
        columns = (self.deferred, self.machine_correct, self.expert_correct, system, estimate)
        return np.stack([*columns, estimate - self.expert_correct], axis=-1, dtype=np.float64).mean(axis=0)


def cases_of(
    views: Sequence[EstimatorView], deferred: Sequence[np.ndarray], *, strata: np.ndarray, clusters: np.ndarray
) -> Cases:
    """The cases of one system: a view and what is deferred, (N,) bool, for each seed; the rest as in `Cases`."""
    return Cases(
        machine_correct=np.stack([one.machine_correct for one in views]),
        expert_correct=np.stack([one.expert_correct for one in views]),
        deferred=np.stack(deferred),
        probability=np.stack([one.probability for one in views]),
        strata=strata,
        clusters=clusters,
    )


def group_table(
    cases: Cases,
    groups: np.ndarray,
    *,
    standardise: bool = False,
    resamples: int = RESAMPLES,
    generator: np.random.Generator,
) -> pd.DataFrame:
    """One row per group, in the order of their names, and a first one, "all".

    groups (N,) text. Columns: group, n, clusters; for each of MEASURES its value, and with _low and _high its 95 %
    interval by a percentile bootstrap over clusters; ece of the estimate in 15 bins, and ece_by_chance, which a
    calibrated estimate would show on average; with several seeds, their means. On samples of known truth, the intervals
    of 30 clusters or more held it in 94 to 96 %, but in 78 % where 95 % of 30 clusters were right.

    standardise: each group's strata are weighted as they are among all cases (direct standardisation), those that the
    group lacks left out; ece and ece_by_chance stay raw. NaN where a resample leaves nothing is ignored.
    ValueError on a wrong shape, or more than MAX_CASES cases.
    """
    require_shape("groups", groups, (len(cases),))
    if len(cases) > MAX_CASES:
        raise ValueError(f"groups are compared for at most {MAX_CASES:,} cases, got {len(cases):,}")
    names, member = np.unique(groups, return_inverse=True)
    parts = {"all": np.ones(len(groups), dtype=bool)} | {str(name): member == k for k, name in enumerate(names)}
    values, strata = cases.values(), cases.strata if standardise else None
    means = [
        [_means(values, weights, chosen, strata) for chosen in parts.values()]
        for weights in _cluster_weights(cases.clusters, resamples, generator)
    ]
    rows = [
        {"group": name, **_counts(cases, chosen), **_with_intervals(np.concatenate(found)), **_ece(cases, chosen)}
        for (name, chosen), found in zip(parts.items(), zip(*means, strict=True), strict=True)
    ]
    return pd.DataFrame(rows)


def _cluster_weights(clusters: np.ndarray, resamples: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """How often each case counts, (rows, N): once in a first array, then as often as its cluster is drawn."""
    names, member = np.unique(clusters, return_inverse=True)
    yield np.ones((1, len(clusters)))
    rows = max(1, CHUNK // len(clusters))
    for done in range(0, resamples, rows):
        drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=min(rows, resamples - done))
        yield drawn[:, member].astype(np.float64)


def _means(values: np.ndarray, weights: np.ndarray, chosen: np.ndarray, strata: np.ndarray | None) -> np.ndarray:
    """The weighted means over the chosen cases, (rows, 6); with strata, each at its share of all cases."""
    if strata is None:
        return _divide(weights[:, chosen] @ values[chosen], weights[:, chosen].sum(axis=1))
    total, mass = np.zeros((len(weights), values.shape[1])), np.zeros(len(weights))
    for name in np.unique(strata):
        inside = strata == name
        here = chosen & inside
        count, share = weights[:, here].sum(axis=1), weights[:, inside].sum(axis=1)
        total += np.where(count[:, None] > 0, share[:, None] * _divide(weights[:, here] @ values[here], count), 0)
        mass += np.where(count > 0, share, 0)
    return _divide(total, mass)


def _divide(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums (B, M) by counts (B,), NaN where a count is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / counts[:, None]


def _counts(cases: Cases, chosen: np.ndarray) -> dict[str, int]:
    return {"n": int(chosen.sum()), "clusters": len(np.unique(cases.clusters[chosen]))}


def _with_intervals(means: np.ndarray) -> dict[str, float]:
    low, high = np.nanquantile(means[1:], INTERVAL, axis=0) if len(means) > 1 else (means[0], means[0])
    columns = {}
    for place, name in enumerate(MEASURES):
        columns |= {name: means[0, place], f"{name}_low": low[place], f"{name}_high": high[place]}
    return {name: float(value) for name, value in columns.items()}


def _ece(cases: Cases, chosen: np.ndarray) -> dict[str, float]:
    probability, correct = clip_probability(cases.probability[:, chosen]), cases.expert_correct[:, chosen]
    pairs = [
        (calibration_error(*one), calibration_error_by_chance(one[0])) for one in zip(probability, correct, strict=True)
    ]
    return dict(zip(("ece", "ece_by_chance"), np.mean(pairs, axis=0).tolist(), strict=True))
