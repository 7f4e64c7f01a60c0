"""What is compared: chips of the chosen systems, and the table of all runs."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from app.compare import board, state
from app.compare.board import Comparison
from app.jobs import ownership
from app.jobs.run_index import run_index
from app.jobs.runs import HERE, MAX_SYSTEMS
from app.kit.numbers import bins_in_words
from app.kit.text import plain
from l2d_core.evaluation.measures import MEASURES, name_of_column
from l2d_core.runs.index import differing_settings
from l2d_core.runs.progress import clock
from l2d_core.runs.table import BINS, STRATEGY

TABLE = "runs"
WHERE = {"shipped": "shipped", "here": "this machine"}
# Settings that always have a column; those that differ follow.
FIXED = ("dataset", "surrogate")
SCORES = {"system_accuracy": "accuracy", "coverage": MEASURES["coverage"].words, "ece": MEASURES["ece"].words}
MAX_DIFFERENT = 12


def all_runs() -> pd.DataFrame:
    """The table of all runs, with a progress bar while they are read; the page stops if the folder cannot be read."""
    status = st.empty()
    try:
        runs = run_index().get(
            lambda done, total: status.progress(done / max(total, 1), f"Reading runs: {done:,} of {total:,}")
        )
    except OSError as problem:
        status.error(f"{problem.strerror}.")
        st.stop()
    status.empty()
    return runs


def draw_chosen(runs: pd.DataFrame, chosen: Sequence[str]) -> None:
    """The chosen systems as chips, each of which removes its system."""
    names = dict(zip(runs["key"], runs["name"], strict=True))
    names |= {key: system.name for key, system in state.uploads().systems().items()}
    if not chosen:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        shown = [names[key] for key in chosen]
        for key in chosen:
            where = WHERE.get(key.partition("/")[0], "upload")
            is_alone = shown.count(names[key]) == 1
            st.button(
                plain(names[key] if is_alone else f"{names[key]}, {where}"),
                key=f"chip-{key}",
                icon=":material/close:",
                help=f"Remove ({where})",
                on_click=state.remove,
                args=(key, chosen),
            )
        st.caption(f"{len(chosen)} of at most {MAX_SYSTEMS}", width="content")


def draw_uploads_alone(chosen: Sequence[str]) -> None:
    """Offer to show each upload by itself, where it does not go with the others."""
    own = state.uploads().systems()
    with st.container(horizontal=True):
        for key in (key for key in chosen if key in own and len(chosen) > 1):
            label = f"Show only {plain(own[key].name)}"
            st.button(label, key=f"alone-{key}", icon=":material/filter_1:", on_click=state.choose, args=([key],))


def draw_table(runs: pd.DataFrame, chosen: Sequence[str]) -> None:
    """The table of all runs, to filter, to sort and to choose from."""
    panel = st.expander(f"Choose runs ({len(runs):,})", icon=":material/table_rows:", on_change="rerun", key="all-runs")
    if not (panel.open or not chosen):
        return
    with panel:
        if runs.empty:
            st.info("There are no runs yet. You can train one on the page Train.")
            return
        found = _filtered(runs)
        st.caption(
            "Select a row to add that run; click on a column title to sort. Runs with a problem cannot be added."
        )
        key = state.renewable_key(TABLE)
        st.dataframe(
            run_table(found, chosen),
            hide_index=True,
            height=min(420, 38 + 35 * max(len(found), 1)),
            key=key,
            on_select=lambda: _take(key, found, chosen),
            selection_mode="multi-row",
            column_config=_columns(),
            placeholder="",
            alt="All runs",
        )


def _filtered(runs: pd.DataFrame) -> pd.DataFrame:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Find", placeholder="part of a name, setting or problem", key="run_find", width=300)
        known = sorted({one.get("dataset", "") for one in runs["settings"]} - {""})
        datasets = st.multiselect("Data set", known, key="run_datasets", width=300)
        mine = ownership.owned_ids()
        if mine and st.toggle("Show only mine", key="run_mine", help="The trainings that you started in this tab"):
            runs = runs[runs["key"].isin([f"{HERE}/{job_id}" for job_id in mine])]
    return filter_runs(runs, text, datasets)


def filter_runs(runs: pd.DataFrame, text: str, datasets: Sequence[str]) -> pd.DataFrame:
    """The runs that contain every word of the text, of these data sets, or of all if none is named."""
    keep = [not datasets or one.get("dataset") in datasets for one in runs["settings"]]
    words = text.lower().split()
    if words:
        hay = [
            " ".join(map(str, row)).lower()
            for row in zip(runs["name"], runs["key"], runs["settings"], runs["problem"], strict=True)
        ]
        keep = [one and all(word in line for word in words) for one, line in zip(keep, hay, strict=True)]
    return runs[keep].reset_index(drop=True)


def _take(key: str, found: pd.DataFrame, chosen: Sequence[str]) -> None:
    """Add the selected rows, and clear the table's selection."""
    rows = [found.iloc[place] for place in state.selected(key).get("rows", []) if place < len(found)]
    for row in rows:
        if row["problem"]:
            state.note(f"{row['name']} cannot be chosen: {row['problem']}.")
    state.add([row["key"] for row in rows if not row["problem"]], chosen)
    state.renew(TABLE)


