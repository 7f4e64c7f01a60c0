"""Steps of the lesson on asking: why a machine should defer at all, and to which expert."""

import numpy as np
import streamlit as st

from app.fits import shared
from app.fits.experiment import LabResult
from app.fits.settings import Binning, LabSettings
from app.kit.numbers import percent
from app.learn import charts as learn_charts
from app.learn import numbers as learn_numbers
from app.learn.frame import Answer, explain, picture, slide_share, step
from l2d_core.datasets import LAB_DATASETS

PHOTOS = "cifar10"
VEHICLES = ("airplane", "automobile", "ship", "truck")
SEEDS = 4


def why_ask() -> Answer:
    """Two parties that err on different cases are better together."""
    view = learn_numbers.shipped(learn_numbers.PHOTOS)
    own = learn_numbers.own_choice(view)
    text, place = step(
        f"A **network**, a program that has learned from examples, sorts {len(view):,} small photographs into ten "
        "classes. An expert, here a simulated one, knows some of the classes well. **Learning to defer** trains the "
        "network to say, case by case, whether it should answer or ask. Move the slider: the cases in which asking "
        "gains most are handed over first."
    )
    with text:
        share = slide_share("Handed to the expert", "asked", 0, 100, 0)
    team = learn_numbers.team(view, share)
    with text:
        st.markdown(
            f"- the machine alone is right in **{percent(team.machine.value)}**\n"
            f"- the expert alone in **{percent(team.expert.value)}**\n"
            f"- both together, now, in **{percent(team.system.value)}** of n = {team.system.n:,} photographs"
        )
    curve = learn_numbers.team_curve(view)
    with place:
        machine, expert = team.machine.value or 0.0, team.expert.value or 0.0
        picture(
            learn_charts.team(curve, (share, team.system.value or 0.0), machine, expert),
            "learn-team",
            "Share right against the share handed to the expert",
            f"With {percent(share, 0)} handed over, both together are right in {percent(team.system.value)}; the "
            f"machine alone in {percent(team.machine.value)}, the expert alone in {percent(team.expert.value)}.",
        )
        explain("Curve: both together. Dot: where your slider stands. Dashed: each alone.")
    best = curve.loc[curve["accuracy"].idxmax()]
    return Answer(
        "The expert alone is far worse than the machine. How can asking help at all?",
        f"Because they err on different cases. Of the photographs that the machine gets wrong, the expert gets "
        f"{percent(team.expert_on_machine_errors.value)} right (n = {team.expert_on_machine_errors.n:,}). Left to "
        f"itself the network hands over {percent(own)}; the curve is highest at {percent(best['deferred'], 0)}. Hand "
        "over much more than that, and the expert gets cases that the machine knew better.",
    )


def which_expert() -> Answer:
    """The network learns the expert's strengths."""
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


def fit(accuracy: tuple[float, ...]) -> LabResult:
    """The live lab's fit on photographs for an expert of this accuracy per class, with few seeds for speed."""
    dataset = LAB_DATASETS[PHOTOS]
    settings = LabSettings(
        dataset=PHOTOS,
        accuracy=accuracy,
        wrong="others",
        noise=dataset.default_noise,
        random_labels=False,
        train_size=None,
        head=dataset.head,
        alpha=1.0,
        num_seeds=SEEDS,
        seed=0,
        with_asymmetric=False,
    )
    return shared.fit_board().get(
        settings,
        lambda on_progress: shared.workers().run(settings, Binning(), on_progress=on_progress),
        lambda _share: None,
    )
