"""The simulated expert's controls: a preset, one slider per class, the rule for wrong answers, the matrix."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import streamlit as st

from l2d_core.experts.simulated import PRESETS, WRONG_RULES, per_class

OWN = "own"
WRONG_TITLES = {"others": "Any other class, evenly", "all": "Any class, evenly (may be right by luck)"}


def draw(
    dataset: str, class_names: Sequence[str], titles: Mapping[str, str], *, disabled: bool = False
) -> tuple[tuple[float, ...], str]:
    """Draw the controls; returns the accuracy per class, in 0..1, and the rule for wrong answers.

    titles: labels of the sliders of classes that are not shown by their names.
    """
    above = st.container()
    st.caption("How often it knows the answer, by true class:")
    for name, default in zip(class_names, _percents(dataset_default(class_names), class_names, 0), strict=True):
        st.slider(
            titles.get(name, name),
            0,
            100,
            default,
            format="%d %%",
            key=_key(dataset, name),
            bind="query-params",
            disabled=disabled,
        )
    accuracy = tuple(st.session_state[_key(dataset, name)] / 100 for name in class_names)
    wrong = st.selectbox(
        "Where the expert does not know",
        WRONG_RULES,
        format_func=WRONG_TITLES.get,
        key="wrong",
        bind="query-params",
        disabled=disabled,
        help="With the second choice a guess can hit the true class, as in the authors' code: 75 % of ten classes "
        "is then right in 77.5 %.",
    )
    with above:  # drawn last: the sliders have the values of a link only once they are drawn
        _draw_preset(dataset, class_names, disabled)
    matrix = st.expander("The expert as a matrix", icon=":material/grid_on:", on_change="rerun")
    if matrix.open:
        with matrix:
            _draw_matrix(accuracy, wrong, class_names)
    return accuracy, wrong


def settings_keys(dataset: str, class_names: Sequence[str]) -> dict[str, Callable[[str], str] | None]:
    """The keys of its settings, each with the function that writes its value in an address; None: as it is."""
    return {_key(dataset, name): None for name in class_names} | {"wrong": WRONG_TITLES.__getitem__}


def set_expert(dataset: str, class_names: Sequence[str], accuracy: Sequence[float], wrong: str) -> None:
    """Set the controls, before they are drawn, to an accuracy per class, in 0..1, and a rule for wrong answers."""
    for name, value in zip(class_names, accuracy, strict=True):
        st.session_state[_key(dataset, name)] = round(100 * value)
    st.session_state["wrong"] = wrong


def dataset_default(class_names: Sequence[str]) -> str:
    """The first preset: the dermatologist if her classes are the data set's, otherwise the paper's 75/20."""
    return "dermatologist" if PRESETS["dermatologist"].fits(class_names) else "half"


def _draw_preset(dataset: str, class_names: Sequence[str], disabled: bool) -> None:
    offered = [name for name, preset in PRESETS.items() if preset.fits(class_names)]
    k_key = f"{dataset}_k"
    current, k = _matching_preset(dataset, class_names, offered)
    # A menu, not a select box: it has no value that a message sent before the last answer could restore.
    st.menu_button(
        "Expert: own setting" if current == OWN else f"Expert: {PRESETS[current].title}",
        offered,
        format_func=lambda name: PRESETS[name].title,
        key=f"{dataset}_preset",
        on_click=_take_preset,
        args=(dataset, tuple(class_names)),
        icon=":material/person:",
        width="stretch",
        disabled=disabled,
        help="An expert to start from: sets the slider of each class",
    )
    st.button(
        "Reset the expert",
        icon=":material/restart_alt:",
        on_click=_set_accuracies,
        args=(dataset, tuple(class_names), dataset_default(class_names)),
        disabled=disabled,
        help="Back to this data set's first expert",
    )
    if current != OWN:
        st.caption(PRESETS[current].look_at)
    if current != OWN and PRESETS[current].takes_k:
        if st.session_state.get(k_key) != k:
            st.session_state[k_key] = k
        st.slider(
            "k: classes that the expert knows",
            0,
            len(class_names),
            key=k_key,
            disabled=disabled,
            on_change=_set_accuracies,
            args=(dataset, tuple(class_names), current),
        )


def _matching_preset(dataset: str, class_names: Sequence[str], offered: Sequence[str]) -> tuple[str, int]:
    """The preset that matches the sliders, with its k; the last chosen one if several match, OWN if none does."""
    now = [st.session_state[_key(dataset, name)] for name in class_names]
    wrong, last_k = st.session_state["wrong"], _k(dataset, class_names)
    tried = [
        last_k,
        *(k for k in range(len(class_names) + 1) if k != last_k),
    ]  # a link has the sliders' values but no k
    fitting = {}
    for name in (one for one in offered if PRESETS[one].wrong == wrong):
        ks = tried if PRESETS[name].takes_k else [last_k]
        k = next((k for k in ks if _percents(name, class_names, k) == now), None)
        if k is not None:
            fitting[name] = k
    last = st.session_state.get(f"{dataset}_chosen")
    current = last if last in fitting else next(iter(fitting), OWN)
    return current, fitting.get(current, last_k)


def _k(dataset: str, class_names: Sequence[str]) -> int:
    return st.session_state.get(f"{dataset}_k", min(5, len(class_names)))


def _take_preset(dataset: str, class_names: Sequence[str]) -> None:
    _set_accuracies(dataset, class_names, st.session_state[f"{dataset}_preset"])


def _set_accuracies(dataset: str, class_names: Sequence[str], preset: str) -> None:
    k = _k(dataset, class_names)
    for name, percent in zip(class_names, _percents(preset, class_names, k), strict=True):
        st.session_state[_key(dataset, name)] = percent
    st.session_state["wrong"] = PRESETS[preset].wrong
    st.session_state[f"{dataset}_chosen"] = preset


def _percents(preset: str, class_names: Sequence[str], k: int) -> list[int]:
    return [round(100 * value) for value in PRESETS[preset].accuracy(class_names, k).tolist()]


def _draw_matrix(accuracy: Sequence[float], wrong: str, class_names: Sequence[str]) -> None:
    matrix = pd.DataFrame(
        per_class(accuracy, wrong=wrong).numpy() * 100, index=list(class_names), columns=list(class_names)
    )
    st.caption("P(answer | true class) in percent: a row a true class, a column an answer.")
    st.dataframe(matrix.style.format("{:.0f}"), height="content")


def _key(dataset: str, class_name: str) -> str:
    return f"{dataset}_{class_name}"
