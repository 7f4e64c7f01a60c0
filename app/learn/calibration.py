"""Steps of the lesson on calibration: what 70 % means, why calibration is not enough, what a wrong risk costs."""

import pandas as pd
import streamlit as st

from app.kit import charts
from app.kit.looks import ESTIMATORS, GREY, Look
from app.kit.notes import DIAGNOSIS_NOTE, MEDICAL_ICON
from app.kit.numbers import percent
from app.learn import charts as learn_charts
from app.learn import numbers as learn_numbers
from app.learn.frame import Answer, explain, note_setting, picture, slide, slide_share, step
from app.learn.state import SETTINGS, key_of
from l2d_core.experts.simulated import DERMATOLOGIST_RECALL

HOW_TO_READ = (
    "One point per bin: its estimate on the horizontal axis, the share of cases in which the expert was right on the "
    "vertical one. On the diagonal the two agree. Vertical lines: 95 % intervals. Grey band: where the point of a "
    "calibrated estimate falls at least 95 % of the time. Bars below: number of cases."
)
FORECASTER = Look("the forecaster", GREY, "circle", (1, 0))
MOST_GROUPS = 12
STRICT = 0.02


def what_seventy_percent_means() -> Answer:
    """Calibration, and the part of the ECE that is noise."""
    text, place = step(
        "To decide whether to ask, the network estimates **P**, the probability that the expert is right. The estimate "
        "is **calibrated** if, of all cases where it is 70 %, the expert is right in 70 %. To check this, sort the "
        "cases into **bins** by their estimates and compare each bin's mean estimate with how often the expert was "
        "right. The mean gap is the **expected calibration error (ECE)**. Here is an artificial forecaster that you "
        "can make overconfident or underconfident."
    )
    with text:
        num_cases, bins, boldness, seed = _forecaster_controls()
    drawn = learn_numbers.forecast(num_cases, boldness, seed)
    error, by_chance = drawn.error(bins), drawn.error_by_chance(bins)
    with place:
        draw_reliability(drawn.reliability(bins), drawn.above_one, FORECASTER, "learn-forecaster", is_bounded=True)
        st.markdown(
            f"ECE **{percent(error)}** (n = {num_cases:,}, {bins} bins). For a calibrated forecaster, chance alone "
            f"gives {percent(by_chance)} on average."
        )
        explain(HOW_TO_READ)
    few, many = (learn_numbers.forecast(n, 1.0, seed) for n in (200, 10_000))
    return Answer(
        "Set the confidence to 1, n to 200 and the bins to 30. The ECE is not 0. Why?",
        (
            "The forecaster is overconfident.",
            "By chance: each bin holds only a few cases.",
            "The forecaster is underconfident.",
        ),
        1,
        "At confidence 1 its estimates are exactly the probabilities from which the outcomes were drawn. But 200 cases "
        f"in 30 bins are only a few per bin, and chance alone then gives an ECE of {percent(few.error_by_chance(30))} "
        f"on average; this draw gave {percent(few.error(30))}. With 10,000 cases and 15 bins it would be "
        f"{percent(many.error_by_chance(15))}. An ECE means little without n and the number of bins, so this app "
        "always states both.",
    )


def _forecaster_controls() -> tuple[int, int, float, int]:
    """The number of cases, the number of bins, the confidence, and the random seed."""
    bound = {"bind": "query-params", "persist_state": "session"}
    sizes = (100, 200, 500, 1000, 2000, 5000, 10000)
    num_cases = st.select_slider("Number of cases n", sizes, SETTINGS["n"], key=key_of("n"), **bound)
    bins = slide("Bins", "bins", 5, 40)
    boldness = slide(
        "Confidence",
        "boldness",
        0.4,
        3.0,
        0.1,
        help="Factor on the true log-odds. At 1 the estimates are true. Above 1 they are overconfident: too close to "
        "0 % and 100 %. Below 1 they are underconfident: too close to 50 %.",
    )
    seed = st.number_input("Seed", 0, 10_000, SETTINGS["draw"], key=key_of("draw"), help="Draws other cases.", **bound)
    note_setting("Number of cases n", num_cases)
    note_setting("Seed", seed)
    return int(num_cases), bins, boldness, int(seed)


