"""Steps of the lesson on the three estimators of P(the expert is right): odds, proxy, one-vs-all."""

import numpy as np
import pandas as pd
import streamlit as st

from app.kit import section
from app.kit.charts import is_bounded
from app.kit.looks import ESTIMATORS
from app.kit.numbers import estimate, percent, rows_of
from app.learn import charts
from app.learn import numbers as learn_numbers
from app.learn.asking import PHOTOS, fit
from app.learn.calibration import HOW_TO_READ, draw_reliability
from app.learn.frame import Answer, explain, picture, slide, slide_share, step, step_above
from l2d_core.datasets import LAB_DATASETS

SLIPS = np.linspace(-1, 1, 81)
HALF = 0.5


def why_odds_leave() -> Answer:
    """Softmax odds have no upper bound."""
    text, place = step(
        "Usually a network gives each class, and *ask*, a **score**, and a **softmax** makes them shares that sum to "
        "1. Trained perfectly, *ask* gets P/(1 + P), P being the chance that the expert is right: at most one half. To "
        "get P back, divide the share by the rest: the **odds**. But nothing stops the share at one half. Where the "
        "score for asking is too high, the odds say too much, even above 100 %: the network is **overconfident** of "
        "its expert."
    )
    with text:
        right = slide_share("The expert is right in", "right", 0, 100, 100)
        first = slide_share("The true class is class 1 in", "first", 50, 100, 50)
        slip = slide("The score for asking is off by", "slip", -1.0, 1.0, 0.1, 0.05)
    best = learn_numbers.softmax_optimum(first, right)
    odds = float(learn_numbers.odds_after(right, slip))
    sigmoid = float(learn_numbers.sigmoid_after(right, slip))
    shares = [*best.classes, best.defer]
    with place:
        picture(
            charts.three_shares(["class 1", "class 2", "ask"], shares),
            "learn-shares",
            "The shares that a perfectly trained network gives",
            f"class 1 {percent(shares[0])}, class 2 {percent(shares[1])}, ask {percent(shares[2])}.",
        )
        curves = charts.slip_curves(
            learn_numbers.odds_after(right, SLIPS), learn_numbers.sigmoid_after(right, SLIPS), SLIPS
        )
        picture(
            charts.slips(curves, slip, odds, sigmoid),
            "learn-slips",
            "What the estimates say against how far the score is off",
            f"Off by {slip:+.2f}, softmax odds say {percent(odds)}, one-vs-all says {percent(sigmoid)}; true is "
            f"{percent(right)}.",
        )
        explain("Above: the shares with a score that is not off. Below: one-vs-all is another way, of step 6.")
    tiny = float(learn_numbers.odds_after(1.0, 0.1))
    much, little = (float(learn_numbers.odds_after(1.0, slip)) for slip in (HALF, -HALF))
    worked = learn_numbers.softmax_optimum(0.5, 1.0)
    return Answer(
        "The expert is always right, and both classes are equally likely. Which shares does a perfect network give, "
        "and what do the odds say if the score is off by 0.1?",
        f"It gives [{worked.classes[0]:.2f}, {worked.classes[1]:.2f}, {worked.defer:.2f}], and the odds are "
        f"{worked.defer:.2f} / {1 - worked.defer:.2f} = {percent(worked.defer / (1 - worked.defer), 0)}: right, but "
        f"at the very edge. Off by 0.1, they say {percent(tiny)}, which is no probability at all. And errors do not "
        f"cancel: off by {HALF} upwards they say {percent(much, 0)}, as much downwards {percent(little, 0)}, on "
        f"average {percent((much + little) / 2, 0)}. One-vs-all, off by 0.1, would say "
        f"{percent(float(learn_numbers.sigmoid_after(0.9, 0.1)))} of an expert who is right in 90 %.",
    )


