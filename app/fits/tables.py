"""What the live lab draws of a fit: tables only, so that pages can show them before torch is imported."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from app.fits.settings import Binning


@dataclass(frozen=True)
class Tables:
    """The tables of a fit with one binning; by estimator except the summary and the true risk.

    summary: `summary.summarise`; reliability, above_one, risk, estimates: of `summary.chart_tables`; true_risk: the
    histogram of the true risk, None where it is known only by class.
    """

    binning: Binning
    summary: pd.DataFrame
    reliability: Mapping[str, pd.DataFrame]
    above_one: Mapping[str, pd.DataFrame]
    risk: Mapping[str, pd.DataFrame]
    estimates: Mapping[str, pd.DataFrame]
    true_risk: pd.DataFrame | None
