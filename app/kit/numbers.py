"""How numbers are written: percent with an interval and the n they rest on; never NaN."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from l2d_core.evaluation.measures import MEASURES

if TYPE_CHECKING:  # its import takes longer than Home is waited for
    import pandas as pd

Row = Mapping[str, Any]


def rows_of(summary: "pd.DataFrame", by: str) -> dict[tuple[str, str], Row]:
    """The rows of `comparison.summarise` by (estimator or surrogate, measure); of equals the first."""
    rows: dict[tuple[str, str], Row] = {}
    for values in zip(*(summary[name].tolist() for name in summary), strict=True):  # to_dict takes ten times as long
        row = dict(zip(summary, values, strict=True))
        rows.setdefault((row[by], row["measure"]), row)
    return rows


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction in percent, or "n/a"."""
    return "n/a" if value is None else f"{100 * value:.{digits}f} %"


def cell(row: Row) -> str:
    """Mean, half width of the interval and n of one row of `comparison.summarise`."""
    return f"{estimate(row)} (n = {count(row['n'])})"


def estimate(row: Row) -> str:
    """Mean and half width of one row of `comparison.summarise`, in the measure's own unit."""
    measure = MEASURES[row["measure"]]
    if row["mean"] is None:
        return "n/a"
    if row["half_width"] is None:
        return measure.text(row["mean"])
    scale, digits, unit = (100, 1, " %") if measure.percent else (1, 4, "")
    return f"{scale * row['mean']:.{digits}f} ± {scale * row['half_width']:.{digits}f}{unit}"


def p_value(value: float) -> str:
    """A p-value, such as "p = 0.0123" or "p < 0.0001"."""
    found = MEASURES["kuiper_p_value"].text(value)
    return f"p {found}" if found.startswith("<") else f"p = {found}"


def bins_in_words(bins: int, strategy: str) -> str:
    """What an ECE is taken over, such as "15 bins of equal width"."""
    return f"{bins} bins of {strategy.replace('_', ' ')}"


def bins_of_ece(bins: str) -> str:
    """The same in short, as HTML that says what an ECE is to whoever points at it. bins: of `bins_in_words`."""
    meaning = f"ECE: {MEASURES['ece'].help}. Here over {bins}"
    return f'<abbr title="{escape(meaning)}">{bins.removesuffix(" of equal width")}</abbr>'


def count(n: float) -> str:
    """A number of cases; one decimal where it is a mean over seeds."""
    return f"{n:,.0f}" if float(n).is_integer() else f"{n:,.1f}"
