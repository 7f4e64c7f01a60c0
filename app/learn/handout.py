"""The whole lesson as one HTML file, with or without the answers: text, the reader's settings, charts, questions."""

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
_START = """<p>When should a machine ask an expert, and how far can its estimates be trusted?</p>
<p class="note">{{ note }}</p>"""
_STEP = """<h2>{{ number }}. {{ title }}</h2><p>{{ text }}</p>
<p>Settings: {{ settings }}</p>
<div class="charts">
{% for svg, name in figures %}<figure>{{ svg }}<figcaption>{{ name }}</figcaption></figure>{% endfor %}
</div>
{% for caption in captions %}<p><small>{{ caption }}</small></p>{% endfor %}
{% for spoken in words %}<p>{{ spoken }}</p>{% endfor %}
<p><b>Think first.</b> {{ question }}</p>
<ul>{% for choice in choices %}<li>{{ choice }}</li>{% endfor %}</ul>
{% if answer %}<p><b>Answer: {{ right }}.</b> {{ answer }}</p>{% else %}<p>Why?</p><p><br><br></p>{% endif %}
"""
_GLOSSARY = """<h2>Glossary</h2>
<ul>{% for word, meaning, _ in words %}<li><b>{{ word }}.</b> {{ meaning }}</li>{% endfor %}</ul>"""
Step = tuple[str, Callable[[], Answer]]
Page = tuple[str, Sheet, Answer]


def draw(steps: Sequence[Step], now: int, sheet: Sheet, answer: Answer) -> None:
    """A button that makes the files, then two that save them. now: the place of the step that is already drawn."""
    with st.container(horizontal=True):
        wanted = st.button(
            "Make a handout",
            icon=":material/description:",
            help="All steps with your settings and charts, as HTML files to print: one for students, one with the "
            "answers",
        )
        if wanted:
            with st.spinner("Drawing all steps ..."):
                pages = _all_pages(steps, now, sheet, answer)
                state.set_handouts(html(pages, with_answers=False), html(pages, with_answers=True))
        labels = ("Save for students", "Save with answers")
        for label, name, file in zip(labels, ("handout", "handout-answers"), state.handouts(), strict=True):
            if file:
                st.download_button(
                    label, file, f"{name}.html", "text/html", icon=":material/download:", on_click="ignore"
                )


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


def html(pages: Sequence[Page], *, with_answers: bool) -> str:
    """The file; all text is escaped before its Markdown is read."""
    steps = [_step_html(number, *page, with_answer=with_answers) for number, page in enumerate(pages, 1)]
    parts = [render(_START, note=DIAGNOSIS_NOTE), *steps, render(_GLOSSARY, words=glossary.WORDS)]
    return document.page("Learning to defer: a lesson", parts)


def _step_html(number: int, title: str, sheet: Sheet, answer: Answer, *, with_answer: bool) -> str:
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
        choices=[plain_html(choice) for choice in answer.choices],
        right=plain_html(answer.right_choice),
        answer=plain_html(answer.answer) if with_answer else "",
    )


def plain_html(text: str) -> Markup:
    """The text escaped, with Markdown's bold and italics as HTML."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(text)))
    return Markup(re.sub(r"\*(.+?)\*", r"<i>\1</i>", text))
