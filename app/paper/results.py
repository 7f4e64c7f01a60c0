"""The shipped results of the paper: where they are, whether one is valid, and the command that makes one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from app.kit.looks import ESTIMATORS, SYSTEMS
from app.paper.words import METHODS, RULES
from l2d_core.common.paths import PROGRAM
from l2d_core.reproductions.stored import MANIFEST, StoredReproduction, read_reproduction

FOLDER = "pretrained/paper"  # relative to the program
ROOT = PROGRAM / FOLDER
# The names that the command line takes, in the order of the paper, and what a page calls them.
TITLES = {
    "figure1": "Figure 1: softmax odds above 1",
    "figure2": "Figure 2: reliability and risk",
    "table1": "Table 1: calibration error of the estimates",
    "classifier_ece": "Appendix: calibration error of the classifier",
    "k": "Accuracy against the number of known classes",
    "coverage": "Accuracy against coverage",
    "ham10000": "HAM10000: predicted risk of deferring",
    "budgets": "Error against budget",
    "temperature": "Temperature scaling",
    "answers": "How answers are drawn",
}


@dataclass(frozen=True)
class Scale:
    """title: on the control; words: what is trained."""

    title: str
    words: str


SCALES = {
    "quick": Scale("Quick", "small heads on shipped features"),
    "cpu": Scale("CPU", "whole small networks"),
    "paper": Scale("Paper", "wide residual networks as the paper's authors ran them"),
}
ONLY_QUICK = frozenset({"ham10000", "answers"})
# Result -> detail table -> the columns that its figure draws.
DETAILS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "figure1": {"histogram": ("setting", "estimator", "low", "high", "share")},
    "figure2": {
        "reliability": (
            *("setting", "estimator", "low", "high", "n", "mean_probability", "share_correct", "gap"),
            *("interval_low", "interval_high", "band_low", "band_high", "cases", "cases_right"),
        ),
        "above_one": ("setting", "estimator", "share_correct", "cases", "cases_right"),
        "risk_histograms": ("setting", "estimator", "low", "high", "share"),
    },
    "table1": {"proxy_at_optimum": ("setting", "expert_alone", "proxy_ece_at_optimum", "proxy_ece")},
    "classifier_ece": {"confidence": ("setting", "surrogate", "confidence", "accuracy")},
    "k": {"curve": ("k", "surrogate", "mean", "half_width", "n", "seeds")},
    "coverage": {
        "points": ("k", "surrogate", "coverage", "mean", "half_width", "n", "seeds"),
        "curves": ("system", "order", "coverage", "surrogate", "measure", "mean", "half_width", "n", "seeds"),
    },
    "ham10000": {
        "classes": ("setting", "surrogate", "class", "n", "machine_alone", "expert_alone", "deferred", "system"),
        "risk_histograms": ("setting", "estimator", "low", "high", "share"),
    },
    "budgets": {"curves": ("dataset", "method", "rule", "budget", "error", "half_width", "deferred", "n", "seeds")},
    "temperature": {"temperatures": ("setting", "rule", "seed", "temperature", "log_loss")},
    "answers": {},
}
_TEXTS = {"setting", "system", "class", "dataset", "order", "measure"}
_KNOWN = {
    "estimator": {*ESTIMATORS, "true"},
    "surrogate": set(SYSTEMS),
    "method": set(METHODS),
}
_MAYBE_EMPTY = {"above_one"}  # if no estimate is above 1
_ENDLESS = {"low", "high"}  # a bin may be unbounded


def scales_of(name: str) -> list[str]:
    """The scales at which a result can be made."""
    return ["quick"] if name in ONLY_QUICK else list(SCALES)


def is_there(scale: str, name: str) -> bool:
    """Whether a result has been made at a scale."""
    return (ROOT / scale / name / MANIFEST).is_file()


def command(scale: str, name: str) -> str:
    """The command that makes it, to be run in the folder of the program."""
    data = "" if scale == "quick" else " --data-root DIR"
    return f"python -m l2d_core reproduce {name} --scale {scale} --out {FOLDER}/{scale}{data}"


def load(scale: str, name: str) -> StoredReproduction:
    """A result with all that its figure needs. OSError or ValueError says what is missing or wrong, without a path."""
    try:
        stored = read_reproduction(ROOT / scale / name)
    except OSError as problem:
        raise OSError(f"{Path(problem.filename or '').name or 'a file'} cannot be read: {problem.strerror}") from None
    except ValueError as problem:
        raise ValueError(str(problem).replace(f"{ROOT}/", "")) from None
    about = (stored.manifest.name, stored.manifest.scale)
    if about != (name, scale):
        raise ValueError(
            f"the manifest must be of {name} at the scale {scale}, it is of {' at the scale '.join(about)}"
        )
    for table, columns in DETAILS[name].items():
        _check(table, stored.result.details.get(table), columns)
    return stored


def _check(name: str, table: pd.DataFrame | None, columns: tuple[str, ...]) -> None:
    """Raise ValueError where a table lacks what its chart draws, or has values that cannot be drawn."""
    if table is None:
        raise ValueError(f"the table {name} is missing")
    missing = [column for column in columns if column not in table]
    if name in _MAYBE_EMPTY and table.empty and not missing:
        return
    if missing or table.empty:
        raise ValueError(f"the table {name} must have rows and the columns {', '.join(missing or columns)}")
    for column in columns:
        if column in _KNOWN:
            _check_names(name, column, table[column])
        elif column not in _TEXTS and column != "rule":
            _check_numbers(name, column, table[column])
    if "method" in columns and not set(table["rule"]) <= set(RULES):
        raise ValueError(f"rule in the table {name} must be one of {', '.join(RULES)}")


def _check_names(name: str, column: str, values: pd.Series) -> None:
    unknown = sorted({str(value) for value in values} - _KNOWN[column])
    if unknown:
        known = ", ".join(sorted(_KNOWN[column]))
        raise ValueError(f"{column} in the table {name} must be one of {known}, got {unknown[0]!r}")


def _check_numbers(name: str, column: str, values: pd.Series) -> None:
    if not pd.api.types.is_numeric_dtype(values):
        raise ValueError(f"{column} in the table {name} must hold numbers")
    if column not in _ENDLESS and np.isinf(values.to_numpy(dtype=float)).any():
        raise ValueError(f"{column} in the table {name} must be finite")
