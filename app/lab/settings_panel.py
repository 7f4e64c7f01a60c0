"""The live lab's controls: the expert, the data, the head and the seeds."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.fits.settings import LabSettings
from app.kit import expert_panel
from app.lab import people_panel, state
from app.sharing.teaching import TeacherSettings
from l2d_core.config import HEADS, HeadConfig
from l2d_core.datasets import LAB_DATASETS, LabDataset

TRAIN_SIZES = (100, 300, 1000, 3000)
ALL = "all"
MAX_SEED = 2**31 - 1


def draw(teacher: TeacherSettings = TeacherSettings()) -> LabSettings:  # noqa: B008 (frozen)
    """Draw all controls into the current container, the expert first; without what a teacher has hidden or locked."""
    locked = teacher.locked
    with _group("data_set", teacher):
        name = st.selectbox(
            "Data set",
            list(LAB_DATASETS),
            format_func=state.title_of,
            key="data",
            bind="query-params",
            disabled="data_set" in locked,
            help="Heads are trained on fixed features of real images, on digits, or on points whose truth is known.",
        )
    dataset = LAB_DATASETS[name]
    with _group("expert", teacher):
        disabled = "expert" in locked
        people = people_panel.draw(name, disabled=disabled) if dataset.people is not None else ""
        accuracy, wrong = ((), "")
        if not people:
            accuracy, wrong = expert_panel.draw(name, dataset.class_names, dataset.class_titles, disabled=disabled)
    with _group("data", teacher), st.expander("Data", icon=":material/database:"):
        noise, random_labels, train_size = _draw_data(name, dataset, bool(people), "data" in locked)
    with _group("head", teacher), st.expander("Head and losses", icon=":material/tune:"):
        head, alpha, with_asymmetric = _draw_head(name, dataset, "head" in locked)
    with _group("seeds", teacher):
        num_seeds, seed = _draw_seeds("seeds" in locked)
    return LabSettings(
        dataset=name,
        accuracy=accuracy,
        wrong=wrong,
        noise=noise,
        random_labels=random_labels,
        train_size=train_size,
        head=head,
        alpha=alpha,
        num_seeds=num_seeds,
        seed=seed,
        with_asymmetric=with_asymmetric,
        people=people,
    )


def _group(name: str, teacher: TeacherSettings) -> DeltaGenerator:
    """A container for a group of controls. What is hidden is drawn all the same: its widgets hold their settings."""
    return st.container(key=f"hidden-{name}" if name in teacher.hidden else f"shown-{name}")


def _draw_data(name: str, dataset: LabDataset, by_people: bool, is_locked: bool) -> tuple[float, bool, int | None]:
    noise = st.slider(
        dataset.noise_name,
        dataset.min_noise,
        dataset.max_noise,
        dataset.default_noise,
        0.05,
        key=f"{name}_noise",
        bind="query-params",
        disabled=is_locked,
    )
    sizes = [*(size for size in TRAIN_SIZES if size < dataset.num_train), ALL]
    train_size = st.select_slider(
        "Training cases",
        sizes,
        ALL,
        key=f"{name}_size",
        bind="query-params",
        disabled=is_locked,
        help="Drawn at random from the training part; the test part stays whole.",
    )
    random_labels = st.toggle(
        "Random training labels",
        key="random_labels",
        bind="query-params",
        disabled=by_people or is_locked,
        help="The paper's 'random data': each training label is drawn uniformly over the classes, and the expert "
        "answers by it. The test labels stay true: where classes are unequal, as in HAM10000, the expert is then right "
        "more or less often in the test than in training, and every estimator is off for that reason alone.",
    )
    st.caption(f"Source: {dataset.source}.")
    return noise, random_labels and not by_people, None if train_size == ALL else int(train_size)


def _draw_head(name: str, dataset: LabDataset, is_locked: bool) -> tuple[HeadConfig, float, bool]:
    default = dataset.head
    kind = st.radio(
        "Head",
        HEADS,
        HEADS.index(default.kind),
        format_func=state.HEAD_TITLES.get,
        key=f"{name}_head",
        bind="query-params",
        disabled=is_locked,
    )
    epochs = st.slider("Epochs", 1, 60, default.epochs, key=f"{name}_epochs", bind="query-params", disabled=is_locked)
    alpha = st.slider(
        "alpha of softmax",
        0.0,
        1.0,
        1.0,
        0.05,
        key="alpha",
        bind="query-params",
        disabled=is_locked,
        help="Weight of the class term where the expert is right. Only 1 is consistent, and only with 1 are the odds "
        "an estimate of P(the expert is right); the paper uses 1.",
    )
    with_asymmetric = st.toggle(
        "Asymmetric softmax too",
        key="asymmetric",
        bind="query-params",
        disabled=is_locked,
        help="A fourth estimate, from the bounded softmax of Cao and others (2023).",
    )
    return replace(default, kind=kind, epochs=epochs), alpha, with_asymmetric


def _draw_seeds(is_locked: bool) -> tuple[int, int]:
    num_seeds = st.slider(
        "Seeds",
        1,
        16,
        8,
        key="seeds",
        bind="query-params",
        disabled=is_locked,
        help="How many times each loss is trained, with its own expert answers and batches (and first weights: a "
        "linear head starts at 0). Numbers are means with a 95 % interval over the seeds, for one split and one set of "
        "test cases, those of the first seed: another split moves accuracies more than that. Shuffle to see.",
    )
    state.begin_with_seed_0()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = st.number_input("First seed", 0, MAX_SEED, key=state.SEED, bind="query-params", disabled=is_locked)
        st.button(
            "Shuffle", icon=":material/casino:", on_click=state.shuffle, disabled=is_locked, help="Take another seed"
        )
    return num_seeds, int(seed)
