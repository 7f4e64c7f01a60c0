"""Steps of the lesson on calibration: what 70 % has to mean, what calibration lacks, and what a wrong risk costs."""

import pandas as pd
import streamlit as st

from app.kit import charts
from app.kit.looks import ESTIMATORS, GREY, Look
from app.kit.notes import DIAGNOSIS_NOTE, MEDICAL_ICON
from app.kit.numbers import percent
from app.learn import charts as learn_charts
from app.learn import numbers as learn_numbers
from app.learn.frame import Answer, explain, note_setting, picture, slide, slide_share, step
from app.learn.state import key_of
from l2d_core.experts.simulated import DERMATOLOGIST_RECALL

HOW_TO_READ = (
    "A mark a bin: to the right, what was said; up, how often it came true. On the diagonal the two agree. Upright "
    "line: 95 % interval. Grey: where the mark of a calibrated estimate falls at least 95 % of the time. Below: how "
    "many cases."
)
FORECASTER = Look("A forecaster", GREY, "circle", (1, 0))
MOST_GROUPS = 12
STRICT = 0.02


def what_seventy_percent_means() -> Answer:
    """Calibration, and the part of the ECE that is noise."""
    text, place = step(
        "To decide whether to ask, the network says **P**, the chance that the expert is right. It must be true: "
        "of the cases where it says 70 %, the expert should be right in 70 %. Then it is **calibrated**. Sort cases "
        "into **bins** by what was said, and compare with what came true: the mean gap is the **ECE** (expected "
        "calibration error). Here is a made-up forecaster of when an expert is right, so that you can set how honest "
        "it is."
    )
    with text:
        num_cases, bins, boldness, seed = _forecaster_controls()
    drawn = learn_numbers.forecast(num_cases, boldness, seed)
    error, by_chance = drawn.error(bins), drawn.error_by_chance(bins)
    with place:
        draw_reliability(drawn.reliability(bins), drawn.above_one, FORECASTER, "learn-forecaster", is_bounded=True)
        st.markdown(
            f"ECE **{percent(error)}**; chance alone would give {percent(by_chance)} on average (n = {num_cases:,}, "
            f"{bins} bins)."
        )
        explain(HOW_TO_READ)
    few, many = (learn_numbers.forecast(n, 1.0, seed) for n in (200, 10_000))
    return Answer(
        "Set the boldness to 1, n to 200 and the bins to 30. The ECE is not 0. Is the forecaster lying?",
        "No: it says exactly the chances that were used to draw what came true. With 200 cases in 30 bins, a few a "
        f"bin, chance alone gives an ECE of {percent(few.error_by_chance(30))} on average, and this draw gave "
        f"{percent(few.error(30))}. With 10,000 cases and 15 bins it would be {percent(many.error_by_chance(15))}. "
        "An ECE means nothing without n and the number of bins; this app shows them beside each one.",
    )


def _forecaster_controls() -> tuple[int, int, float, int]:
    """How many cases it forecasts, in how many bins they are sorted, its boldness, and the number of the draw."""
    bound = {"bind": "query-params", "persist_state": "session"}
    sizes = (100, 200, 500, 1000, 2000, 5000, 10000)
    num_cases = st.select_slider("Cases n", sizes, 500, key=key_of("n"), **bound)
    bins = slide("Bins", "bins", 5, 40, 15)
    boldness = slide(
        "Boldness",
        "boldness",
        0.4,
        3.0,
        1.0,
        0.1,
        help="At 1 it says what is true. Above 1 it is too sure: where 80 % is true it says more, and where 20 % "
        "is, less. Below 1 it is too timid: all it says is nearer to 50 %.",
    )
    seed = st.number_input(
        "Draw number", 0, 10_000, 0, key=key_of("draw"), help="Another number, another luck.", **bound
    )
    note_setting("Cases n", num_cases)
    note_setting("Draw number", seed)
    return int(num_cases), bins, boldness, int(seed)


