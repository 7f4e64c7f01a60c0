"""The whole lesson as one HTML file: each step with its text, the reader's settings, the pictures and the answer."""

import re
from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from app.kit import document, glossary
from app.kit.notes import DIAGNOSIS_NOTE
from app.learn import frame, state
from app.learn.frame import Answer, Sheet

WIDTH, SMALL = 520, 300
Step = tuple[str, Callable[[], Answer]]
Page = tuple[str, Sheet, Answer]


def draw(steps: Sequence[Step], now: int, sheet: Sheet, answer: Answer) -> None:
    """A button that makes the file, then one that saves it. now: the place of the step that is already drawn."""
    with st.container(horizontal=True):
        wanted = st.button(
            "Make a handout",
            icon=":material/description:",
            help="All steps with your settings, the pictures and the answers, as one HTML file to print or to keep",
        )
        if wanted:
            with st.spinner("Drawing all steps ..."):
                pages = _all_pages(steps, now, sheet, answer)
                state.set_handout(html(pages))
        if state.handout():
            st.download_button(
                "Save the handout", state.handout(), "handout.html", "text/html", icon=":material/download:",
                on_click="ignore",
            )  # fmt: skip


def _all_pages(steps: Sequence[Step], now: int, sheet: Sheet, answer: Answer) -> list[Page]:
    """All steps; those that are not on the page are drawn invisibly, with their last settings."""
    pages = []
    with st.container(key="hidden-handout"):
        for place, (title, draw_step) in enumerate(steps):
            if place == now:
                pages.append((title, sheet, answer))
                continue
            with frame.noting(str(place)) as other:
                its_answer = draw_step()
            pages.append((title, other, its_answer))
    return pages


def html(pages: Sequence[Page]) -> str:
    """The file; all text is escaped before its Markdown is read."""
    parts = [
        "<p>When should a machine ask, and why must it be honest about it?</p>",
        f'<p class="note">{DIAGNOSIS_NOTE}</p>',
    ]
    for number, (title, sheet, answer) in enumerate(pages, 1):
        small = SMALL if len(sheet.pictures) > 2 else WIDTH
        figures = [
            f"<figure>{document.svg(document.alone(spec, small))}<figcaption>{escape(name)}</figcaption></figure>"
            for spec, name, _ in sheet.pictures
        ]
        parts += [
            f"<h2>{number}. {escape(title)}</h2><p>{plain_html(sheet.text)}</p>",
            "<p>Set: " + escape("; ".join(f"{label}: {value}" for label, value in sheet.settings)) + "</p>",
            f'<div class="charts">{"".join(figures)}</div>',
            *(f"<p><small>{escape(caption)}</small></p>" for caption in sheet.captions),
            *(f"<p>{escape(words)}</p>" for _, _, words in sheet.pictures if len(words) < 400),
            f"<p><b>Think first.</b> {plain_html(answer.question)}</p><p>{plain_html(answer.answer)}</p>",
        ]
    words = "".join(f"<li><b>{escape(word)}.</b> {escape(meaning)}</li>" for word, meaning, _ in glossary.WORDS)
    return document.page("Learning to defer: a lesson", [*parts, f"<h2>Glossary</h2><ul>{words}</ul>"])


def plain_html(text: str) -> str:
    """The text escaped, with Markdown's bold and italics as HTML."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text))
    return re.sub(r"\*(.+?)\*", r"<i>\1</i>", text)
