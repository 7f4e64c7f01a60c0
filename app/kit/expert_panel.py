"""The simulated expert's controls: a preset, one slider per class, the rule for wrong answers, the matrix."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from app.kit import class_sliders
from app.kit.class_sliders import Row
from app.kit.settings import Setting, begin, choice, whole
from l2d_core.config import WRONG_RULES
from l2d_core.experts.presets import PRESETS

OWN = "own"
WRONG_TITLES = {"others": "Any other class, evenly", "all": "Any class, evenly (may be right by luck)"}
K = "k"  # the row of the preset that takes a number of classes


def draw(
    dataset: str,
    class_names: Sequence[str],
    titles: Mapping[str, str],
    *,
    disabled: bool = False,
    on_move: Callable[[bool], None] = lambda is_released: None,
    with_hint: bool = False,
) -> tuple[tuple[float, ...], str]:
    """Draw the controls; returns the accuracy per class, in 0..1, and the rule for wrong answers.

    titles: labels of the sliders of classes that are not shown by their names. on_move: called when a slider has sent
    a value, with whether it was released. with_hint: a preset says what to look at in the live lab.
    """
    begin(settings(dataset, class_names))
    current, k = _matching_preset(dataset, class_names)
    _draw_preset(dataset, class_names, current, disabled, with_hint)
    rows = [Row("", "All classes")]
    if current != OWN and PRESETS[current].takes_k:
        rows = [Row(K, "k: classes that the expert knows", k, len(class_names), ""), *rows]
    rows += [Row(name, titles.get(name, name), st.session_state[_key(dataset, name)]) for name in class_names]

    def take(values: Mapping[str, int], is_released: bool) -> None:
        if values.get(K, k) != k:
            st.session_state[f"{dataset}_k"] = values[K]
            _set_accuracies(dataset, class_names, current)
        else:
            for name in class_names:
                st.session_state[_key(dataset, name)] = values[name]
        on_move(is_released)

    class_sliders.draw(
        "Expert's accuracy, by true class", rows, key=f"{dataset}_sliders", on_move=take, disabled=disabled
    )
    accuracy = tuple(st.session_state[_key(dataset, name)] / 100 for name in class_names)
    details = st.expander("Wrong answers", icon=":material/grid_on:", on_change="rerun")
    with details:
        wrong = st.selectbox(
            "Where the expert does not know the answer",
            WRONG_RULES,
            format_func=WRONG_TITLES.get,
            key="wrong",
            persist_state="session",
            disabled=disabled,
            help="With the second choice a guess can hit the true class, as in the authors' code: 75 % of ten classes "
            "becomes 77.5 %.",
        )
        if details.open:
            _draw_matrix(accuracy, wrong, class_names)
    return accuracy, wrong


def settings(dataset: str, class_names: Sequence[str]) -> dict[str, Setting]:
    """Its settings by key."""
    default = _percents(dataset_default(class_names), class_names, 0)
    accuracies = {
        _key(dataset, name): whole(0, 100, percent) for name, percent in zip(class_names, default, strict=True)
    }
    return accuracies | {"wrong": choice(WRONG_TITLES)}


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


def name_of_expert(dataset: str, class_names: Sequence[str]) -> str:
    """The title of the preset that the sliders match, or "own setting"."""
    current, _ = _matching_preset(dataset, class_names)
    return "own setting" if current == OWN else PRESETS[current].title


def _draw_preset(dataset: str, class_names: Sequence[str], current: str, disabled: bool, with_hint: bool) -> None:
    offered = _offered(class_names)
    hint = PRESETS[current].look_at if with_hint and current != OWN else ""
    # A menu, not a select box: it has no value that a message sent before the last answer could restore.
    st.menu_button(
        "Expert: own setting" if current == OWN else f"Expert: {PRESETS[current].title}",
        offered,
        format_func=lambda name: PRESETS[name].title,
        key=f"{dataset}_preset",
        on_click=lambda: _set_accuracies(dataset, class_names, st.session_state[f"{dataset}_preset"]),
        icon=":material/person:",
        width="stretch",
        disabled=disabled,
        help=f"An expert to start from: sets the slider of each class. {hint}",
    )


def _offered(class_names: Sequence[str]) -> list[str]:
    return [name for name, preset in PRESETS.items() if preset.fits(class_names)]


def _matching_preset(dataset: str, class_names: Sequence[str]) -> tuple[str, int]:
    """The preset that matches the sliders, with its k; the last chosen one if several match, OWN if none does."""
    now = [st.session_state[_key(dataset, name)] for name in class_names]
    wrong, last_k = st.session_state["wrong"], _k(dataset, class_names)
    tried = [last_k, *(k for k in range(len(class_names) + 1) if k != last_k)]  # a link holds no k
    fitting = {}
    for name in (one for one in _offered(class_names) if PRESETS[one].wrong == wrong):
        ks = tried if PRESETS[name].takes_k else [last_k]
        k = next((k for k in ks if _percents(name, class_names, k) == now), None)
        if k is not None:
            fitting[name] = k
    last = st.session_state.get(f"{dataset}_chosen")
    names = sorted(fitting, key=lambda name: PRESETS[name].takes_k)  # a plain one before one that needs its k
    current = last if last in fitting else next(iter(names), OWN)
    return current, fitting.get(current, last_k)


def _k(dataset: str, class_names: Sequence[str]) -> int:
    return st.session_state.get(f"{dataset}_k", min(5, len(class_names)))


def _set_accuracies(dataset: str, class_names: Sequence[str], preset: str) -> None:
    k = _k(dataset, class_names)
    for name, percent in zip(class_names, _percents(preset, class_names, k), strict=True):
        st.session_state[_key(dataset, name)] = percent
    st.session_state["wrong"] = PRESETS[preset].wrong
    st.session_state[f"{dataset}_chosen"] = preset


def _percents(preset: str, class_names: Sequence[str], k: int) -> list[int]:
    return [round(100 * value) for value in PRESETS[preset].accuracy(class_names, k).tolist()]


def _draw_matrix(accuracy: Sequence[float], wrong: str, class_names: Sequence[str]) -> None:
    import pandas as pd  # the page is drawn before it is needed, and so is torch

    from l2d_core.experts.simulated import per_class

    matrix = pd.DataFrame(
        per_class(accuracy, wrong=wrong).numpy() * 100, index=list(class_names), columns=list(class_names)
    )
    st.caption("P(answer | true class) in percent: one row per true class, one column per answer.")
    st.dataframe(matrix.style.format("{:.0f}"), height="content")


def _key(dataset: str, class_name: str) -> str:
    return f"{dataset}_{class_name}"
