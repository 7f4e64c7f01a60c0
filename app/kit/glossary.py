"""The terms of the app, each explained in one sentence, with its formula if there is one."""

import streamlit as st

WORDS = (
    (
        "Network, training",
        "A program with many numbers in it, and how these are set: so that its answers fit examples that have answers.",
        "",
    ),
    (
        "Expert, answers",
        "Who can be asked: here a simulated one, set by how often it is right in each class, or people.",
        "",
    ),
    ("Defer", "Hand a case to the expert instead of answering it.", r"r(x) = \mathbb{1}[\,g_d \ge \max_k g_k\,]"),
    ("Coverage, budget", "The share that the machine keeps; the most that may be handed over.", ""),
    (
        "Logit, score",
        "A number that the network gives a class, or asking, before it is made a probability.",
        "g_1, \\dots, g_K, g_d",
    ),
    (
        "Probability of being right",
        "What the estimators estimate: that the expert names the true class of this case.",
        r"P = P(m = y \mid x)",
    ),
    ("Risk", "The chance that the expert errs.", "1 - P"),
    ("Softmax", "Shares of all scores, that sum to 1.", r"p_k = e^{g_k} / \textstyle\sum_i e^{g_i}"),
    ("Odds", "Softmax's estimate; right in a perfectly trained network, without an upper end.", r"p_d / (1 - p_d)"),
    (
        "Proxy",
        "Softmax's share of asking, taken as the estimate; too low even in a perfectly trained network.",
        r"p_d = P / (1 + P)",
    ),
    ("One-vs-all", "A yes-or-no question each, with a sigmoid.", r"\sigma(g_d) = 1 / (1 + e^{-g_d})"),
    ("Calibrated", "Of the cases of which it says p, the share p comes true.", r"P(m = y \mid \hat p = c) = c"),
    (
        "ECE",
        "Expected calibration error: the mean gap between what is said and what comes true, over bins of n_b cases.",
        r"\textstyle\sum_b \frac{n_b}{N} \left| \overline{\text{right}}_b - \overline{p}_b \right|",
    ),
    (
        "n, 95 % interval",
        "On how many cases a number rests; an interval that in 19 of 20 such samples holds the true number.",
        "",
    ),
    (
        "Brier score",
        "The mean squared distance from what came true; miscalibration less discrimination, plus what nobody can know.",
        r"\frac1N \textstyle\sum_i (p_i - y_i)^2",
    ),
)


def draw() -> None:
    """All terms, in a closed expander."""
    with st.expander("Glossary, with the formulas", icon=":material/menu_book:"):
        draw_words()


def draw_words() -> None:
    """All terms, one line each."""
    for word, meaning, formula in WORDS:
        st.markdown(f"**{word}.** {meaning}" + (f" ${formula}$" if formula else ""))
