"""Steps of the lesson on the three estimators of P(the expert is right): odds, proxy, one-vs-all."""

import numpy as np
import pandas as pd
import streamlit as st

from app.kit import section
from app.kit.charts import most_cases
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
        "A network usually gives each class, and *ask*, a **score**; a **softmax** turns the scores into probabilities "
        "that sum to 1. Trained perfectly, *ask* gets P/(1 + P), where P is the probability that the expert is right: "
        "at most one half. To recover P, divide this by the rest: the **odds**. But nothing keeps *ask* below one "
        "half. Where its score is too high, the odds are too high as well, even above 100 %: **overconfident**."
    )
    with text:
        right = slide_share("The expert is right in", "right", 0, 100)
        first = slide_share("The true class is class 1 in", "first", 50, 100)
        slip = slide("Error of the score for asking", "slip", -1.0, 1.0, 0.05)
    best = learn_numbers.softmax_optimum(first, right)
    odds = float(learn_numbers.odds_after(right, slip))
    sigmoid = float(learn_numbers.sigmoid_after(right, slip))
    shares = [*best.classes, best.defer]
    with place:
        picture(
            charts.three_shares(["class 1", "class 2", "ask"], shares),
            "learn-shares",
            "Softmax probabilities of a perfectly trained network",
            f"class 1 {percent(shares[0])}, class 2 {percent(shares[1])}, ask {percent(shares[2])}.",
        )
        curves = charts.slip_curves(
            learn_numbers.odds_after(right, SLIPS), learn_numbers.sigmoid_after(right, SLIPS), SLIPS
        )
        picture(
            charts.slips(curves, slip, odds, sigmoid),
            "learn-slips",
            "Estimates against the error of the score",
            f"With an error of {slip:+.2f}, softmax odds estimate {percent(odds)} and one-vs-all {percent(sigmoid)}; "
            f"true is {percent(right)}.",
        )
        explain("Above: probabilities without an error. Below: one-vs-all is the alternative of step 6.")
    tiny = float(learn_numbers.odds_after(1.0, 0.1))
    much, little = (float(learn_numbers.odds_after(1.0, slip)) for slip in (HALF, -HALF))
    worked = learn_numbers.softmax_optimum(0.5, 1.0)
    return Answer(
        "The expert is always right, and both classes are equally likely. What do the odds say if the score for asking "
        "is too high by 0.1?",
        ("100 %.", f"{percent(tiny)}.", "It cannot be known."),
        1,
        f"A perfect network gives [{worked.classes[0]:.2f}, {worked.classes[1]:.2f}, {worked.defer:.2f}], so the odds "
        f"are {worked.defer:.2f} / {1 - worked.defer:.2f} = {percent(worked.defer / (1 - worked.defer), 0)}: correct, "
        f"but at the edge. An error of 0.1 makes them {percent(tiny)}, which is not a probability. Errors do not "
        f"cancel either: {HALF} too high gives {percent(much, 0)}, {HALF} too low {percent(little, 0)}, on average "
        f"{percent((much + little) / 2, 0)}. With the same error of 0.1, one-vs-all would estimate "
        f"{percent(float(learn_numbers.sigmoid_after(0.9, 0.1)))} for an expert who is right in 90 %.",
    )


