"""The layout of a step of the lesson: text and controls beside charts, then a question to commit an answer to.

Steps are drawn within `noting`, which records them in a `Sheet`; the handout is made of sheets.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.kit import section
from app.kit.charts import Spec
from app.learn.state import SETTINGS, choice_key, commit, committed, key_of


@dataclass(frozen=True)
class Answer:
    """The question at the end of a step, the choices, the place of the right one, and the reasons; Markdown."""

    question: str
    choices: tuple[str, ...]
    right: int
    answer: str

    @property
    def right_choice(self) -> str:
        return self.choices[self.right]


@dataclass
class Sheet:
    """The content of a step: text (Markdown), settings (label and value), charts (specification, name, words).

    name: unique per step, for keys.
    """

    name: str
    text: str = ""
    settings: list[tuple[str, str]] = field(default_factory=list)
    pictures: list[tuple[Spec, str, str]] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)


_SHEET: ContextVar[Sheet] = ContextVar("sheet")


@contextmanager
def noting(name: str) -> Iterator[Sheet]:
    """Record what a step draws within the context."""
    sheet = Sheet(name)
    token = _SHEET.set(sheet)
    try:
        yield sheet
    finally:
        _SHEET.reset(token)


def step(text: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Draw a step's text; returns the column below it, for controls, and the column for the chart."""
    with st.container(key=f"wide-charts-learn-{_SHEET.get().name}"):
        left, right = st.columns([5, 7], gap="large")
    _draw_text(left, text)
    return left, right


def step_above(num_pictures: int, text: str) -> tuple[DeltaGenerator, list[DeltaGenerator]]:
    """Like `step`, for several charts in a row below the text and the controls."""
    left, right = st.columns([7, 5], gap="large", vertical_alignment="bottom")
    _draw_text(left, text)
    with st.container(key=f"charts-learn-{_SHEET.get().name}"):
        return right, st.columns(num_pictures)


def slide(label: str, key: str, low: Any, high: Any, step: Any = None, **options: Any) -> Any:
    """A slider that starts at its value in `state.SETTINGS`, and whose setting is in the address."""
    value = st.slider(
        label, low, high, SETTINGS[key], step, key=key_of(key), bind="query-params", persist_state="session", **options
    )
    note_setting(label, options.get("format", "%s").replace("%d", "%s") % value)
    return value


def slide_share(label: str, key: str, low: int, high: int, step: int = 1) -> float:
    """A slider in percent; returns the share, in 0..1."""
    return slide(label, key, low, high, step, format="%d %%") / 100


def note_setting(label: str, value: Any) -> None:
    """Record a setting that is not made by `slide`."""
    _SHEET.get().settings.append((label, str(value)))


def picture(spec: Spec, key: str, name: str, words: str) -> None:
    """Draw a chart with its text for screen readers."""
    section.chart(spec, key, name, words)
    _SHEET.get().pictures.append((spec, name, words))


def explain(text: str) -> None:
    """Draw a caption, such as how to read a chart; plain text."""
    st.caption(text)
    _SHEET.get().captions.append(text)


def ask(answer: Answer, step: str) -> None:
    """Draw the question with its choices, and the answer once the reader has committed to a choice."""
    with st.container(border=True, key=f"question-{step}"):
        st.markdown(f"**Think first.** {answer.question}")
        choice = committed().get(step)
        st.radio(
            "Your answer",
            answer.choices,
            index=None if choice not in answer.choices else answer.choices.index(choice),
            key=choice_key(step),
            disabled=choice is not None,
            label_visibility="collapsed",
        )
        if choice is None:
            st.button("Commit to this answer", key=f"commit-{step}", on_click=commit, args=(step,))
            return
        is_right = choice == answer.right_choice
        said = "Right." if is_right else f"Not quite: “{answer.right_choice}” is right."
        st.markdown(f"{':material/check_circle:' if is_right else ':material/cancel:'} **{said}** {answer.answer}")


def _draw_text(column: DeltaGenerator, text: str) -> None:
    column.markdown(text)
    _SHEET.get().text = text