def why_the_proxy_is_low() -> Answer:
    """Softmax's share of deferring stays within 0 and 1, and is wrong by design."""
    text, place = step(
        "Why not take the share of *ask* itself? It lies between 0 and 1. But in a perfectly trained network it is "
        "P/(1 + P), not P. This is the **proxy**: it puts cases in the right order, and is wrong as a number, however "
        "well the network is trained."
    )
    with text:
        right = slide_share("The expert is right in", "proxy", 0, 100, 90)
    said = float(learn_numbers.proxy(right))
    with text:
        st.markdown(f"The proxy of a perfectly trained network says **{percent(said)}**.")
    true = np.linspace(0, 1, 101)
    with place:
        picture(
            charts.proxy(pd.DataFrame({"true": true, "said": learn_numbers.proxy(true)}), (right, said)),
            "learn-proxy",
            "What the proxy says against what is true",
            f"An expert who is right in {percent(right, 0)} gets {percent(said)} from the proxy.",
        )
        explain("Grey line: what would be true. Dashed: one half, which a perfect network's proxy never exceeds.")
    return Answer(
        "What is the most that the proxy of a perfect network can say, and of whom?",
        f"{percent(float(learn_numbers.proxy(1.0)), 0)}, of an expert who is always right. A real network is not "
        f"perfect: on the photographs, one that was trained says up to {percent(learn_numbers.highest_proxy())}. "
        "That does not make it calibrated: it only means that the network's score is off there.",
    )


def one_question_each() -> Answer:
    """One-vs-all answers K + 1 separate questions."""
    text, places = step_above(
        3,
        "**One-vs-all** asks a yes-or-no question for each class: is it class 1? class 2? ... and one more: *will the "
        "expert be right?* Each score has its own **sigmoid**, a curve from 0 to 1, so that the last one is an "
        "estimate of P itself: never above 100 %, and the classes take no share of it. Here networks of both kinds, "
        "with one softmax and one-vs-all, are trained on the photographs, for your expert.",
    )
    with text:
        first = slide_share("The expert is right in the first five classes in", "first_half", 20, 100, 75, 5)
        first_five = ", ".join(LAB_DATASETS[PHOTOS].class_names[:5])
        explain(f"These are {first_five}. In the other five 20 %, as the first expert in the paper.")
    result = fit(half_expert(first))
    tables = result.tables
    rows = rows_of(tables.summary, "estimator")
    for name, column in zip(tables.reliability, places, strict=True):
        with column:
            st.markdown(f"{section.name_of(name)}, ECE **{estimate(rows[name, 'ece'])}**", unsafe_allow_html=True)
            draw_reliability(
                tables.reliability[name],
                tables.above_one[name],
                ESTIMATORS[name],
                f"learn-{name}",
                is_bounded=is_bounded(name),
            )
    explain(HOW_TO_READ)
    ece = {name: rows[name, "ece"]["mean"] for name in ("odds", "proxy", "sigmoid")}
    above = rows["odds", "above_one"]["mean"]
    over = tables.above_one["odds"]
    right_above = f"; of those the expert is right in {percent(over['share_correct'].iloc[0])}" if len(over) else ""
    proxy = tables.reliability["proxy"].dropna()
    said, true = (float(np.average(proxy[name], weights=proxy["n"])) for name in ("mean_probability", "share_correct"))
    best = min(ece, key=lambda name: ece[name])
    return Answer(
        "Which of the three is nearest to the diagonal, and what is wrong with the other two?",
        f"By the ECE, {ESTIMATORS[best].title} is: odds {percent(ece['odds'])}, proxy {percent(ece['proxy'])}, "
        f"one-vs-all {percent(ece['sigmoid'])} (n = {result.num_test:,}, {rows['odds', 'ece']['seeds']} trainings). "
        f"{percent(above)} of the odds are above 100 %, and count as 100 % here{right_above}. The proxy says "
        f"{percent(said)} on average, and the expert is right in {percent(true)}. An ECE is written with half the "
        "width of its 95 % interval over the trainings.",
    )


def half_expert(first: float) -> tuple[float, ...]:
    """Accuracy per class: `first` in the first half of the classes, 20 % in the others, as in the paper."""
    count = len(LAB_DATASETS[PHOTOS].class_names)
    return (first,) * (count // 2) + (0.2,) * (count - count // 2)
