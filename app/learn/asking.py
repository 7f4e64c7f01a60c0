"""Steps of the lesson on asking: why a machine should defer at all, and to which expert."""

import numpy as np
import streamlit as st

from app.fits import parts, shared
from app.fits.settings import Binning, LabSettings
from app.fits.tables import LabResult
from app.kit.numbers import percent
from app.learn import charts as learn_charts
from app.learn import numbers as learn_numbers
from app.learn.frame import Answer, explain, picture, slide_share, step
from l2d_core.datasets import LAB_DATASETS

PHOTOS = "cifar10"
VEHICLES = ("airplane", "automobile", "ship", "truck")
SEEDS = 4
MOST_ASKED = 40  # percent that can be deferred in the first step: the gain would be too small to see beside all


def why_ask() -> Answer:
    """Two parties that err on different cases are better together."""
    view = learn_numbers.shipped(learn_numbers.PHOTOS)
    own = learn_numbers.own_choice(view)
    text, place = step(
        f"A **network**, a program that has learned from examples, sorts {len(view):,} small photographs into ten "
        "classes. An expert, here a simulated one, knows some of the classes well. **Learning to defer** trains the "
        "network to decide, case by case, whether to answer or to ask. Move the slider: the cases in which asking "
        "should gain most are deferred first."
    )
    with text:
        share = slide_share("Share deferred to the expert", "asked", 0, MOST_ASKED)
    team = learn_numbers.team(view, share)
    machine, system = team.machine.value or 0.0, team.system.value or 0.0
    with text:
        st.markdown(
            f"- The machine alone is right in **{percent(machine)}** of n = {team.system.n:,} photographs.\n"
            f"- The expert alone is right in **{percent(team.expert.value)}**.\n"
            f"- Together they are right in **{percent(system)}**: {100 * (system - machine):+.1f} points."
        )
    curve = learn_numbers.team_curve(view)
    with place:
        picture(
            learn_charts.team(curve[curve["deferred"] <= MOST_ASKED / 100], (share, system), machine),
            "learn-team",
            "Accuracy against the share deferred to the expert",
            f"With {percent(share, 0)} deferred, both together are right in {percent(system)}; the machine alone in "
            f"{percent(machine)}, the expert alone in {percent(team.expert.value)}.",
        )
        explain("Curve: machine and expert together. Dot: your slider. Dashed: the machine alone.")
    best = curve.loc[curve["accuracy"].idxmax()]
    return Answer(
        "The expert alone is far worse than the machine. How can asking help at all?",
        (
            "It cannot, unless the expert is better than the machine on average.",
            "The expert is right on many of the cases that the machine gets wrong.",
            "The network learns the classes better when an expert is there.",
        ),
        1,
        f"Of the photographs that the machine gets wrong, the expert gets "
        f"{percent(team.expert_on_machine_errors.value)} right (n = {team.expert_on_machine_errors.n:,}). By its own "
        f"rule the network defers {percent(own)}; accuracy is highest at {percent(best['deferred'], 0)}. Beyond that, "
        "the expert gets cases that the machine would have got right.",
    )


def which_expert() -> Answer:
    """The network learns the expert's strengths."""
    classes = LAB_DATASETS[PHOTOS].class_names
    text, place = step(
        "Which cases to defer depends on **the** expert. Choose one who is good at vehicles, at animals, or at "
        "nothing. Each time you release a slider, the last layer of the network, which decides, is trained for the "
        "new expert; that takes a fraction of a second. It still decides case by case, and keeps the photographs that "
        "it is sure of."
    )
    with text:
        vehicles = slide_share("The expert is right about vehicles in", "vehicles", 0, 100, 5)
        animals = slide_share("The expert is right about animals in", "animals", 0, 100, 5)
    accuracy = tuple(vehicles if name in VEHICLES else animals for name in classes)
    scores = fit(accuracy).scores["one_vs_all"]
    table = learn_numbers.share_handed_over(scores, classes).assign(
        machine=learn_numbers.machine_alone(scores, classes)
    )
    with place:
        picture(
            learn_charts.by_class(table),
            "learn-classes",
            "Share deferred and the machine's own accuracy, by class",
            "; ".join(f"{row['class']}: {percent(row['share'], 0)} deferred" for row in table.to_dict("records")),
        )
        explain("Bars: share of each class that is deferred. Triangles: accuracy of the machine alone.")
    hardest, easiest = table.loc[table["machine"].idxmin()], table.loc[table["machine"].idxmax()]
    means = {
        name: float(np.average(part["share"], weights=part["n"]))
        for name, part in table.groupby(table["class"].isin(VEHICLES))
    }
    return Answer(
        "Set both sliders to 60 %. Is the same share of every class now deferred?",
        (
            "Yes, because the expert is equally good at all classes.",
            "No, because the machine is not equally good at all classes.",
        ),
        1,
        f"A case is deferred where the expert is at least as likely to be right as the machine. The machine is best at "
        f"the {easiest['class']} class ({percent(easiest['machine'], 0)} right) and worst at the {hardest['class']} "
        f"class ({percent(hardest['machine'], 0)}). With the sliders as they are now, it defers "
        f"{percent(means.get(True), 0)} of the vehicles and {percent(means.get(False), 0)} of the animals.",
    )


def fit(accuracy: tuple[float, ...]) -> LabResult:
    """The live lab's fit on photographs for an expert of this accuracy per class, with few seeds for speed."""
    settings = LabSettings.plain(PHOTOS, LAB_DATASETS[PHOTOS], accuracy, SEEDS)
    return shared.fit_board().get(
        settings,
        lambda on_progress: parts.fit(shared.workers(), settings, Binning(), on_progress),
        lambda _share: None,
    )
