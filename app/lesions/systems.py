"""The shipped networks for skin lesions, loaded once for all sessions, and the expert with whom they are used."""

import threading
from concurrent.futures import Future
from dataclasses import dataclass

import streamlit as st

from app.kit import expert_panel
from app.lesions import state
from l2d_core.datasets import LAB_DATASETS
from l2d_core.evaluation.adjustment import name_classes
from l2d_core.evaluation.similar_cases import Reference
from l2d_core.experts.simulated import per_class
from l2d_core.lesions import system as lesions
from l2d_core.lesions.system import ExpertSystems, LesionSystem

EXPERTS = {"trained": "The paper's dermatologist", "mixer": "The MLP-Mixer", "sliders": "My sliders"}
ABOUT = {
    "trained": "Right as often, class by class, as the paper's expert network. Both networks were trained with this "
    "expert, end to end: their own scores count. It does not look at age, sex and site.",
    "mixer": "An expert network like the paper's, which also sees age, sex and site. The deferral heads are refitted "
    "with what it said of the validation images, on the features of the one-vs-all network.",
    "sliders": "An expert of your own. The deferral heads are refitted, at once, with simulated answers to the "
    "validation images, on the features of the one-vs-all network. This expert does not look at age, sex and site.",
}


@dataclass(frozen=True)
class ExpertChoice:
    """kind: a name in EXPERTS; of "sliders" only, the accuracy in each class and the rule for wrong answers."""

    kind: str
    accuracy: tuple[float, ...] = ()
    wrong: str = ""


def draw_choice() -> ExpertChoice:
    """Draw the choice of the expert into the current container."""
    kind = st.radio(
        "Who is the expert?",
        list(EXPERTS),
        format_func=EXPERTS.get,
        key=state.EXPERT,
        bind="query-params",
    )
    st.caption(ABOUT[kind])
    if kind != "sliders":
        return ExpertChoice(kind)
    dataset = LAB_DATASETS["ham10000"]
    return ExpertChoice(kind, *expert_panel.draw("ham10000", dataset.class_names, dataset.class_titles))


def missing_commands() -> list[str]:
    """The commands that make the networks which this page lacks."""
    return lesions.missing_commands()


@st.cache_resource
def load_in_background() -> Future[LesionSystem]:
    """The shipped networks for skin lesions, loaded once in a thread of their own."""
    loading: Future[LesionSystem] = Future()
    # A daemon, unlike the threads of a pool: a server that is stopped does not wait until the networks are loaded.
    threading.Thread(target=_load_lesions, args=(loading,), daemon=True, name="lesions").start()
    return loading


def _load_lesions(loading: Future[LesionSystem]) -> None:
    try:
        loading.set_result(lesions.load_system())
    except BaseException as problem:  # raised for whoever waits for the result
        loading.set_exception(problem)


def note_on_decisions(expert: ExpertChoice, leader: str, tau: float) -> str:
    """How many decisions on test cases are those with the paper's dermatologist; "" for that one itself."""
    if expert.kind == "trained":
        return ""
    own, trained = (_asked(systems_for(one, tau).reference, leader) for one in (expert, ExpertChoice("trained")))
    same = sum(asks == trained[name] for name, asks in own.items()) / len(own)
    return (
        f"{100 * same:.0f} % of the decisions on test cases are those with the paper's dermatologist. There the whole "
        "networks were trained with the expert, here only the last layer is, on the validation images: so the same "
        "sliders do not give quite the same decisions."
    )


def _asked(reference: Reference, leader: str) -> dict[str, bool]:
    """Id of a test case -> whether it is deferred."""
    scores = reference.scores[leader]
    deferred = name_classes(scores.logits, leader, reference.adjustment).deferred
    return dict(zip(scores.ids.tolist(), deferred.tolist(), strict=True))


@st.cache_resource(max_entries=64, show_spinner=False)
def systems_for(expert: ExpertChoice, tau: float = 0.0) -> ExpertSystems:
    """The systems for an expert and a weight of rare classes, shared by all sessions."""
    return _fitted(expert).weighed(load_in_background().result().prior, tau)


@st.cache_resource(max_entries=32, show_spinner=False)
def _fitted(expert: ExpertChoice) -> ExpertSystems:
    system = load_in_background().result()
    if expert.kind == "sliders":
        return lesions.refit(system, per_class(expert.accuracy, wrong=expert.wrong))
    return lesions.systems_for_mixer(system) if expert.kind == "mixer" else lesions.systems_as_trained(system)
