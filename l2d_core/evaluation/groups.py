"""Who is served worse: each measure of a system by group, raw and with every group's mix of strata made the same.

All measures are means over cases, so that the n-weighted mean of the raw group values is the value over all cases.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from l2d_core.calibration.binned import calibration_error, calibration_error_by_chance
from l2d_core.common.checks import require_range, require_shape
from l2d_core.evaluation.probabilities import clip_probability

MEASURES = ("deferred", "machine", "expert", "system", "estimate", "overestimate")
RESAMPLES, INTERVAL = 1_000, (0.025, 0.975)


@dataclass(frozen=True)
class Cases:
    """What groups are compared by, of N cases.

    machine_correct, expert_correct, deferred: (N,) bool. probability: the estimate of P(the expert is right), (N,),
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
        require_shape("probability", self.probability, (None,))
        for name in ("machine_correct", "expert_correct", "deferred", "strata", "clusters"):
            require_shape(name, getattr(self, name), self.probability.shape)
        require_range("probability", self.probability, 0, np.inf)

    def values(self) -> np.ndarray:
        """What the MEASURES average, (N, 6) float64: overestimate is the clipped estimate less whether it came true."""
        estimate = clip_probability(self.probability)
        system = np.where(self.deferred, self.expert_correct, self.machine_correct)
        columns = (self.deferred, self.machine_correct, self.expert_correct, system, estimate)
        return np.column_stack([*columns, estimate - self.expert_correct]).astype(np.float64)


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
    calibrated estimate would show on average.

    standardise: each group's strata are weighted as they are among all cases (direct standardisation), those that the
    group lacks left out; ece and ece_by_chance stay raw. NaN where a resample leaves nothing is ignored.
    ValueError on a wrong shape.
    """
    require_shape("groups", groups, cases.probability.shape)
    names, member = np.unique(groups, return_inverse=True)
    values, weights = cases.values(), _cluster_weights(cases.clusters, resamples, generator)
    rows = []
    for place, name in enumerate(["all", *names]):
        chosen = np.ones(len(groups), dtype=bool) if place == 0 else member == place - 1
        means = _means(values, weights, chosen, cases.strata if standardise else None)
        rows.append({"group": str(name), **_counts(cases, chosen), **_with_intervals(means), **_ece(cases, chosen)})
    return pd.DataFrame(rows)


def _cluster_weights(clusters: np.ndarray, resamples: int, generator: np.random.Generator) -> np.ndarray:
    """How often each case counts, (1 + resamples, N): once in the first row, then as often as its cluster is drawn."""
    names, member = np.unique(clusters, return_inverse=True)
    drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    return np.concatenate([np.ones((1, len(clusters))), drawn[:, member]])


def _means(values: np.ndarray, weights: np.ndarray, chosen: np.ndarray, strata: np.ndarray | None) -> np.ndarray:
    """The weighted means over the chosen cases, (1 + resamples, 6); with strata, each at its share of all cases."""
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
    probability = clip_probability(cases.probability[chosen])
    return {
        "ece": calibration_error(probability, cases.expert_correct[chosen]),
        "ece_by_chance": calibration_error_by_chance(probability),
    }
