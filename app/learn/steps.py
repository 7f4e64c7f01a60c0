"""The first half of the lesson: why to ask, whom, and what a probability of being right has to mean."""

import numpy as np
import pandas as pd
import streamlit as st

from app.fits import shared
from app.fits.experiment import LabResult
from app.fits.settings import LabSettings, View
from app.kit import charts
from app.kit.looks import GREY, Look
from app.kit.numbers import percent
from app.learn import charts as learn_charts
from app.learn import numbers as learn_numbers
from app.learn.frame import Answer, explain, key_of, note_setting, picture, slide, slide_share, step
from l2d_core.datasets import LAB_DATASETS
from l2d_core.surrogates import SURROGATES

PHOTOS = "cifar10"
VEHICLES = ("airplane", "automobile", "ship", "truck")
SEEDS = 4
HOW_TO_READ = (
    "A mark a bin: to the right, what was said; up, how often it came true. On the diagonal the two agree. Upright "
    "line: 95 % interval. Grey: where the mark of a calibrated estimate falls at least 95 % of the time. Below: how "
    "many cases."
)
FORECASTER = Look("A forecaster", GREY, "circle", (1, 0))


def why_ask() -> Answer:
    """Two who err on different cases do better together."""
    seen = learn_numbers.shipped(learn_numbers.PHOTOS)
    own = learn_numbers.own_choice(seen)
    text, place = step(
        f"A **network**, a program that has learned from examples, sorts {len(seen):,} small photographs into ten "
        "classes. An expert, here a simulated one, knows some of the classes well. **Learning to defer** trains the "
        "network to say, case by case, whether it should answer or ask. Move the slider: the cases in which asking "
        "gains most are handed over first."
    )
    with text:
        asked = slide_share("Handed to the expert", "asked", 0, 100, 0)
    team = learn_numbers.team(seen, asked)
    with text:
        st.markdown(
            f"- the machine alone is right in **{percent(team.machine.value)}**\n"
            f"- the expert alone in **{percent(team.expert.value)}**\n"
            f"- both together, now, in **{percent(team.system.value)}** of n = {team.system.n:,} photographs"
        )
    curve = learn_numbers.team_curve(seen)
    with place:
        machine, expert = team.machine.value or 0.0, team.expert.value or 0.0
        picture(
            learn_charts.team(curve, (asked, team.system.value or 0.0), machine, expert),
            "learn-team",
            "Share right against the share handed to the expert",
            f"With {percent(asked, 0)} handed over, both together are right in {percent(team.system.value)}; the "
            f"machine alone in {percent(team.machine.value)}, the expert alone in {percent(team.expert.value)}.",
        )
        explain("Curve: both together. Dot: where your slider stands. Dashed: each alone.")
    best = curve.loc[curve["accuracy"].idxmax()]
    return Answer(
        "The expert alone is far worse than the machine. How can asking help at all?",
        f"Because they err on different cases. Of the photographs that the machine gets wrong, the expert gets "
        f"{percent(team.expert_on_machine_errors.value)} right (n = {team.expert_on_machine_errors.n:,}). Left to "
        f"itself the network hands over {percent(own)}; the curve is highest at {percent(best['asked'], 0)}. Hand "
        "over much more than that, and the expert gets cases that the machine knew better.",
    )


def which_expert() -> Answer:
    """The network learns what this expert is good at."""
    classes = LAB_DATASETS[PHOTOS].class_names
    text, place = step(
        "What is worth asking depends on **this** expert. Make one who is good at vehicles, or at animals, or at "
        "nothing. Each time you let go of a slider, a network is trained with the new expert: only its last part, "
        "which decides, and so it takes a fraction of a second. It decides case by case, and keeps the photographs of "
        "which it is sure itself."
    )
    with text:
        vehicles = slide_share("The expert is right about vehicles in", "vehicles", 0, 100, 95, 5)
        animals = slide_share("The expert is right about animals in", "animals", 0, 100, 20, 5)
    accuracy = tuple(vehicles if name in VEHICLES else animals for name in classes)
    scores = fit(accuracy).scores["one_vs_all"]
    table = learn_numbers.share_handed_over(scores, classes).assign(
        machine=learn_numbers.machine_alone(scores, classes)
    )
    with place:
        picture(
            learn_charts.by_class(table),
            "learn-classes",
            "Share handed over in each class, and where the machine alone is right",
            "; ".join(f"{row['class']}: {percent(row['share'], 0)} handed over" for row in table.to_dict("records")),
        )
        explain(
            "Bars: share of the class handed over. Triangles: share that the machine alone gets right (the machine is "
            "the network)."
        )
    hardest, easiest = table.loc[table["machine"].idxmin()], table.loc[table["machine"].idxmax()]
    means = {
        name: float(np.average(part["share"], weights=part["n"]))
        for name, part in table.groupby(table["class"].isin(VEHICLES))
    }
    return Answer(
        "Set both sliders to 60 %. Is every class now handed over equally often?",
        f"No: it also depends on how sure the machine is. It knows the {easiest['class']} best "
        f"({percent(easiest['machine'], 0)} right alone) and the {hardest['class']} worst "
        f"({percent(hardest['machine'], 0)}). As the sliders stand now, it hands over {percent(means.get(True), 0)} "
        f"of the vehicles and {percent(means.get(False), 0)} of the animals. A case is handed over where the expert's "
        "chance of being right is at least the machine's own.",
    )


