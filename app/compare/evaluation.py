"""A comparison at one cost and budget, with one choice of estimates: its tables and charts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from app.compare import charts as compare_charts
from app.compare import numbers as compare_numbers
from app.compare.board import Comparison, EstimateSettings
from app.compare.cases import Filter
from app.compare.numbers import Numbers
from app.kit import charts, corp_chart
from app.kit.looks import GREY, Look, looks_of
from app.kit.numbers import bins_in_words
from l2d_core.calibration.binned import without_above_one
from l2d_core.comparison import estimates
from l2d_core.comparison.difference import accuracy_difference
from l2d_core.comparison.systems import scores_of
from l2d_core.evaluation.accuracy import class_table
from l2d_core.evaluation.estimator_view import EstimatorView

CURVES = {"own": "system_accuracy", "optimal": "optimal", "random": "random"}
COVERAGE_AXES = ("coverage: share of cases that the machine keeps", "system accuracy")
BUDGET_AXES = ("budget: share of cases that may be deferred", "accuracy less the cost")
NO_MARKS = pd.DataFrame({"id": pd.Series(dtype=str), "probability": [], "expert_right": []}, dtype=float)


@dataclass(frozen=True)
class Evaluation:
    """base: index of the system that the others are compared with; chosen: filter of the cases; marked: rows that are
    marked in the charts.
    """

    comparison: Comparison
    settings: EstimateSettings
    cost: float
    budget: float
    base: int = 0
    chosen: Filter = field(default_factory=Filter)
    marked: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @cached_property
    def looks(self) -> list[Look]:
        systems = self.comparison.systems
        return looks_of([one.test.surrogate for one in systems], [one.name for one in systems])

    @cached_property
    def names(self) -> list[str]:
        return [look.title for look in self.looks]

    @cached_property
    def views(self) -> list[EstimatorView]:
        return [self.comparison.view(place, self.settings) for place in range(len(self.comparison.systems))]

    @cached_property
    def deferred(self) -> list[np.ndarray]:
        return [estimates.decide(one, cost=self.cost, budget=self.budget) for one in self.views]

    @cached_property
    def shares(self) -> list[np.ndarray]:
        return [estimates.decide_in_shares(one, cost=self.cost, budget=self.budget) for one in self.views]

    @cached_property
    def numbers(self) -> list[Numbers]:
        """All measures of each system, expected values where the budget cuts a tie."""
        how = {"cost": self.cost, "bins": self.settings.bins, "strategy": self.settings.strategy}
        return [
            estimates.key_numbers(view, shares, **how) | self.comparison.calibration(place, self.settings)
            for place, (view, shares) in enumerate(zip(self.views, self.shares, strict=True))
        ]

    @property
    def bins(self) -> str:
        """The bins of the ECE, in words."""
        return bins_in_words(self.settings.bins, self.settings.strategy)

    @cached_property
    def before(self) -> list[Numbers | None]:
        """The numbers of recalibrated systems without recalibration; None for the others."""
        if all(one.recalibration.method == "none" for one in self.views):
            return [None] * len(self.views)
        is_new = [one.recalibration.method != "none" for one in self.views]
        return [one if new else None for one, new in zip(self.uncorrected.numbers, is_new, strict=True)]

    @cached_property
    def uncorrected(self) -> "Evaluation":
        """The same without recalibration."""
        return replace(self, settings=replace(self.settings, recalibration="none"))

    @cached_property
    def harms(self) -> list[str]:
        """What recalibration makes worse, as plain text, one line per system."""
        return [line for place, old in enumerate(self.before) if old and (line := self._harm(place, old))]

    def _harm(self, place: int, old: Numbers) -> str:
        new, worse = self.numbers[place], []
        if compare_numbers.falls(old["system"], new["system"]) and self.comparison.has_labels:
            sides = [(one.views[place], one.shares[place]) for one in (self.uncorrected, self)]
            (first, first_deferred), (other, other_deferred) = sides
            found = accuracy_difference(first, other, first_deferred, other_deferred)
            worse.append(compare_numbers.lost_accuracy(old["system"], new["system"], found))
        if compare_numbers.falls(new["ece"], old["ece"]):
            worse.append(compare_numbers.changed("ece", old["ece"], new["ece"]))
        if not worse:
            return ""
        worse.append(compare_numbers.changed("coverage", old["coverage"], new["coverage"]))
        return f"Recalibration makes {self.names[place]} worse on these test cases. {'; '.join(worse)}."

    @cached_property
    def corrections(self) -> list[str]:
        """How each system is recalibrated, or why it is not, as plain text."""
        if self.settings.recalibration == "none":
            return [one.recalibration.describe() for one in self.views]
        problems = [self.comparison.why_not_recalibrated(place) for place in range(len(self.views))]
        return [
            f"as it is, since {problem}" if problem else one.recalibration.describe()
            for one, problem in zip(self.views, problems, strict=True)
        ]

    @cached_property
    def experts(self) -> dict[str, list[int]]:
        """Title of each distinct expert -> indices of the systems that ask it.

        Experts are the same if they are right in the same cases.
        """
        groups: list[list[int]] = []
        for place, one in enumerate(self.views):
            right = one.expert_correct
            known = [group for group in groups if np.array_equal(self.views[group[0]].expert_correct, right)]
            known[0].append(place) if known else groups.append([place])
        if len(groups) == 1:
            return {"expert alone": groups[0]}
        return {f"expert alone ({', '.join(self.names[k] for k in group)})": group for group in groups}

    @cached_property
    def differences(self) -> list[str]:
        """Each other system compared with the base, as plain text."""
        others = [place for place in range(len(self.views)) if place != self.base]
        return [line for place in others for line in self._differences_of(place)]

    def _differences_of(self, place: int) -> list[str]:
        names = self.names[self.base], self.names[place]
        lines = []
        if self.comparison.has_labels:
            first, first_deferred = self.views[self.base], self.shares[self.base]
            found = accuracy_difference(first, self.views[place], first_deferred, self.shares[place])
            lines.append(compare_numbers.accuracy_words(*names, found))
        found = self.comparison.calibration_difference(self.base, place, self.settings)
        return [*lines, compare_numbers.calibration_words(*names, found)]

    @cached_property
    def reliability(self) -> dict[str, pd.DataFrame]:
        return {name: self.comparison.reliability(k, self.settings) for k, name in enumerate(self.names)}

    @cached_property
    def corp(self) -> dict[str, pd.DataFrame]:
        return {name: self.comparison.corp(k, self.settings) for k, name in enumerate(self.names)}

    @cached_property
    def risk(self) -> dict[str, pd.DataFrame]:
        return {name: self.comparison.risk(k, self.settings, self.deferred[k]) for k, name in enumerate(self.names)}

    @cached_property
    def coverage(self) -> dict[str, pd.DataFrame]:
        return {name: self.comparison.coverage_curve(k, self.settings) for k, name in enumerate(self.names)}

    @cached_property
    def budgets(self) -> dict[str, pd.DataFrame]:
        curves = (estimates.budget_curve(one, cost=self.cost) for one in self.views)
        return dict(zip(self.names, curves, strict=True))

    @cached_property
    def classes(self) -> dict[str, pd.DataFrame]:
        systems = zip(self.names, self.comparison.systems, self.deferred, strict=True)
        return {name: class_table(scores_of(system), deferred) for name, system, deferred in systems}

    @cached_property
    def confusion(self) -> dict[str, pd.DataFrame]:
        pairs = zip(self.views, self.deferred, strict=True)
        return {name: estimates.confusion(*pair) for name, pair in zip(self.names, pairs, strict=True)}

    def _marks(self, place: int) -> pd.DataFrame:
        if len(self.marked) == 0:
            return NO_MARKS
        found = self.cases(place, self.marked)[["id", "probability"]]
        return found.assign(expert_right=self.views[place].expert_correct[self.marked])

    def cases(self, place: int, rows: np.ndarray) -> pd.DataFrame:
        """`estimates.cases` of a system."""
        return estimates.cases(self.comparison.systems[place], self.views[place], self.deferred[place], rows)

    def reliability_chart(self, place: int) -> charts.Spec:
        """In bins, or without."""
        if self.settings.diagram == "corp":
            tables = self.corp[self.names[place]], self.reliability[self.names[place]]
            return corp_chart.corp(*tables, replace(self.looks[place], title=""))
        above = self.comparison.above_one(place, self.settings)
        bounded = self.comparison.is_bounded(place, self.settings)
        table = self._drawn[place]
        edges = zip(table["low"], table["high"], strict=True)
        is_chosen = [place == self.chosen.place and self.chosen.is_bin(*pair, table["low"].iloc[0]) for pair in edges]
        table = table.assign(chosen=is_chosen)
        marks, look = self._marks(place), self.looks[place]
        return compare_charts.reliability(table, above, marks, look, is_bounded=bounded, most=self._most_cases)

    @cached_property
    def _most_cases(self) -> float:
        """What the bars of counts are drawn to scale with in all reliability diagrams, so that they can be compared."""
        above = [self.comparison.above_one(place, self.settings) for place in range(len(self.names))]
        return charts.most_cases(self._drawn, above)

    @cached_property
    def _drawn(self) -> list[pd.DataFrame]:
        """The reliability tables without the cases above 1, which the charts draw apart."""
        pairs = (
            (table, self.comparison.above_one(k, self.settings)) for k, table in enumerate(self.reliability.values())
        )
        return [without_above_one(*pair) for pair in pairs]

    def risk_chart(self, place: int) -> charts.Spec:
        bounded = self.comparison.is_bounded(place, self.settings)
        table = self.risk[self.names[place]]
        return compare_charts.risk(table, self._marks(place), self.looks[place], is_bounded=bounded, top=self._top_risk)

    @cached_property
    def _top_risk(self) -> float:
        """Where the axis of shares ends in all histograms of risk, so that they can be compared."""
        highest = max(float(table["share"].max()) for table in self.risk.values())
        return math.ceil(20 * highest) / 20

    def coverage_chart(self) -> charts.Spec:
        lines = [
            {"x": part["coverage"], "y": part[column], "system": name, "kind": kind}
            for name, part in self.coverage.items()
            for kind, column in CURVES.items()
        ]
        return self._curves(lines, "coverage", "system", self._expert_rules(), COVERAGE_AXES)

    def _expert_rules(self) -> list[tuple]:
        """Accuracy, title and colour of each expert alone, and whether the title is above the line."""
        found = [(self.numbers[group[0]]["expert_alone"].value, text, group) for text, group in self.experts.items()]
        highest = max(value for value, *_ in found)
        return [
            (value, text, self.looks[group[0]].color if len(group) == 1 < len(self.views) else GREY, value == highest)
            for value, text, group in found
        ]

    def budget_chart(self) -> charts.Spec:
        lines = [
            {"x": part["budget"], "y": part["value"], "system": name, "kind": "own"}
            for name, part in self.budgets.items()
        ]
        return self._curves(lines, None, "value", [], BUDGET_AXES)

    def _curves(
        self, lines: list[Mapping], x: str | None, y: str, rules: list[tuple], axes: tuple[str, str]
    ) -> charts.Spec:
        """Curves with the operating point of each system, at its number x, or at the budget if x is None."""
        points = [
            (name, self.budget if x is None else one[x].value, one[y].value)
            for name, one in zip(self.names, self.numbers, strict=True)
        ]
        tables = (
            charts.stacked(lines),
            charts.columns_of(("system", "x", "y"), points),
            charts.columns_of(("y", "text", "color", "above"), rules),
        )
        return compare_charts.curves(*tables, self.looks, axes)
