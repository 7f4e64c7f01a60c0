"""The results of a session's pictures: the rule of deferral, cards, the table of all files, and the CSV."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app.kit import csv_files
from app.kit.looks import ESTIMATORS, SYSTEMS
from app.lesions import card as lesion_card
from app.lesions import rows as lesion_rows
from app.lesions import state
from app.lesions.patients import unknown_of
from app.lesions.scoring import expert_answers, scores_of
from app.lesions.state import Entry, LesionSession
from app.lesions.systems import EXPERTS
from l2d_core.datasets import LAB_DATASETS
from l2d_core.evaluation.similar_cases import Reading, read_cases
from l2d_core.lesions.system import ExpertSystems, LesionSystem

CARDS = 6
_KEPT: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}
WORDS = {"age": "age", "sex": "sex", "localization": "site"}


def draw(session: LesionSession, system: LesionSystem, chosen: ExpertSystems, kind: str, *, busy: bool) -> None:
    """Draw all results; kind: of the expert, in EXPERTS; busy: more pictures wait, so that there is no CSV yet."""
    entries = session.first_entries()
    readings = _read(session, chosen, entries)
    answers = expert_answers(session, system) if kind == "mixer" else None
    deferred = _draw_rule(readings) if readings else {}
    titles = [LAB_DATASETS["ham10000"].class_titles.get(name, name) for name in system.class_names]

    def scored(entry: Entry, says: Sequence[str]) -> lesion_card.Scored:
        own = {name: cases[entry.digest] for name, cases in deferred.items()}
        case, reading = session.cases[entry.digest], readings[entry.digest]
        return lesion_card.Scored(case, reading, chosen.reference, titles, own, says)

    _draw_cards(session, scored, titles, answers)
    st.header("All files", anchor=False)
    st.caption(lesion_rows.count(session))
    rows = lesion_rows.table(session, readings, deferred, system.class_names, answers)
    _draw_table(rows)
    csv_files.download_button(
        "All files (CSV)", lambda: lesion_rows.for_file(rows, EXPERTS[kind]), "skin_lesions.csv", disabled=busy
    )


def _read(session: LesionSession, chosen: ExpertSystems, entries: Sequence[Entry]) -> dict[str, Reading]:
    """Digest -> reading, each picture once."""
    if not entries:
        return {}
    scores = scores_of([session.cases[entry.digest] for entry in entries])
    readings = read_cases(chosen.reference, chosen.logits(scores))
    return dict(zip((entry.digest for entry in entries), readings, strict=True))


def _draw_rule(readings: Mapping[str, Reading]) -> dict[str, dict[str, bool]]:
    """Draw the rule's controls and its effect; returns surrogate -> digest -> whether the case is deferred."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        rule = st.segmented_control(
            "Which are deferred?",
            list(lesion_rows.RULES),
            default="budget",
            required=True,
            format_func=lesion_rows.RULES.get,
            key=state.RULE,
            **_KEPT,
            help="Either at most this share of the images goes to the expert, those first where its score exceeds the "
            "machine's by most; or all where it exceeds it by at least this margin. A share of 100 % and a margin of 0 "
            "leave it to the systems themselves.",
        )
        if rule == "threshold":
            value = st.slider("Margin, in points", -100, 100, 0, key=state.THRESHOLD, width=300, **_KEPT) / 100
        else:
            value = st.slider("Budget", 0, 100, 100, format="%d %%", key=state.BUDGET, width=300, **_KEPT) / 100
    deferred = lesion_rows.decisions(readings, rule, value)
    counts = [
        f"{SYSTEMS[name].title}: **{sum(cases.values()):,} of {len(cases):,}** to the expert"
        for name, cases in deferred.items()
    ]
    st.markdown(" · ".join(counts))
    st.caption(
        "Margins and confidences are on each system's own scale: one-vs-all rates each class by itself, so that its "
        "confidences need not add up to 100 %. A risk is 1 - P(right); the dark mark is this picture's place among the "
        "test images."
    )
    return deferred


def _draw_cards(
    session: LesionSession,
    scored: Callable[[Entry, Sequence[str]], lesion_card.Scored],
    titles: Sequence[str],
    answers: Mapping[str, int] | None,
) -> None:
    """Draw a page of cards; scored: what the card of an entry shows, given what the expert says of it."""
    st.html(lesion_card.SHEET)
    numbered = list(enumerate(session.entries, 1))
    pages = -(-len(numbered) // CARDS)
    page = 1
    if pages > 1:
        page = min(st.pagination(pages, key=state.page_key(session)), pages)
    first_of: dict[str, tuple[Entry, int]] = {}
    for number, entry in numbered:
        first_of.setdefault(entry.digest, (entry, number))
    for number, entry in numbered[CARDS * (page - 1) : CARDS * page]:
        says = [] if answers is None or not entry.digest else _expert_says(session, entry, answers, titles)
        if not entry.digest:
            card = lesion_card.failed(entry, number)
        elif first_of[entry.digest][1] != number:
            card = lesion_card.copy(entry, number, *first_of[entry.digest], says)
        else:
            card = lesion_card.scored(entry, number, scored(entry, says))
        with st.container(border=True):
            st.html(card)


def _expert_says(session: LesionSession, entry: Entry, answers: Mapping[str, int], titles: Sequence[str]) -> list[str]:
    """Sentences: the expert network's own answer or why there is none, and what is odd in the table's row."""
    patient = session.patients.of(entry.name) if session.patients else None
    notes = session.patients.notes_of(entry.name) if session.patients else []
    odd = [f"{note[0].upper()}{note[1:]}." for note in notes]
    if entry.key in answers and patient is not None:
        person = f"{patient['age']} years, {patient['sex']}, {patient['localization']}"
        return [f"The MLP-Mixer itself, told of {person}, says: {titles[answers[entry.key]]}.", *odd]
    unknown = unknown_of(patient)
    lacking = " and ".join(", ".join(WORDS[name] for name in unknown).rsplit(", ", 1))
    is_given = any(f" {name} " in note for name in unknown for note in notes)
    why = "which the table gives in no way that it knows" if is_given else "which the table does not give"
    return [f"The MLP-Mixer's own answer needs {lacking}, {why}: none is invented.", *odd]


def _draw_table(rows: pd.DataFrame) -> None:
    shown = rows.copy()
    for column in shown.columns:
        if column.endswith(("_risk", "_margin")):
            shown[column] = 100 * shown[column].astype(float)
        elif column != "number":
            shown[column] = shown[column].astype(object).fillna("")
    with st.container(key="lesion-table"):
        st.dataframe(shown, hide_index=True, column_config=_columns(), alt="All files with decisions and risks")


def _columns() -> dict[str, object]:
    """How the columns of the table are shown."""
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    columns: dict[str, object] = {
        "number": number("#", width=50, pinned=True),
        "file": text("file", width=190, pinned=True),
        "state": text("state", width=110),
        "remarks": text("remarks", width="large"),
        "expert_answer": "expert says",
        "localization": "site",
    }
    for name, look in SYSTEMS.items():
        columns[f"{name}_decides"] = f"{look.title} decides"
        columns[f"{name}_class"] = f"{look.title} says"
        columns[f"{name}_machine_risk"] = number(f"machine risk, {look.title}", format="%.1f %%")
        columns[f"{name}_margin"] = number(
            f"margin, {look.title}", format="%.1f", help="expert minus machine, in points"
        )
    for name, look in ESTIMATORS.items():
        columns[f"{name}_expert_risk"] = number(f"expert risk, {look.title}", format="%.1f %%")
    return columns
