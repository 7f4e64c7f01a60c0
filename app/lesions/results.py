"""The results of a session's pictures: who decides by which rule, the worklist, the opened case, and the CSV."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from app.kit import csv_files
from app.kit.html import render
from app.kit.looks import SYSTEMS
from app.lesions import case as opened_case
from app.lesions import evidence, file_table, judged, state, verdicts, worklist
from app.lesions.state import Entry, LesionSession
from app.lesions.systems import EXPERTS
from app.lesions.verdicts import ASK, BADGES, KEEP, NONE
from app.lesions.worklist import COLORS, Row

PAGE = 200  # rows of the list
_KEPT: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}
_BAR = """
<div class="verdicts" role="img" aria-label="{{ text }}">
{% for one in parts %}
<div style="flex: {{ one.count }} 1 auto; background: {{ one.color }}">{{ one.badge }} <b>{{ one.count }}</b></div>
{% endfor %}
</div>
<style>
.verdicts {display: flex; gap: 2px; font-size: .8rem; color: #10151b; border-radius: .4rem; overflow: hidden;}
.verdicts div {padding: .1rem .6rem; white-space: nowrap; transition: flex-grow .25s;}
</style>
"""


def draw(session: LesionSession, by: judged.Deciding, *, busy: bool) -> None:
    """Draw all results; busy: more pictures wait, so that there is no CSV yet."""
    results = judged.judge(session, by)
    _draw_bar(results)
    _draw_list(results, by)
    rows = file_table.table(
        session, results.readings, results.verdicts, results.deferred, results.class_names, results.answers
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        csv_files.download_button(
            "All files (CSV)", lambda: file_table.for_file(rows, EXPERTS[by.expert]), "skin_lesions.csv", disabled=busy
        )
        st.caption(file_table.count(session), width="content")
    with st.expander("All numbers of all files", icon=":material/table:"):
        file_table.draw(rows)


def draw_rule() -> judged.Rule:
    """Draw which system decides, and which cases it may defer."""
    leader = st.segmented_control(
        "Which system decides?",
        ["one_vs_all", "softmax"],
        default="one_vs_all",
        required=True,
        format_func=lambda name: SYSTEMS[name].title,
        key=state.SYSTEM,
        **_KEPT,
        help="Its risks make the recommendation. Where the other system decides otherwise, the list says so.",
    )
    rule = st.segmented_control(
        "Which cases are asked?",
        list(verdicts.RULES),
        default="budget",
        required=True,
        format_func=verdicts.RULES.get,
        key=state.RULE,
        **_KEPT,
        help="Either at most this share of the images goes to the expert, those first where its score exceeds the "
        "machine's by most; or all where it exceeds it by at least this margin. A share of 100 % and a margin of 0 "
        "leave it to the system itself.",
    )
    if rule == "threshold":
        return judged.Rule(
            leader, rule, st.slider("Margin, in points", -100, 100, 0, key=state.THRESHOLD, **_KEPT) / 100
        )
    return judged.Rule(leader, rule, st.slider("Budget", 0, 100, 100, format="%d %%", key=state.BUDGET, **_KEPT) / 100)


def _draw_bar(results: judged.Results) -> None:
    """The verdicts counted, each picture once, as one bar whose parts move with the rule."""
    kinds = [one.kind for one in results.verdicts.values()]
    parts = [
        {"badge": BADGES[kind], "count": kinds.count(kind), "color": COLORS[kind]}
        for kind in (ASK, KEEP, NONE)
        if kind in kinds
    ]
    text = ", ".join(f"{one['badge']}: {one['count']}" for one in parts)
    st.html(render(_BAR, parts=parts, text=text))


def _draw_list(results: judged.Results, by: judged.Deciding) -> None:
    """The list beside the opened case; the first of the list is open until another one is chosen."""
    with st.container(key="wide-charts-worklist"):
        left, right = st.columns([5, 7], gap="small")
    with left:
        order = st.selectbox(
            "Order",
            list(verdicts.ORDERS),
            format_func=verdicts.ORDERS.get,
            key=state.ORDER,
            label_visibility="collapsed",
            **_KEPT,
        )
    session, entries = results.session, results.session.entries
    files = [(entry.name, results.verdicts.get(entry.digest)) for entry in entries]
    places = verdicts.ordered(files, order)
    opened = next((place for place in places if entries[place].id == session.opened), places[0])
    pages = -(-len(places) // PAGE)
    page = st.pagination(pages, key=state.page_key(session)) if pages > 1 else 1
    shown = places[PAGE * (min(page, pages) - 1) : PAGE * min(page, pages)]
    rows = [_row(results, place) for place in shown]
    if order == "margin":
        rows = _with_lines(rows)
    with left:
        worklist.draw(rows, entries[opened].id, key=state.WORKLIST, on_open=state.take_opened)
    with right:
        _draw_steps(entries, places, opened)
        _draw_case(results, opened, by)


def _draw_steps(entries: Sequence[Entry], places: Sequence[int], opened: int) -> None:
    """The buttons that open the neighbours in the list."""
    place = places.index(opened)
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, icon, key, step in (("Previous", "arrow_upward", "P", -1), ("Next", "arrow_downward", "N", 1)):
            there = 0 <= place + step < len(places)
            target = entries[places[place + step]].id if there else ""
            st.button(
                label,
                icon=f":material/{icon}:",
                shortcut=key,
                disabled=not there,
                on_click=state.open_file,
                args=(target,),
            )
        st.caption(f"{place + 1:,} of {len(places):,}", width="content")


def _draw_case(results: judged.Results, place: int, by: judged.Deciding) -> None:
    entry = results.session.entries[place]
    st.html(opened_case.SHEET)
    if not entry.digest:
        st.html(opened_case.failed(entry, place + 1))
        return
    says = [*judged.same_as(results, place), *judged.expert_says(results, entry)]
    if results.verdicts[entry.digest].kind == NONE:
        says.append(f"Its texture and colours are too far from theirs. {judged.about_the_limit(by.system)}")
    case, reading = results.session.cases[entry.digest], results.readings[entry.digest]
    shown = opened_case.Shown(case, reading, results.verdicts[entry.digest], results.titles, says)
    st.html(opened_case.scored(entry, place + 1, shown))
    if not case.unlike:
        predicted = reading.systems[results.leader].predicted
        evidence.draw(by, entry, case, predicted, results.titles[predicted])


def _row(results: judged.Results, place: int) -> Row:
    entry = results.session.entries[place]
    if not entry.digest:
        return Row(entry.id, "", "failed", "Not read", f"{entry.reason}.", entry.name, [])
    verdict, case = results.verdicts[entry.digest], results.session.cases[entry.digest]
    says = results.titles[results.readings[entry.digest].systems[results.leader].predicted]
    notes = [*filter(None, [verdict.note]), *judged.same_as(results, place)]
    if entry.drawing:
        notes.append("a drawing made by this page")
    return Row(
        entry.id,
        base64.b64encode(case.thumbnail).decode(),
        verdict.kind,
        BADGES[verdict.kind],
        verdict.sentence,
        entry.name if verdict.kind == NONE else f"{entry.name} · machine says {says}",
        notes,
    )


def _with_lines(rows: Sequence[Row]) -> list[Row]:
    """The rows, with a line above the first that is kept."""
    first = next((place for place, row in enumerate(rows) if row.kind == KEEP), None)
    return [
        replace(row, line="From here on the machine's answer is kept") if place == first else row
        for place, row in enumerate(rows)
    ]
