"""The live lab's controls: the data set, the expert, undo, the data, and the head."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.fits.settings import LabSettings
from app.kit import expert_panel
from app.lab import people_panel, state
from app.sharing.teaching import TeacherSettings
from l2d_core.config import HEADS, HeadConfig
from l2d_core.datasets import LAB_DATASETS, LabDataset

DRAGGING_SEEDS = 2  # while a slider is dragged; in full when it is released


def draw(teacher: TeacherSettings = TeacherSettings()) -> LabSettings:  # noqa: B008 (frozen)
    """Draw all controls into the current container; without what a teacher has hidden or locked."""
    locked = teacher.locked
    with _group("data_set", teacher):
        name = st.selectbox(
            "Data set",
            list(LAB_DATASETS),
            format_func=state.title_of,
            key=state.DATA,
            persist_state="session",
            disabled="data_set" in locked,
            help="Heads are trained on fixed features of real images, on digits, or on points whose truth is known.",
        )
    state.begin(name)
    dataset = LAB_DATASETS[name]
    with _group("expert", teacher):
        people, accuracy, wrong = _draw_expert(name, dataset, "expert" in locked)
    moves = st.container(horizontal=True, gap="small")
    with _group("data", teacher), st.expander("Data", icon=":material/database:"):
        noise, random_labels, train_size = _draw_data(name, dataset, bool(people), "data" in locked)
    with _group("head", teacher), st.expander("Model", icon=":material/tune:"):
        head, alpha, with_asymmetric = _draw_head(name, dataset, "head" in locked)
    with _group("seeds", teacher), st.expander("Seeds", icon=":material/casino:"):
        num_seeds, seed = _draw_seeds("seeds" in locked)
    state.note_move()
    with moves:  # drawn last: whether there is a move to undo is known only now
        _draw_moves("seeds" in locked or "seeds" in teacher.hidden)
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


def while_dragging(settings: LabSettings) -> LabSettings:
    """The same with few seeds, for results that follow a slider."""
    return replace(settings, num_seeds=min(settings.num_seeds, DRAGGING_SEEDS))


def _group(name: str, teacher: TeacherSettings) -> DeltaGenerator:
    """A container for a group of controls. What is hidden is drawn all the same: its widgets hold their settings."""
    return st.container(key=f"hidden-{name}" if name in teacher.hidden else f"shown-{name}")


def _draw_expert(name: str, dataset: LabDataset, is_locked: bool) -> tuple[str, tuple[float, ...], str]:
    """Whose recorded answers are taken, or the accuracy per class and the rule for wrong answers."""
    people = people_panel.draw(name, disabled=is_locked) if dataset.people is not None else ""
    if people:
        return people, (), ""
    return "", *expert_panel.draw(
        name,
        dataset.class_names,
        dataset.class_titles,
        disabled=is_locked,
        on_move=state.set_dragging,
        with_hint=True,
    )


def _draw_moves(is_locked: bool) -> None:
    for by, label, icon in ((-1, "Undo", ":material/undo:"), (1, "Redo", ":material/redo:")):
        st.button(label, icon=icon, on_click=state.step, args=(by,), disabled=not state.can_step(by))
    st.button(
        "Shuffle",
        icon=":material/casino:",
        on_click=state.shuffle,
        disabled=is_locked,
        help="Take another seed: another split, other answers, other first weights",
    )


def _draw_data(name: str, dataset: LabDataset, by_people: bool, is_locked: bool) -> tuple[float, bool, int | None]:
    noise = st.slider(
        dataset.noise_name,
        dataset.min_noise,
        dataset.max_noise,
        step=0.05,
        key=f"{name}_noise",
        persist_state="session",
        disabled=is_locked,
    )
    sizes = [*(size for size in state.TRAIN_SIZES if size < dataset.num_train), state.ALL]
    train_size = st.select_slider(
        "Training cases",
        sizes,
        key=f"{name}_size",
        persist_state="session",
        disabled=is_locked,
        help="Drawn at random from the training part; the test part stays whole.",
    )
    random_labels = st.toggle(
        "Random training labels",
        key="random_labels",
        persist_state="session",
        disabled=by_people or is_locked,
        help="The paper's 'random data': each training label is drawn uniformly over the classes, and the expert "
        "answers by it. The test labels stay true. Where classes are unequal, as in HAM10000, the expert is then right "
        "more or less often in the test than in training, and every estimator is off for that reason alone.",
    )
    st.caption(f"Source: {dataset.source}.")
    return noise, random_labels and not by_people, None if train_size == state.ALL else int(train_size)


def _draw_head(name: str, dataset: LabDataset, is_locked: bool) -> tuple[HeadConfig, float, bool]:
    kind = st.radio(
        "Head",
        HEADS,
        format_func=state.HEAD_TITLES.get,
        key=f"{name}_head",
        persist_state="session",
        disabled=is_locked,
    )
    epochs = st.slider("Epochs", 1, 60, key=f"{name}_epochs", persist_state="session", disabled=is_locked)
    alpha = st.slider(
        "alpha of softmax",
        0.0,
        1.0,
        step=0.05,
        key="alpha",
        persist_state="session",
        disabled=is_locked,
        help="Weight of the class term where the expert is right. Only 1 is consistent, and only with 1 are the odds "
        "an estimate of P(the expert is right); the paper uses 1.",
    )
    with_asymmetric = st.toggle(
        "Asymmetric softmax too",
        key="asymmetric",
        persist_state="session",
        disabled=is_locked,
        help="A fourth estimator, from the bounded softmax of Cao and others (2023).",
    )
    return replace(dataset.head, kind=kind, epochs=epochs), alpha, with_asymmetric


def _draw_seeds(is_locked: bool) -> tuple[int, int]:
    num_seeds = st.slider(
        "Seeds",
        1,
        16,
        key="seeds",
        persist_state="session",
        disabled=is_locked,
        help="How many times each loss is trained, with its own expert answers and batches (and first weights: a "
        "linear head starts at 0). Numbers are means with a 95 % interval over the seeds, for one split and one set of "
        "test cases, those of the first seed. Another split changes accuracies more: shuffle to see.",
    )
    seed = st.number_input("First seed", 0, state.MAX_SEED, key=state.SEED, persist_state="session", disabled=is_locked)
    return num_seeds, int(seed)