def calibrated_is_not_useful() -> Answer:
    """Calibration and discrimination are different things."""
    one, many = learn_numbers.grouped(1), learn_numbers.grouped(MOST_GROUPS)
    text, place = step(
        f"An expert is right in {percent(one.said[0], 0)} of all cases. Estimating {percent(one.said[0], 0)} for every "
        "case is calibrated, and useless. Here one-vs-all's estimate is made **coarse**: it is only known which of a "
        "few groups a case belongs to, and how often the expert was right in that group on other photographs. The "
        "**Brier score**, the mean squared error of an estimate, separates two things: **miscalibration**, how "
        "far the estimates are from the truth, and **discrimination**, how well they separate the cases."
    )
    with text:
        groups = slide("Groups that the estimate distinguishes", "groups", 1, MOST_GROUPS)
    now = learn_numbers.grouped(groups)
    split = now.decomposition
    table = pd.DataFrame(
        {
            "part": ["miscalibration (lower is better)", "discrimination (higher is better)"],
            "value": [split.miscalibration, split.discrimination],
        }
    )
    with place:
        picture(
            learn_charts.parts(table),
            "learn-parts",
            "Miscalibration and discrimination",
            f"miscalibration {split.miscalibration:.4f}, discrimination {split.discrimination:.4f}.",
        )
        st.markdown(
            f"ECE **{percent(now.error)}**. Deferring where this estimate exceeds the machine's own confidence, "
            f"machine and expert together are right in **{percent(now.system.value)}** (n = {now.system.n:,})."
        )
        explain(f"Estimate in each group: {', '.join(percent(share, 0) for share in now.said)}.")
    return Answer(
        "With one group the ECE is close to 0. Would you prefer that estimate?",
        ("Yes, because it is calibrated.", "No, because it is the same for every case."),
        1,
        f"Its ECE is {percent(one.error)}, against {percent(many.error)} with {many.groups} groups. But it does not "
        f"distinguish any two cases: its discrimination is {one.decomposition.discrimination:.4f}, against "
        f"{many.decomposition.discrimination:.4f}. Deferring by it, {percent(one.system.value)} are right; with "
        f"{many.groups} groups, {percent(many.system.value)}. A good estimate is calibrated and also differs from case "
        "to case.",
    )


def when_risk_is_understated() -> Answer:
    """The predicted and the true risk of a decision threshold."""
    st.caption(f"{MEDICAL_ICON} {DIAGNOSIS_NOTE}")
    text, place = step(
        "Photographs of skin lesions, with a simulated dermatologist who is right about moles in "
        f"{percent(DERMATOLOGIST_RECALL['nv'], 0)} and about melanoma in {percent(DERMATOLOGIST_RECALL['mel'], 0)}. "
        "The clinic accepts the dermatologist's answer without a second look where the **predicted risk** of an error, "
        "1 - P, is small. Set how small. How often is the dermatologist wrong in these cases?"
    )
    with text:
        most = slide_share("Predicted risk at most", "risk", 1, 30)
    found = learn_numbers.understated(most)
    names = {"softmax": "odds", "one_vs_all": "sigmoid"}
    rows = [
        {"title": ESTIMATORS[names[name]].title, "estimator": names[name], **vars(one)}
        for name, one in found.items()
        if one.n
    ]
    table = pd.DataFrame(rows, columns=["title", "estimator", "n", "said", "true", "low", "high"])
    words = "; ".join(
        f"{row['title']}: predicted {percent(row['said'])}, observed {percent(row['true'])} "
        f"({percent(row['low'], 0)} to {percent(row['high'], 0)}, n = {row['n']:,})"
        for row in rows
    )
    words = words or "No lesion is accepted at this limit."
    with place:
        picture(
            learn_charts.risks(table, most),
            "learn-risks",
            "Predicted risk, and how often the dermatologist is wrong",
            words,
        )
        explain(
            "Bars: how often the dermatologist is wrong, with a 95 % interval. Thick tick: mean predicted risk. "
            "Dashed: your limit."
        )
        st.markdown("\n".join(f"- {part}" for part in words.split("; ")))
    strict = learn_numbers.understated(STRICT)
    odds, ours = strict["softmax"], strict["one_vs_all"]
    return Answer(
        f"Set the limit to {percent(STRICT, 0)}. Is the dermatologist wrong in at most {percent(STRICT, 0)} of the "
        "lesions that the softmax network lets pass?",
        ("Yes.", "No, in more.", "No, in far fewer."),
        1,
        f"The softmax odds predict {percent(odds.said)} on average, and the dermatologist is wrong in "
        f"{percent(odds.true)} of {odds.n:,} lesions: odds of 100 % or more mean no risk at all. One-vs-all lets only "
        f"{ours.n:,} pass; it predicts {percent(ours.said)}, and {percent(ours.true)} are wrong (95 % interval "
        f"{percent(ours.low, 0)} to {percent(ours.high, 0)}). A decision that rests on an estimated risk needs a "
        "calibrated one.",
    )


def draw_reliability(
    table: pd.DataFrame, above_one: pd.DataFrame, look: Look, key: str, *, is_bounded: bool, most: float = 1.0
) -> None:
    """A reliability diagram; the arguments are those of `charts.reliability`."""
    picture(
        charts.reliability(table, above_one, look, is_bounded=is_bounded, most=most),
        key,
        f"Reliability diagram of {look.title}",
        "; ".join(
            f"estimate {percent(row['mean_probability'], 0)}, right in {percent(row['share_correct'], 0)} of "
            f"{row['cases']:,.0f} cases"
            for row in table[table["n"] > 0].to_dict("records")
        ),
    )
