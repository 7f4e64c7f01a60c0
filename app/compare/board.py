"""The systems that are compared, on the same test cases, with the results computed so far."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from app.jobs.runs import load_system
from app.kit import groups
from l2d_core.comparison import estimates
from l2d_core.comparison.author_logs import LoggedOutputs
from l2d_core.comparison.difference import Difference, calibration_difference
from l2d_core.comparison.systems import System, align, scores_of
from l2d_core.datasets.ham10000.values import CLASS_NAMES as LESIONS
from l2d_core.evaluation import estimator_view
from l2d_core.evaluation.accuracy import Statistic
from l2d_core.evaluation.estimator_view import EstimatorView
from l2d_core.evaluation.probabilities import clip_probability
from l2d_core.evaluation.summary import calibration_measures
from l2d_core.surrogates import SURROGATES

BOUNDED = ("platt", "isotonic", "venn_abers")  # recalibrations whose estimates never exceed 1
TABLES_KEPT = 200
WHERE = {"shipped": "shipped", "run": "this machine", "upload": "upload"}
VIEWS_KEPT = 12  # each with (N,) arrays, N up to a million


@dataclass(frozen=True)
class EstimateSettings:
    """How estimates are shown: all settings that do not depend on the cost of asking.

    estimate: of softmax systems, "odds" or "proxy"; recalibration: a name in RECALIBRATIONS; diagram: of reliability,
    "binned" or "corp".
    """

    bins: int = 15
    strategy: str = "equal_width"
    recalibration: str = "none"
    estimate: str = "odds"
    diagram: str = "binned"


class Comparison:
    """One to six aligned systems; ValueError as in `align`.

    notes: what was left out; has_labels: False for logged outputs.
    """

    def __init__(self, systems: Sequence[System]) -> None:
        aligned, self.notes = align(_with_own_names(systems))
        self.systems = tuple(aligned)
        self.has_labels = not any(isinstance(one.test, LoggedOutputs) for one in self.systems)
        self._views, self._tables = _Memory(VIEWS_KEPT), _Memory(TABLES_KEPT)

    @property
    def num_cases(self) -> int:
        """The number of test cases that all systems share."""
        return len(self.view(0, EstimateSettings()))

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes; empty for logged outputs."""
        test = self.systems[0].test
        return () if isinstance(test, LoggedOutputs) else test.class_names

    @cached_property
    def cases_known_by(self) -> pd.DataFrame:
        """What is known of the compared cases beside the scores: columns that a system brings, or HAM10000's."""
        ids = scores_of(self.systems[0]).ids
        brought = [one.columns.reset_index(drop=True) for one in self.systems if one.columns is not None]
        shipped = groups.known_of_lesions(ids) if self.is_medical else None
        tables = brought if shipped is None else [*brought, shipped.reset_index(drop=True)]
        found = pd.concat(tables, axis=1) if tables else pd.DataFrame(index=range(len(ids)))
        return found.loc[:, ~found.columns.duplicated()]

    @property
    def is_medical(self) -> bool:
        """Whether the cases are skin lesions."""
        named = any((one.settings or {}).get("dataset") == "ham10000" for one in self.systems)
        return named or self.class_names == LESIONS

    @property
    def has_choice(self) -> bool:
        """Whether any system has more than one estimator."""
        return any(len(SURROGATES[one.test.surrogate].estimators) > 1 for one in self.systems)

    def view(self, place: int, settings: EstimateSettings) -> EstimatorView:
        """A system's estimator on the compared cases, without recalibration where that is not possible."""
        system = self.systems[place]
        known = SURROGATES[system.test.surrogate].estimators
        estimator = settings.estimate if settings.estimate in known else next(iter(known))
        method = "none" if self.why_not_recalibrated(place) else settings.recalibration
        return self._views.get(
            (place, estimator, method),
            lambda: estimates.view_system(system, estimator=estimator, recalibration=method),
        )

    def why_not_recalibrated(self, place: int) -> str:
        """Why a system cannot be recalibrated; "" if it can."""
        validation = self.systems[place].validation
        if isinstance(self.systems[place].test, LoggedOutputs):
            return "logged outputs have no validation scores to fit on"
        if validation is None:
            return "it has no validation scores to fit on"
        return "" if (validation.answers >= 0).any() else "no expert has answered its validation cases"

    def is_bounded(self, place: int, settings: EstimateSettings) -> bool:
        """Whether no estimate with these settings can exceed 1."""
        view = self.view(place, settings)
        return SURROGATES[view.surrogate].is_bounded[view.estimator] or view.recalibration.method in BOUNDED

    def reliability(self, place: int, settings: EstimateSettings) -> pd.DataFrame:
        """`estimator_view.reliability`."""
        view = self.view(place, settings)
        return self._tables.get(
            ("reliability", place, settings),
            lambda: estimator_view.reliability(view, bins=settings.bins, strategy=settings.strategy),
        )

    def corp(self, place: int, settings: EstimateSettings) -> pd.DataFrame:
        """`estimator_view.corp`."""
        view = self.view(place, settings)
        key = ("corp", place, settings.estimate, settings.recalibration)
        return self._tables.get(key, lambda: estimator_view.corp(view))

    def calibration(self, place: int, settings: EstimateSettings) -> dict[str, Statistic]:
        """`summary.calibration_measures` with their n."""
        view, how = self.view(place, settings), {"bins": settings.bins, "strategy": settings.strategy}
        found = self._tables.get(
            ("measures", place, settings),
            lambda: calibration_measures(clip_probability(view.probability), view.expert_correct, **how),
        )
        return {name: Statistic(value, len(view)) for name, value in found.items()}

    def above_one(self, place: int, settings: EstimateSettings) -> pd.DataFrame:
        """`estimator_view.above_one`: one row with share_correct, cases and cases_right, or none."""
        view = self.view(place, settings)
        return self._tables.get(("above", place, settings), lambda: estimator_view.above_one(view))

    def coverage_curve(self, place: int, settings: EstimateSettings) -> pd.DataFrame:
        """`estimator_view.coverage_curve`."""
        return self._tables.get(
            ("coverage", place, settings), lambda: estimator_view.coverage_curve(self.view(place, settings))
        )

    def calibration_difference(self, first: int, other: int, settings: EstimateSettings) -> Difference:
        """`difference.calibration_difference`."""
        views = [self.view(place, settings) for place in (first, other)]
        return self._tables.get(
            ("calibration", first, other, settings),
            lambda: calibration_difference(*views, bins=settings.bins, strategy=settings.strategy),
        )

    def risk(self, place: int, settings: EstimateSettings, deferred: np.ndarray) -> pd.DataFrame:
        """`estimator_view.risk_histogram` with a first bin for risks below 0, and with share_deferred."""
        view = self.view(place, settings)
        risk = 1 - view.probability
        whole = self._tables.get(
            ("risk", place, settings), lambda: estimator_view.risk_histogram(risk, below_zero=True)
        )
        asked = estimator_view.risk_histogram(risk[deferred], below_zero=True, of=len(risk))
        return whole.assign(share_deferred=asked["share"].to_numpy())