def what_seventy_percent_means() -> Answer:
    """Calibration, and how much of an error is noise alone."""
    text, place = step(
        "To decide whether to ask, the network says **P**, the chance that the expert is right. It must be true: "
        "of the cases where it says 70 %, the expert should be right in 70 %. Then it is **calibrated**. Sort cases "
        "into **bins** by what was said, and compare with what came true: the mean gap is the **ECE** (expected "
        "calibration error). Here is a made-up forecaster of when an expert is right, so that you can set how honest "
        "it is."
    )
    with text:
        num_cases = st.select_slider(
            "Cases n",
            (100, 200, 500, 1000, 2000, 5000, 10000),
            500,
            key=key_of("n"),
            bind="query-params",
            persist_state="session",
        )
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
            "Draw number",
            0,
            10_000,
            0,
            key=key_of("draw"),
            bind="query-params",
            persist_state="session",
            help="Another number, another luck.",
        )
        note_setting("Cases n", num_cases)
        note_setting("Draw number", seed)
    drawn = learn_numbers.forecast(int(num_cases), boldness, int(seed))
    error, by_chance = drawn.error(bins), drawn.error_by_chance(bins)
    with place:
        draw_reliability(drawn.reliability(bins), drawn.above_one, FORECASTER, "learn-forecaster")
        st.markdown(
            f"ECE **{percent(error)}**; chance alone would give {percent(by_chance)} on average (n = {num_cases:,}, "
            f"{bins} bins)."
        )
        explain(HOW_TO_READ)
    few, many = (learn_numbers.forecast(n, 1.0, int(seed)) for n in (200, 10_000))
    return Answer(
        "Set the boldness to 1, n to 200 and the bins to 30. The ECE is not 0. Is the forecaster lying?",
        "No: it says exactly the chances that were used to draw what came true. With 200 cases in 30 bins, a few a "
        f"bin, chance alone gives an ECE of {percent(few.error_by_chance(30))} on average, and this draw gave "
        f"{percent(few.error(30))}. With 10,000 cases and 15 bins it would be {percent(many.error_by_chance(15))}. "
        "An ECE means nothing without n and the number of bins; this app shows them beside each one.",
    )


def fit(accuracy: tuple[float, ...]) -> LabResult:
    """The live lab's fit on photographs for an expert of this accuracy a class, few seeds for speed."""
    dataset = LAB_DATASETS[PHOTOS]
    settings = LabSettings(
        PHOTOS, accuracy, "others", dataset.default_noise, False, None, dataset.head, 1.0, SEEDS, 0, False
    )
    return shared.fit_board().get(
        settings,
        lambda on_progress: shared.workers().run(settings, View(), on_progress=on_progress),
        lambda _share: None,
    )


def half_expert(first: float) -> tuple[float, ...]:
    """An accuracy a class: `first` in the first half of the classes, 20 % in the others, as in the paper."""
    count = len(LAB_DATASETS[PHOTOS].class_names)
    return (first,) * (count // 2) + (0.2,) * (count - count // 2)


def draw_reliability(table: pd.DataFrame, above_one: pd.DataFrame, look: Look, key: str) -> None:
    """A reliability diagram of a table of `comparison.reliability`, and of `comparison.above_one`."""
    bounded = all(one.is_bounded.get(key.removeprefix("learn-"), True) for one in SURROGATES.values())
    picture(
        charts.reliability(table, above_one, look, is_bounded=bounded),
        key,
        f"Reliability diagram of {look.title}",
        "; ".join(
            f"says {percent(row['mean_probability'], 0)}, true in {percent(row['share_correct'], 0)} of "
            f"{row['cases']:,.0f}"
            for row in table[table["n"] > 0].to_dict("records")
        ),
    )
