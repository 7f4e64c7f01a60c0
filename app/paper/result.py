"""A result of the paper on its page: how it was made, its figure, what the numbers say, and all of them."""

import re
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.kit import csv_files
from app.kit.notes import DIAGNOSIS_NOTE, MEDICAL_ICON
from app.kit.numbers import count
from app.kit.text import plain
from app.paper import results, words
from app.paper.figures import FIGURES
from l2d_core.evaluation.measures import measure_title
from l2d_core.reproductions.designs import say_design
from l2d_core.reproductions.findings import Finding
from l2d_core.reproductions.reproduction import Reproduction, say_trainings
from l2d_core.reproductions.stored import StoredReproduction

MANY_FINDINGS, FIRST_FINDINGS = 12, 6
LESIONS = "HAM10000"  # in the name of a setting


def draw(stored: StoredReproduction, name: str) -> None:
    """Draw all of it."""
    result = stored.result
    st.header(plain(result.title), anchor=False)
    manifest = stored.manifest
    st.caption(plain(say_design(name, manifest.scale, as_authors=manifest.reference)))
    st.caption(plain(_about(stored)))
    if name == "ham10000" or result.table["setting"].str.startswith(LESIONS).any():
        st.warning(DIAGNOSIS_NOTE, icon=MEDICAL_ICON)
    if result.findings:
        st.markdown(f"{len(result.findings)} findings: {words.tally(result.findings)}")
    FIGURES[name](result)
    _draw_findings(result.findings)
    _draw_numbers(result.table)
    with st.expander("Differences in the setup", icon=":material/difference:"):
        st.markdown("\n".join(f"- {plain(note)}" for note in result.notes))
    _draw_downloads(result, f"{name}-{stored.manifest.scale}")


def _about(stored: StoredReproduction) -> str:
    """Scale, seeds, trainings, wall time and versions."""
    manifest, trainings = stored.manifest, say_trainings(stored.result)
    seeds = "1 seed" if len(manifest.seeds) == 1 else f"{len(manifest.seeds)} seeds"
    as_authors = ", as the authors ran it" if manifest.reference else ""
    versions = ", ".join(f"{package} {version}" for package, version in manifest.versions.items() if version)
    return (
        f"Scale {manifest.scale}: {results.SCALES[manifest.scale].words}{as_authors}; {seeds}; "
        f"{trainings + '; tables ' if trainings else ''}made in {manifest.seconds:,.1f} s with {versions}."
    )


def _draw_findings(findings: Sequence[Finding]) -> None:
    st.header("Findings", anchor=False)
    first = len(findings) if len(findings) <= MANY_FINDINGS else FIRST_FINDINGS
    st.markdown(_lines(findings[:first]))
    if findings[first:]:
        with st.expander(f"{len(findings) - first} more", icon=":material/unfold_more:"):
            st.markdown(_lines(findings[first:]))


def _lines(findings: Sequence[Finding]) -> str:
    """One line per finding, after the icon of its kind."""
    return "  \n".join(f"{words.FINDINGS[finding.kind].icon} {plain(finding.text)}" for finding in findings)


def _draw_numbers(table: pd.DataFrame) -> None:
    shown = _texts(table)
    known = shown[shown["paper"] != ""]
    if len(known):
        st.header("Our numbers and the paper's", anchor=False)
        names = ["setting", "measure", "of"]  # cells are Markdown
        st.table(known.assign(**known[names].map(plain)).set_index("setting"))
        st.caption(
            "Ours: mean ± half the width of the 95 % interval over seeds (Student's t): how much it would vary with "
            "other trainings, not with other test cases. Differences are of pairs with the same seed. n is the number "
            "of cases per seed, on average where seeds differ."
        )
    with st.expander(f"All {len(shown)} numbers", icon=":material/table:"):
        st.dataframe(shown, hide_index=True, height=420)


def _texts(table: pd.DataFrame) -> pd.DataFrame:
    """The numbers as text, one row each."""
    rows = [
        (
            one["setting"],
            measure_title(one["measure"]),
            words.title_of(one["surrogate"], one["estimator"]),
            words.estimate(one),
            words.paper(one),
            count(one["n"]),
            str(one["seeds"]),
        )
        for one in table.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=["setting", "measure", "of", "ours", "paper", "n", "seeds"])


def _draw_downloads(result: Reproduction, name: str) -> None:
    """Buttons for the tables as CSV, as they were stored."""
    tables = {"numbers": result.table, **result.details}
    with st.container(horizontal=True):
        for part, table in tables.items():
            csv_files.download_button(
                f"{re.sub('_', ' ', part).capitalize()} (CSV)",
                table,
                f"{name}-{part}.csv",
                key=f"download-{part}",
            )
