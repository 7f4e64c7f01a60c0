"""Live lab: when may we believe that the expert will be right?"""

import time
from collections.abc import Callable

import cached
import numpy as np
import streamlit as st
import torch
from components import lab_results, plane, settings_panel, summary
from components.lab_results import Truth
from components.settings_panel import LabSettings

from l2d_core import lab
from l2d_core.data import Splits
from l2d_core.datasets import LAB_DATASETS
from l2d_core.experts import expert_correct_probability, per_class
from l2d_core.seeds import numpy_generator

CLASS_TRUTH_NOTE = " An estimate sees the image, not the class: even the best one is less spread out than this truth."
DIAGNOSIS_NOTE = "A research demonstration on published images: not for diagnosis, and no advice on any lesion."


def fit_lab(settings: LabSettings, splits: Splits, on_progress: Callable[[float], bool]) -> tuple[lab.LabFit, float]:
    """The fit that these settings ask for, and how long it took in seconds."""
    start = time.perf_counter()
    grid = LAB_DATASETS[settings.dataset].plane
    train = splits.train.sample(settings.train_size, generator=numpy_generator(settings.seed, "subset"))
    fit = lab.fit(
        train,
        splits.test,
        per_class(settings.accuracy, wrong=settings.wrong),
        surrogates=settings.surrogates,
        seeds=settings.seeds,
        config=settings.head,
        options={"softmax": {"alpha": settings.alpha}},
        random_labels=settings.random_labels,
        extra_inputs=None if grid is None else torch.from_numpy(grid()),
        on_progress=on_progress,
    )
    return fit, time.perf_counter() - start


def truth_of(settings: LabSettings, splits: Splits) -> Truth:
    """What is known of the expert on each test case."""
    confusion = per_class(settings.accuracy, wrong=settings.wrong)
    known = LAB_DATASETS[settings.dataset].class_probability
    if known is None:
        truth = confusion.diagonal()[splits.test.labels].numpy()
        return Truth(truth, "from the true class of each case", CLASS_TRUTH_NOTE)
    class_probability = torch.from_numpy(known(splits.test.inputs.numpy(), settings.noise))
    truth = expert_correct_probability(confusion, class_probability).numpy()
    return Truth(np.asarray(truth), "in closed form for each point")


with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Live lab", anchor=False, width="content")
    st.markdown("When may we believe that the expert will be right?", width="content")
with st.sidebar:
    settings = settings_panel.draw()
dataset = LAB_DATASETS[settings.dataset]
if dataset.is_medical:
    st.caption(f":material/medical_information: {DIAGNOSIS_NOTE}")
status = st.empty()
try:
    splits = dataset.load(settings.seed, settings.noise)
    fit, seconds = cached.fit_board().get(
        settings,
        lambda on_progress: fit_lab(settings, splits, on_progress),
        lambda share: status.progress(share, f"Training {settings.num_seeds} seeds: {share:.0%}"),
    )
except (OSError, ValueError) as problem:
    status.error(str(problem))
    st.stop()
num_train = min(settings.train_size, len(splits.train))
status.caption(
    f"Trained {settings.num_seeds} x {len(settings.surrogates)} heads on {num_train:,} cases in {seconds:.2f} s; "
    f"scored on {len(splits.test):,} test cases."
)
truth = truth_of(settings, splits)
table = lab_results.draw(fit, truth)
if dataset.plane is not None and dataset.class_probability is not None:
    points = dataset.plane()
    class_probability = dataset.class_probability(points, settings.noise)
    confusion = per_class(settings.accuracy, wrong=settings.wrong)
    expert = expert_correct_probability(confusion, torch.from_numpy(class_probability)).numpy()
    plane.draw(fit, splits.test, truth.probability, points, class_probability, expert)
st.subheader("All numbers", anchor=False)
summary.draw_table(table)
