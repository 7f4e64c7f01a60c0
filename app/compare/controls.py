"""The controls of a comparison: operating point, estimates, bins, recalibration, base."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.compare import state
from app.compare.board import Comparison, View
from l2d_core.evaluation.recalibration import RECALIBRATIONS

STRATEGIES = {"equal_width": "Equal width", "equal_mass": "Equal mass"}
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
        state.BASE: None,
    }


def draw_point() -> tuple[float, float]:
    """The sliders of the operating point: the cost of asking, in correct answers, and the budget, a share."""
    with st.container(key="compare-point", horizontal=True, gap="medium"):
        cost = st.slider(
            "Price of asking the expert",
            0.0,
            0.5,
            0.0,
            0.01,
            key="price",
            bind="query-params",
            width=320,
            help="In right answers: at 0.10, asking ten times costs as much as one wrong answer. A case goes to the "
            "expert where its estimate exceeds the machine's confidence by at least the price.",
        )
        percent = st.slider(
            "Budget: cases that may be asked",
            0,
            100,
            100,
            1,
            format="%d %%",
            key="budget",
            bind="query-params",
            width=320,
            help="The most that may go to the expert, as a share of all cases: those that gain most go first.",
        )
    return cost, percent / 100


def draw_view(comparison: Comparison) -> View:
    """The controls of how estimates are shown and binned."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        bins = st.slider("Bins", 5, 50, View.bins, key="compare_bins", bind="query-params", width=200)
        strategy = _choice(
            "Kind of bins", STRATEGIES, "compare_bin_kind", "Of the same width, or of as many cases each."
        )
        recalibration = _choice(
            "Recalibrate",
            RECALIBRATIONS,
            "recalibration",
            "A correction of P(the expert is right) and of the machine's confidence, fitted on each system's "
            "validation cases; decisions are then made by both corrected numbers. Temperature divides the network's "
            "logits, Platt is a line on the log-odds, isotonic is any rising function.",
        )
        estimate = View.estimate
        if comparison.has_choice:
            estimate = _choice(
                "Softmax shows",
                ESTIMATES,
                "estimate",
                "A softmax system's estimate: the odds of its paper, which can be above 1, or the proxy, its own "
                "probability of deferring. As it is, it decides in the same way either way.",
            )
    return View(bins, strategy, recalibration, estimate)


def draw_base(chosen: Sequence[str], names: Sequence[str]) -> None:
    """The choice of the base of the differences. chosen, names: keys and names of all systems."""
    state.draw_base_with(chosen)
    st.selectbox(
        "Set the others against",
        chosen,
        format_func=dict(zip(chosen, names, strict=True)).get,
        key=state.BASE_CHOICE,
        on_change=state.take_base,
        args=(chosen,),
        width=320,
        help="The differences below are those of each other system from this one.",
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