def run_table(runs: pd.DataFrame, chosen: Sequence[str]) -> pd.DataFrame:
    """The table as the page shows it: one row per run."""
    settings = runs["settings"].tolist()
    table: dict[str, object] = {
        "": ["✓" if key in chosen else "" for key in runs["key"]],
        "run": runs["name"],
        "from": [WHERE[root] for root in runs["root"]],
    }
    if (runs["problem"] != "").any():
        table["problem"] = runs["problem"]
    table |= {name: [one.get(name, "") for one in settings] for name in FIXED}
    for measure, title in SCORES.items():
        table[title] = pd.array([_measure(one, measure) for one in runs["measures"]], dtype="Float64")
    table |= {
        "n": pd.array([_number(value) for value in runs["test_cases"]], dtype="Int64"),
        "epochs": pd.array([_number(value) for value in runs["epochs_done"]], dtype="Int64"),
        "time": ["" if _number(value) is None else clock(value) for value in runs["wall_seconds"]],
        "device": [value if isinstance(value, str) else "" for value in runs["device"]],
        "changed": [datetime.fromtimestamp(at, UTC) for at in runs["changed"]],
    }
    different = [name for name in differing_settings(runs) if name not in FIXED][:MAX_DIFFERENT]
    table |= {name: [_setting(one.get(name)) for one in settings] for name in different}
    return pd.DataFrame(table)


def _measure(measures: Mapping[str, float], name: str) -> float | None:
    """A measure; "ece" is that of the first estimator, by which the system decides."""
    if name != "ece":
        return measures.get(name)
    return next((value for key, value in measures.items() if name_of_column(key) == "ece"), None)


def _number(value: object) -> float | None:
    """A finite number of the table of runs, else None."""
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _setting(value: object) -> str:
    return "" if value is None else str(value)[:80]


def _columns() -> dict:
    share = st.column_config.NumberColumn(format="percent")
    columns: dict = dict.fromkeys(SCORES.values(), share)
    ece = f"ECE: {MEASURES['ece'].help}. Here over {bins_in_words(BINS, STRATEGY)}, of n test cases"
    columns[SCORES["ece"]] = st.column_config.NumberColumn(format="percent", help=ece)
    columns["changed"] = st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm")
    columns["problem"] = st.column_config.TextColumn(width="medium")
    columns["run"] = st.column_config.TextColumn(pinned=True)
    return columns


def comparison_of(runs: pd.DataFrame, chosen: Sequence[str]) -> Comparison:
    """The chosen systems on the same cases; made once for as long as they stay the same. ValueError as in `align`."""
    rows = {row["key"]: row for row in runs[runs["key"].isin(chosen)].to_dict("records")}
    uploads = state.uploads()
    validations = tuple(uploads.validation_of.items())
    version = (validations, *((key, rows[key]["changed"] if key in rows else 0.0) for key in chosen))

    def make() -> Comparison:
        if all(key in rows for key in chosen):
            return board.comparison(version, [rows[key] for key in chosen])
        own = uploads.systems()
        return Comparison([board.compare_system(rows[key]) if key in rows else own[key] for key in chosen])

    return state.comparison(version, make)