def _with_own_names(systems: Sequence[System]) -> list[System]:
    """The systems with unique names: equal ones get the word for their origin, or a number."""
    named: list[System] = []
    for system in systems:
        taken, name, count = {one.name for one in named}, system.name, 2
        if name in taken:
            name = f"{system.name}, {WHERE[system.origin]}"
        while name in taken:
            name, count = f"{system.name} ({count})", count + 1
        named.append(replace(system, name=name))
    return named


class _Memory:
    """A least-recently-used cache; threads that share it wait for each other."""

    def __init__(self, size: int) -> None:
        self._size, self._kept, self._lock = size, OrderedDict[Hashable, Any](), threading.RLock()

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = compute()
                while len(self._kept) > self._size:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def compare_system(row: dict) -> System:
    """The system in a row of the table of runs; ValueError if it cannot be read."""
    return _compare_system(row["key"], row["changed"], row)


@st.cache_resource(max_entries=24, show_spinner=False)
def _compare_system(key: str, changed: float, _row: dict) -> System:  # noqa: ARG001 (the key of the cache)
    return load_system(_row)


@st.cache_resource(max_entries=8, show_spinner=False)
def comparison(version: tuple, _rows: list[dict]) -> Comparison:  # noqa: ARG001 (the key of the cache)
    """The comparison of these rows, shared by all sessions; ValueError if they cannot be compared."""
    return Comparison([compare_system(row) for row in _rows])