def calibrated_is_not_useful() -> Answer:
    """Calibration and discrimination are different things."""
    one, many = learn_numbers.grouped(1), learn_numbers.grouped(MOST_GROUPS)
    text, place = step(
        f"An expert is right in {percent(one.said[0], 0)} of all cases. Whoever says {percent(one.said[0], 0)} of each "
        "one is calibrated, and tells you nothing. Here one-vs-all's estimate is made **coarse**: it knows only in "
        "which of some groups a case lies, and says how often the expert was right there, on other photographs. The "
        "**Brier score**, the mean squared error of what is said, has two parts to tell that apart: how untrue the "
        "numbers are (**miscalibration**), and how much they differ rightly (**discrimination**)."
    )
    with text:
        groups = slide("Groups that it can tell apart", "groups", 1, MOST_GROUPS, 1)
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
            f"ECE **{percent(now.error)}**. Handing over where this estimate is higher than the machine's own chance "
            f"of being right, as it says it, both together are right in **{percent(now.system.value)}** "
            f"(n = {now.system.n:,})."
        )
        explain(f"It says, from group to group: {', '.join(percent(share, 0) for share in now.said)}.")
    return Answer(
        "With one group the ECE is close to 0. Would you rather have that estimate?",
        f"Its ECE is {percent(one.error)} against {percent(many.error)} with {many.groups} groups, but it tells no "
        f"two cases apart: its discrimination is {one.decomposition.discrimination:.4f} against "
        f"{many.decomposition.discrimination:.4f}. Deciding by it, {percent(one.system.value)} are right, with "
        f"{many.groups} groups {percent(many.system.value)}. Ask for both: true numbers, and numbers that differ from "
        "case to case.",
    )


def when_risk_is_understated() -> Answer:
    """The predicted and the true risk of a decision threshold."""
    st.caption(f"{MEDICAL_ICON} {DIAGNOSIS_NOTE}")
    text, place = step(
        "Photographs of skin lesions, with a simulated dermatologist who is right about moles in "
        f"{percent(DERMATOLOGIST_RECALL['nv'], 0)} and about melanoma in {percent(DERMATOLOGIST_RECALL['mel'], 0)}. "
        "The clinic passes a case on without a second look if the **risk** that she errs, 1 - P, is said to be small. "
        "Set how small. How often is she wrong in the cases that pass?"
    )
    with text:
        most = slide_share("Risk said to be at most", "risk", 1, 30, 5)
    found = learn_numbers.understated(most)
    names = {"softmax": "odds", "one_vs_all": "sigmoid"}
    rows = [
        {"title": ESTIMATORS[names[name]].title, "estimator": names[name], **vars(one)}
        for name, one in found.items()
        if one.n
    ]
    table = pd.DataFrame(rows, columns=["title", "estimator", "n", "said", "true", "low", "high"])
    words = "; ".join(
        f"{row['title']}: said {percent(row['said'])}, true {percent(row['true'])} "
        f"({percent(row['low'], 0)} to {percent(row['high'], 0)}, n = {row['n']:,})"
        for row in rows
    )
    words = words or "No lesion passes at this limit."
    with place:
        picture(
            learn_charts.risks(table, most),
            "learn-risks",
            "Risk that is said, and how often she is wrong",
            words,
        )
        explain(
            "Bars: how often she is wrong, with a 95 % interval. Thick tick: the mean that was said. Dashed: your "
            "limit."
        )
        st.markdown("\n".join(f"- {part}" for part in words.split("; ")))
    strict = learn_numbers.understated(STRICT)
    odds, ours = strict["softmax"], strict["one_vs_all"]
    return Answer(
        f"Set the limit to {percent(STRICT, 0)}. What did the softmax network promise, and what came true?",
        f"It says {percent(odds.said)} on average, and she is wrong in {percent(odds.true)} of {odds.n:,} lesions: "
        f"odds at or above 100 % promise no risk at all. One-vs-all lets {ours.n:,} pass; it says "
        f"{percent(ours.said)}, and {percent(ours.true)} are wrong ({percent(ours.low, 0)} to "
        f"{percent(ours.high, 0)}). What calibration is for: whoever acts on the number must be able to believe it.",
    )


def draw_reliability(table: pd.DataFrame, above_one: pd.DataFrame, look: Look, key: str, *, is_bounded: bool) -> None:
    """A reliability diagram; the tables and is_bounded are those of `charts.reliability`."""
    picture(
        charts.reliability(table, above_one, look, is_bounded=is_bounded),
        key,
        f"Reliability diagram of {look.title}",
        "; ".join(
            f"says {percent(row['mean_probability'], 0)}, true in {percent(row['share_correct'], 0)} of "
            f"{row['cases']:,.0f}"
            for row in table[table["n"] > 0].to_dict("records")
        ),
    )
