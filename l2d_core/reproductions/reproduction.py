"""A reproduced result of the paper: rows of numbers with the paper's beside ours, and how they were made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from l2d_core.calibration.intervals import student_t
from l2d_core.reproductions.findings import Finding

COLUMNS = (
    "setting",
    "surrogate",
    "estimator",
    "measure",
    "mean",
    "standard_error",
    "half_width",
    "n",
    "seeds",
    "paper",
)


@dataclass(frozen=True)
class Reproduction:
    """A result of the paper. table: one row per number, with COLUMNS; details: more tables, by name.

    For whole networks, the detail table "trainings" has one row per run: setting, surrogate, seed, epochs, seconds,
    device. mean is over seeds, half_width is that of its 95 % interval, n the number of cases behind one seed's number,
    paper the paper's number where it gives one; shares are in 0..1. notes: how it differs from the paper. findings:
    computed from the numbers. seconds: wall time, without trainings done before.
    """

    title: str
    table: pd.DataFrame
    details: Mapping[str, pd.DataFrame]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    seconds: float


def row(setting: str, measured: Mapping[str, Any], paper: float | None = None) -> dict[str, Any]:
    """One row of a table, from a row of `summarise` or a dict with the same keys."""
    half_width, seeds = measured["half_width"], measured["seeds"]
    error = None if half_width is None else half_width / student_t(seeds)
    return {
        "setting": setting,
        **{name: measured[name] for name in ("surrogate", "estimator", "measure", "mean")},
        "standard_error": error,
        "half_width": half_width,
        "n": measured["n"],
        "seeds": seeds,
        "paper": paper,
    }


def say_trainings(result: Reproduction) -> str:
    """The number of trained networks, with epochs, times and devices; "" for a result of heads."""
    table = result.details.get("trainings")
    if table is None or table.empty:
        return ""
    least, most = (f"{value:,.0f}" for value in (table["seconds"].min(), table["seconds"].max()))
    took = least if least == most else f"{least} to {most}"
    epochs = sorted({int(number) for number in table["epochs"]})
    passes = f"{epochs[0]} to {epochs[-1]}" if len(epochs) > 1 else f"{epochs[0]}"
    devices = ", ".join(dict.fromkeys(str(name) for name in table["device"]))
    word = "epoch" if epochs == [1] else "epochs"
    return f"{len(table)} networks, each trained for {passes} {word} in {took} s on {devices}"


def as_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows as a table, in which a missing number stays None."""
    return pd.DataFrame([dict(one) for one in rows], columns=list(COLUMNS), dtype=object).astype(
        {"n": float, "seeds": int}
    )
