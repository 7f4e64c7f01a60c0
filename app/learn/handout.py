"""The whole lesson as one HTML file: each step with its text, the reader's settings, the pictures and the answer."""

import re
from collections.abc import Callable, Sequence

import streamlit as st
from markupsafe import Markup, escape

from app.kit import document, glossary
from app.kit.html import render
from app.kit.notes import DIAGNOSIS_NOTE
from app.learn import frame, state
from app.learn.frame import Answer, Sheet

WIDTH, SMALL = 520, 300  # of charts, in pixels
MAX_WORDS = 400  # longer texts, which list every bar, are left to the charts
_START = """<p>When should a machine ask, and why must it be honest about it?</p><p class="note">{{ note }}</p>"""
_STEP = """<h2>{{ number }}. {{ title }}</h2><p>{{ text }}</p>
<p>Set: {{ settings }}</p>
<div class="charts">
{% for svg, name in figures %}<figure>{{ svg }}<figcaption>{{ name }}</figcaption></figure>{% endfor %}
</div>
{% for caption in captions %}<p><small>{{ caption }}</small></p>{% endfor %}
{% for spoken in words %}<p>{{ spoken }}</p>{% endfor %}
<p><b>Think first.</b> {{ question }}</p><p>{{ answer }}</p>
"""
_GLOSSARY = """<h2>Glossary</h2>
<ul>{% for word, meaning, _ in words %}<li><b>{{ word }}.</b> {{ meaning }}</li>{% endfor %}</ul>"""
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
    steps = [_step_html(number, *page) for number, page in enumerate(pages, 1)]
    parts = [render(_START, note=DIAGNOSIS_NOTE), *steps, render(_GLOSSARY, words=glossary.WORDS)]
    return document.page("Learning to defer: a lesson", parts)


def _step_html(number: int, title: str, sheet: Sheet, answer: Answer) -> str:
    width = SMALL if len(sheet.pictures) > 2 else WIDTH
    return render(
        _STEP,
        number=number,
        title=title,
        text=plain_html(sheet.text),
        settings="; ".join(f"{label}: {value}" for label, value in sheet.settings),
        figures=[(Markup(document.svg(document.alone(spec, width))), name) for spec, name, _ in sheet.pictures],
        captions=sheet.captions,
        words=[words for _, _, words in sheet.pictures if len(words) < MAX_WORDS],
        question=plain_html(answer.question),
        answer=plain_html(answer.answer),
    )


def plain_html(text: str) -> Markup:
    """The text escaped, with Markdown's bold and italics as HTML."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(text)))
    return Markup(re.sub(r"\*(.+?)\*", r"<i>\1</i>", text))
