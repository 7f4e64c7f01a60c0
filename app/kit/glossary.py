"""The ten terms of the app, each explained in a sentence or two, with its formula if there is one."""

import streamlit as st

WORDS = (
    (
        "Expert",
        "Whoever can be asked. Here usually simulated, with an accuracy for each class; for some data sets, people's "
        "recorded answers.",
        "",
    ),
    (
        "Deferral",
        "Handing a case to the expert instead of answering it, where the deferral score exceeds every class score.",
        r"r(x) = \mathbb{1}[\,g_d \ge \max_k g_k\,]",
    ),
    ("Coverage and budget", "The share of cases that the machine keeps; the largest share that may be deferred.", ""),
    (
        "P and risk",
        "P is the probability that the expert is right on a case, which the estimators below estimate; the risk of "
        "deferring is 1 - P.",
        r"P = P(m = y \mid x)",
    ),
    (
        "Softmax odds",
        "The estimate that belongs to the softmax loss. It is right in a perfectly trained network, but has no upper "
        "limit.",
        r"p_d / (1 - p_d), \quad p_k = e^{g_k} / \textstyle\sum_i e^{g_i}",
    ),
    (
        "Softmax proxy",
        "The softmax probability of deferring, used as the estimate. It is too low even in a perfectly trained "
        "network.",
        r"p_d = P / (1 + P)",
    ),
    (
        "One-vs-all",
        "A separate yes-or-no question for each class and for the expert, each answered by a sigmoid.",
        r"\sigma(g_d) = 1 / (1 + e^{-g_d})",
    ),
    (
        "Calibration and ECE",
        "An estimate is calibrated if the expert is right in 70 % of the cases where it is 70 %. The expected "
        "calibration error (ECE) is the mean gap between the two, over bins weighted by their cases.",
        r"\textstyle\sum_b \frac{n_b}{N} \left| \overline{\text{right}}_b - \overline{p}_b \right|",
    ),
    (
        "Brier score",
        "The mean squared error of an estimate: miscalibration, minus discrimination, plus what cannot be known.",
        r"\frac1N \textstyle\sum_i (p_i - y_i)^2",
    ),
    (
        "95 % interval",
        "A range that contains the true value in 19 of 20 repetitions. Here usually over seeds: trainings that differ "
        "only by chance. n is the number of cases behind a number.",
        "",
    ),
)


def draw() -> None:
    """All terms, in a closed expander."""
    with st.expander("Glossary with formulas", icon=":material/menu_book:"):
        draw_words()


def draw_words() -> None:
    """All terms, one line each."""
    for word, meaning, formula in WORDS:
        st.markdown(f"**{word}.** {meaning}" + (f" ${formula}$" if formula else ""))
