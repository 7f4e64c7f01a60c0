"""The table of all files, failed ones too, and the same as CSV."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from app.kit.looks import ESTIMATORS, SYSTEMS
from app.kit.notes import NOT_FOR_DIAGNOSIS
from app.lesions.state import Entry, LesionSession
from app.lesions.verdicts import BADGES, Verdict
from l2d_core.evaluation.similar_cases import Reading
from l2d_core.lesions.system import NEEDED

SCORED, DOUBLE, FAILED = "scored", "same picture as", "not read"


def table(
    session: LesionSession,
    readings: Mapping[str, Reading],
    verdicts: Mapping[str, Verdict],
    deferred: Mapping[str, Mapping[str, bool]],
    class_names: Sequence[str],
    answers: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """One row per file, in the order of upload; None where a file could not be read, or an answer is not known.

    verdicts: by digest; deferred: of `verdicts.decisions`, without the pictures that get no recommendation; answers:
    entry's id -> the expert network's own answer for that file, where it is the expert.
    """
    rows: list[dict[str, object]] = []
    first_of: dict[str, tuple[int, str]] = {}
    for number, entry in enumerate(session.entries, 1):
        row: dict[str, object] = {"number": number, "file": entry.name, "state": SCORED, "remarks": ""}
        if not entry.digest:
            rows.append(row | {"state": FAILED, "remarks": entry.reason})
            continue
        first, name = first_of.setdefault(entry.digest, (number, entry.name))
        if first != number:
            row["state"] = f"{DOUBLE} {first} ({name})"
        odd = session.patients.notes_of(entry.name) if session.patients else []
        row["remarks"] = "; ".join((*session.cases[entry.digest].warnings, *entry.notes[1:], *odd))
        verdict = verdicts[entry.digest]
        row |= {"verdict": BADGES[verdict.kind], "why": " ".join(filter(None, (verdict.sentence, verdict.note)))}
        row |= _numbers(readings[entry.digest], entry.digest, deferred, class_names)
        if answers is not None:
            row["expert_answer"] = class_names[answers[entry.id]] if entry.id in answers else None
        rows.append(row | _patient(session, entry))
    return pd.DataFrame(rows, columns=_columns(readings, answers is not None, session.patients is not None))


def count(session: LesionSession) -> str:
    """How many files were received, and how many of them were scored, left out and so on."""
    done, read = len(session.entries), [entry for entry in session.entries if entry.digest]
    scored = len(session.first_entries())
    parts = {
        "scored": scored,
        "the same picture as another": len(read) - scored,
        "not read": done - len(read),
        "waiting": len(session.intake),
        "left out": session.left_out,
    }
    total = done + len(session.intake) + session.left_out
    counts = ", ".join(f"{n:,} {what}" for what, n in parts.items() if n or what == "scored")
    return f"{total:,} {'file' if total == 1 else 'files'} received: {counts}."


_WHO = {True: "expert", False: "machine", None: None}


def _numbers(
    reading: Reading, digest: str, deferred: Mapping[str, Mapping[str, bool]], class_names: Sequence[str]
) -> dict[str, object]:
    row: dict[str, object] = {}
    for surrogate, system in reading.systems.items():
        row[f"{surrogate}_class"] = class_names[system.predicted]
        row[f"{surrogate}_machine_risk"] = system.machine.risk
        row[f"{surrogate}_margin"] = system.margin
        row[f"{surrogate}_decides"] = _WHO[deferred.get(surrogate, {}).get(digest)]
    return row | {f"{estimator}_expert_risk": placed.risk for estimator, placed in reading.expert.items()}


def _patient(session: LesionSession, entry: Entry) -> dict[str, str]:
    patient = session.patients.of(entry.name) if session.patients else None
    if patient is None:
        return {}
    return {name: patient[name] for name in NEEDED}


def _columns(readings: Mapping[str, Reading], with_answers: bool, with_patients: bool) -> list[str]:
    reading = next(iter(readings.values()), None)
    columns = ["number", "file", "state"]
    if reading is not None:
        columns += ["verdict", "why"]
        columns += [f"{name}_{kind}" for kind in ("decides", "class", "machine_risk") for name in reading.systems]
        columns += [f"{estimator}_expert_risk" for estimator in reading.expert]
        columns += [f"{name}_margin" for name in reading.systems]
    if with_answers:
        columns.append("expert_answer")
    if with_patients:
        columns += NEEDED
    return [*columns, "remarks"]


def for_file(rows: pd.DataFrame, expert: str) -> pd.DataFrame:
    """The table to be taken away, whose first columns say what it is, and who the expert was."""
    table = rows.copy()
    table.insert(0, "note", NOT_FOR_DIAGNOSIS)
    table.insert(1, "expert", expert)
    return table


def draw(rows: pd.DataFrame) -> None:
    """Draw the table on the page, numbers in percent."""
    shown = rows.copy()
    for column in shown.columns:
        if column.endswith(("_risk", "_margin")):
            shown[column] = 100 * shown[column].astype(float)
        elif column != "number":
            shown[column] = shown[column].astype(object).fillna("")
    with st.container(key="lesion-table"):
        st.dataframe(shown, hide_index=True, column_config=_column_config(), alt="All files with decisions and risks")


def _column_config() -> dict[str, object]:
    """How the columns of the table are shown."""
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    columns: dict[str, object] = {
        "number": number("#", width=50, pinned=True),
        "file": text("file", width=190, pinned=True),
        "state": text("state", width=110),
        "why": text("why", width="large"),
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
