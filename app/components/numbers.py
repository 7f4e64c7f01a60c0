"""How numbers are written: percent with an interval and the n they rest on; never NaN."""

import pandas as pd

from l2d_core.comparison import MEASURES


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction in percent, or "n/a"."""
    return "n/a" if value is None else f"{100 * value:.{digits}f} %"


def cell(row: pd.Series) -> str:
    """Mean, half width of the interval and n of one row of `comparison.summarise`."""
    return f"{estimate(row)} (n = {count(row['n'])})"


def estimate(row: pd.Series) -> str:
    """Mean and half width of one row of `comparison.summarise`, in the measure's own unit."""
    measure = MEASURES[row["measure"]]
    if row["mean"] is None:
        return "n/a"
    scale, digits, unit = (100, 1, " %") if measure.percent else (1, 4, "")
    interval = "" if row["half_width"] is None else f" ± {scale * row['half_width']:.{digits}f}"
    return f"{scale * row['mean']:.{digits}f}{interval}{unit}"


def count(n: float) -> str:
    """A number of cases; one decimal where it is a mean over seeds."""
    return f"{n:,.0f}" if float(n).is_integer() else f"{n:,.1f}"
