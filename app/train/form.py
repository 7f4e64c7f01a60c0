"""The settings of a new training: data, networks, systems, expert, and how they are trained."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from app.jobs.menu import DATASETS, NETWORKS, QUICK, TrainDataset, first_start, network_of
from app.kit import expert_panel
from app.train import state
from l2d_core.common.paths import DATA_ROOT
from l2d_core.config import (
    AUGMENTATIONS,
    CLASS_WEIGHTS,
    MAX_EPOCHS,
    OPTIMIZERS,
    PRECISIONS,
    SCHEDULES,
    ExpertConfig,
    RunConfig,
)
from l2d_core.surrogates import SURROGATES

SETTINGS = (
    "epochs",
    "batch_size",
    "learning_rate",
    "optimizer",
    "momentum",
    "weight_decay",
    "schedule",
    "warmup_epochs",
    "augment",
    "class_weights",
    "precision",
    "patience",
    "redraw_answers",
    "reference",
    "seed",
    "split_seed",
)
# What the choices of `RunConfig` are called here, where their names do not say it.
WORDS = {
    "none": "off",
    "sgd": "SGD (Nesterov)",
    "adamw": "AdamW",
    "adam": "Adam",
    "cosine_warmup": "cosine with warm-up",
    "one_cycle": "one cycle",
    "flip": "flips",
    "crop_flip": "shifts and flips",
    "crop_flip_colour": "shifts, flips and colours",
    "sqrt": "square root of balanced",
}
KINDS = {"per_class": "Simulated", "human": "People", "learned": "Trained network"}


@dataclass(frozen=True)
class Plan:
    """What is to be trained: one config per surrogate; or why that cannot be."""

    dataset: str
    configs: Mapping[str, RunConfig]
    problem: str = ""


def draw() -> Plan:
    """Draw the settings into the current container."""
    if not state.has("epochs"):  # all but the expert, which may come from the live lab
        _fill(first_start("digits"), tuple(SURROGATES)[:2])
    name = _draw_dataset()
    dataset = DATASETS[name]
    network = _draw_network(dataset)
    surrogates = st.pills(
        "Systems",
        list(SURROGATES),
        selection_mode="multi",
        format_func=lambda key: SURROGATES[key].title,
        key=state.key("surrogates"),
        persist_state="session",
        help="The surrogate losses. Each one is a training of its own, with the same settings otherwise.",
    )
    settings = _draw_settings()
    expert = _draw_expert(name, dataset)
    missing = _missing(name)
    if missing:
        return Plan(name, {}, f"{dataset.lab.title} is not on this server. {missing}")
    if not surrogates:
        return Plan(name, {}, "Choose at least one system.")
    try:
        choice = NETWORKS[network]
        config = RunConfig(
            dataset=name,
            model=choice.model,
            model_options=choice.options,
            surrogate=surrogates[0],
            expert=ExpertConfig(**expert),
            **settings,
        )
    except ValueError as problem:
        return Plan(name, {}, str(problem))
    return Plan(name, {surrogate: replace(config, surrogate=surrogate) for surrogate in surrogates})


def fill(config: RunConfig, surrogates: tuple[str, ...]) -> None:
    """Set all widgets to a config; an expert that has no widgets leaves them as they are."""
    _fill(config, surrogates)
    expert, lab = config.expert, DATASETS[config.dataset].lab
    state.set_setting(f"{config.dataset}_kind", expert.kind if expert.kind in KINDS else "per_class")
    if expert.kind == "human":
        state.set_setting("people", expert.name)
    if expert.kind == "per_class":
        accuracy = expert.accuracy * (len(lab.class_names) if len(expert.accuracy) == 1 else 1)
        expert_panel.set_expert(config.dataset, lab.class_names, accuracy, expert.wrong)


def quick() -> None:
    """Set all widgets to a run that ends in seconds."""
    fill(DATASETS["digits"].starts[QUICK], tuple(SURROGATES)[:2])


def _fill(config: RunConfig, surrogates: tuple[str, ...]) -> None:
    state.set_setting("dataset", config.dataset)
    state.set_setting("surrogates", list(surrogates))
    _fill_settings(config)


def _fill_settings(config: RunConfig) -> None:
    state.set_setting("network", network_of(config) or DATASETS[config.dataset].networks[0])
    for name in SETTINGS:
        state.set_setting(name, getattr(config, name))


def _draw_dataset() -> str:
    return st.selectbox(
        "Data set",
        list(DATASETS),
        format_func=_dataset_title,
        key=state.key("dataset"),
        persist_state="session",
        on_change=lambda: _fill_settings(first_start(state.setting("dataset"))),
        help="For a data set that is not on this server the page says how to get it.",
    )


def _dataset_title(name: str) -> str:
    note = " (not on this server)" if _missing(name) else ""
    return DATASETS[name].lab.title + note


@st.cache_data(show_spinner=False, ttl=60)
def _missing(name: str) -> str:
    """How to get a data set that is not on this server; "" for one that is."""
    return DATASETS[name].missing(DATA_ROOT)


def _draw_network(dataset: TrainDataset) -> str:
    st.menu_button(
        "Presets",
        list(dataset.starts),
        key=state.key("start"),
        on_click=lambda: _fill_settings(dataset.starts[state.setting("start")]),
        icon=":material/tune:",
        width="stretch",
        help="Sets the network and everything below it, except the expert",
    )
    if state.setting("network") not in dataset.networks:
        state.set_setting("network", network_of(next(iter(dataset.starts.values()))))
    return st.selectbox(
        "Network",
        dataset.networks,
        format_func=lambda key: NETWORKS[key].title,
        help="The paper uses Wide ResNet 28-4 for CIFAR-10 and ResNet34 for HAM10000. EfficientNet-Lite0 and ResNet34 "
        "start from ImageNet weights; the first stages of EfficientNet-Lite0 are frozen.",
        key=state.key("network"),
        persist_state="session",
    )


def _draw_expert(name: str, dataset: TrainDataset) -> dict[str, Any]:
    """The fields of an `ExpertConfig`."""
    kinds = ["per_class", *(["human"] if dataset.people else []), *(["learned"] if dataset.trained_expert else [])]
    kind = "per_class"
    if len(kinds) > 1:
        state.set_setting(f"{name}_kind", state.setting(f"{name}_kind", "per_class"))
        kind = st.segmented_control(
            "Who is the expert?",
            kinds,
            required=True,
            format_func=lambda key: KINDS[key],
            key=state.key(f"{name}_kind"),
            persist_state="session",
        )
    if kind == "human":
        who = st.selectbox(
            "Annotators",
            list(dataset.people),
            format_func=lambda key: dataset.people[key],
            key=state.key("people"),
            persist_state="session",
            help="Recorded answers to these very images. On the test images, the answer of one person of CIFAR-10H is "
            "drawn for each image.",
        )
        return {"kind": "human", "name": who}
    if kind == "learned":
        st.caption("An MLP-Mixer trained on the same training images. It also sees age, sex and site.")
        return {"kind": "learned", "name": dataset.trained_expert}
    with st.expander("Expert", icon=":material/person:", expanded=True):
        accuracy, wrong = expert_panel.draw(name, dataset.lab.class_names, dataset.lab.class_titles)
    return {"kind": "per_class", "accuracy": accuracy, "wrong": wrong}


def _draw_settings() -> dict[str, Any]:
    """Each of SETTINGS."""
    with st.expander("Training", icon=":material/tune:"):
        _number("Epochs (maximum)", "epochs", "One epoch passes over each training case once.", most=MAX_EPOCHS)
        _number("Batch size", "batch_size", "Cases per step.")
        _rate("Learning rate", "learning_rate", "The highest rate of the schedule.")
        _choice("Optimiser", "optimizer", OPTIMIZERS)
        _choice("Learning-rate schedule", "schedule", SCHEDULES)
        _number("Warm-up epochs", "warmup_epochs", "For the cosine schedule with warm-up only.", least=0)
        _choice("Augmentation", "augment", AUGMENTATIONS)
        st.number_input(
            "Patience",
            1,
            None,
            None,  # so that it can be emptied
            1,
            key=state.key("patience"),
            persist_state="session",
            placeholder="never stop early",
            help="Stop after this many epochs without a lower validation loss. Empty: never.",
        )
    with st.expander("More settings", icon=":material/settings:"):
        _rate("Momentum", "momentum", "Of SGD; for Adam and AdamW, beta 1.")
        _rate("Weight decay", "weight_decay", "For all weights.")
        _choice("Class weights", "class_weights", CLASS_WEIGHTS)
        _choice("Precision", "precision", PRECISIONS)
        _toggle("Redraw the answers in each epoch", "redraw_answers", "Only for simulated experts.")
        _toggle(
            "As the paper's authors ran it",
            "reference",
            "Losses in bits, new answers in each batch and evaluation, batch statistics in evaluation.",
        )
        _number("Seed", "seed", "For initial weights, batches, augmentation and the expert's answers.", least=0)
        _number("Seed of the split", "split_seed", "Determines which cases are used for training.", least=0)
    return {name: state.setting(name) for name in SETTINGS}


def _number(label: str, name: str, text: str, least: int = 1, most: int = 10**9) -> None:
    st.number_input(label, least, most, step=1, key=state.key(name), persist_state="session", help=text)


def _rate(label: str, name: str, text: str) -> None:
    st.number_input(label, 0.0, None, step=None, format="%g", key=state.key(name), persist_state="session", help=text)


def _choice(label: str, name: str, options: tuple[str, ...]) -> None:
    words = {option: WORDS.get(option, option) for option in options}
    st.selectbox(label, options, format_func=lambda key: words[key], key=state.key(name), persist_state="session")


def _toggle(label: str, name: str, text: str) -> None:
    st.toggle(label, key=state.key(name), persist_state="session", help=text)