def why_the_proxy_is_low() -> Answer:
    """Softmax's share of deferring stays within 0 and 1, and is wrong by design."""
    text, place = step(
        "Why not take the softmax probability of *ask* itself as the estimate? It lies between 0 and 1. But in a "
        "perfectly trained network it equals P/(1 + P), not P. This estimate is the **proxy**: it ranks cases "
        "correctly, but its values are too low, however well the network is trained."
    )
    with text:
        right = slide_share("The expert is right in", "proxy", 0, 100)
    said = float(learn_numbers.proxy(right))
    with text:
        st.markdown(f"The proxy of a perfectly trained network is **{percent(said)}**.")
    true = np.linspace(0, 1, 101)
    with place:
        picture(
            charts.proxy(pd.DataFrame({"true": true, "said": learn_numbers.proxy(true)}), (right, said)),
            "learn-proxy",
            "The proxy against the true probability",
            f"For an expert who is right in {percent(right, 0)}, the proxy is {percent(said)}.",
        )
        explain("Grey line: a true estimate. Dashed: one half, which the proxy of a perfect network never exceeds.")
    return Answer(
        "What is the highest value that the proxy of a perfectly trained network can take?",
        ("50 %.", "100 %.", "It has no upper limit."),
        0,
        f"It is {percent(float(learn_numbers.proxy(1.0)), 0)}, for an expert who is always right. A real network is "
        "not perfect: on the photographs, the proxy of a trained one reaches "
        f"{percent(learn_numbers.highest_proxy())}. That does not make it calibrated; its score is simply wrong there.",
    )


def one_question_each() -> Answer:
    """One-vs-all answers K + 1 separate questions."""
    text, places = step_above(
        3,
        "**One-vs-all** asks a yes-or-no question for each class (is it class 1? is it class 2?), and one more: *will "
        "the expert be right?* Each score has its own **sigmoid**, a curve from 0 to 1. The last one estimates P "
        "directly: it never exceeds 100 %, and the classes do not compete with it. Here networks of both kinds, "
        "softmax and one-vs-all, are trained on the photographs for your expert.",
    )
    with text:
        first = slide_share("Accuracy on the first five classes", "first_half", 20, 100, 5)
        first_five = ", ".join(LAB_DATASETS[PHOTOS].class_names[:5])
        explain(f"These are {first_five}. On the other five it is 20 %, as for the first expert in the paper.")
    result = fit(half_expert(first))
    tables = result.tables
    rows = rows_of(tables.summary, "estimator")
    most = most_cases(tables.drawn.values(), tables.above_one.values())
    for name, column in zip(tables.drawn, places, strict=True):
        with column:
            st.markdown(f"{section.name_of(name)}, ECE **{estimate(rows[name, 'ece'])}**", unsafe_allow_html=True)
            draw_reliability(
                tables.drawn[name],
                tables.above_one[name],
                ESTIMATORS[name],
                f"learn-{name}",
                is_bounded=tables.is_bounded[name],
                most=most,
            )
    explain(HOW_TO_READ)
    ece = {name: rows[name, "ece"]["mean"] for name in ("odds", "proxy", "sigmoid")}
    above = rows["odds", "above_one"]["mean"]
    over = tables.above_one["odds"]
    right_above = f"; there the expert is right in {percent(over['share_correct'].iloc[0])}" if len(over) else ""
    proxy = tables.reliability["proxy"].dropna()
    said, true = (float(np.average(proxy[name], weights=proxy["n"])) for name in ("mean_probability", "share_correct"))
    best = min(ece, key=lambda name: ece[name])
    names = tuple(ece)
    return Answer(
        "Which of the three is closest to the diagonal, by the ECE?",
        tuple(f"{ESTIMATORS[name].title}." for name in names),
        names.index(best),
        f"ECE: odds {percent(ece['odds'])}, proxy {percent(ece['proxy'])}, one-vs-all {percent(ece['sigmoid'])} (n = "
        f"{result.num_test:,}, {rows['odds', 'ece']['seeds']} trainings each). {percent(above)} of the odds exceed "
        f"100 % and count as 100 % here{right_above}. The proxy estimates {percent(said)} on average, while the expert "
        f"is right in {percent(true)}. The ± after each ECE is half of its 95 % interval over the trainings.",
    )


def half_expert(first: float) -> tuple[float, ...]:
    """Accuracy per class: `first` in the first half of the classes, 20 % in the others, as in the paper."""
    count = len(LAB_DATASETS[PHOTOS].class_names)
    return (first,) * (count // 2) + (0.2,) * (count - count // 2)
