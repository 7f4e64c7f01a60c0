"""The controls of a comparison: operating point, estimates, bins, recalibration, base."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.compare import state
from app.compare.board import Comparison, EstimateSettings
from l2d_core.evaluation.recalibration import RECALIBRATIONS

STRATEGIES = {"equal_width": "Equal width", "equal_mass": "Equal mass"}
DIAGRAMS = {"binned": "In bins", "corp": "Without bins"}
ESTIMATES = {"odds": "Odds", "proxy": "Proxy"}


def settings_keys() -> dict[str, Callable[[Any], str] | None]:
    """The keys of all settings, each with the function that writes its value into a link, or None."""
    return {
        "price": None,
        "budget": None,
        "compare_bins": None,
        "compare_bin_kind": STRATEGIES.__getitem__,
        "recalibration": RECALIBRATIONS.__getitem__,
        "estimate": ESTIMATES.__getitem__,
        "diagram": DIAGRAMS.__getitem__,
        state.BASE: None,
    }


def draw_point() -> tuple[float, float]:
    """The sliders of the operating point: the cost of asking, in correct answers, and the budget, a share."""
    with st.container(key="compare-point", horizontal=True, gap="medium"):
        cost = st.slider(
            "Cost of asking the expert",
            0.0,
            0.5,
            0.0,
            0.01,
            key="price",
            bind="query-params",
            width=320,
            help="In correct answers: at 0.10, asking ten times costs as much as one error. A case is deferred where "
            "the estimate of the expert exceeds the machine's confidence by at least the cost.",
        )
        percent = st.slider(
            "Budget: cases that may be deferred",
            0,
            100,
            100,
            1,
            format="%d %%",
            key="budget",
            bind="query-params",
            width=320,
            help="The largest share of the cases that may be deferred. Those with the largest expected gain go first.",
        )
    return cost, percent / 100


def draw_view(comparison: Comparison) -> EstimateSettings:
    """The controls of how estimates are shown and binned."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        bins = st.slider("Bins", 5, 50, EstimateSettings.bins, key="compare_bins", bind="query-params", width=140)
        strategy = _choice(
            "Kind of bins", STRATEGIES, "compare_bin_kind", "Bins of equal width, or with equally many cases."
        )
        recalibration = _choice(
            "Recalibrate",
            RECALIBRATIONS,
            "recalibration",
            "Recalibrates P(the expert is right) and the machine's confidence on each system's validation cases; the "
            "decisions then use both. Temperature scaling divides the logits by a constant, Platt scaling fits a line "
            "to the log-odds, isotonic regression fits an increasing function, and Venn-Abers averages two such "
            "functions, so that no estimate is 0 or 1.",
        )
        diagram = _choice(
            "Reliability diagram",
            DIAGRAMS,
            "diagram",
            "Without bins: the increasing function of the estimate that is nearest to what came true (CORP).",
        )
        estimate = EstimateSettings.estimate
        if comparison.has_choice:
            estimate = _choice(
                "Softmax estimate",
                ESTIMATES,
                "estimate",
                "The estimate of softmax systems: the odds of the paper, which can exceed 1, or the proxy, the softmax "
                "probability of deferring. Without recalibration both lead to the same decisions.",
            )
    return EstimateSettings(bins, strategy, recalibration, estimate, diagram)


def draw_base(chosen: Sequence[str], names: Sequence[str]) -> None:
    """The choice of the baseline of the differences. chosen, names: keys and names of all systems."""
    state.draw_base_with(chosen)
    st.selectbox(
        "Baseline",
        chosen,
        format_func=dict(zip(chosen, names, strict=True)).get,
        key=state.BASE_CHOICE,
        on_change=state.take_base,
        args=(chosen,),
        width=320,
        help="Each of the other systems is compared with this one.",
    )


def _choice(label: str, options: dict[str, str], key: str, text: str) -> str:
    chosen = st.segmented_control(
        label,
        list(options),
        default=next(iter(options)),
        required=True,
        format_func=options.get,
        key=key,
        bind="query-params",
        help=text,
    )
    return chosen or next(iter(options))
