"""About: what this is, the limits of its numbers, privacy, data, licences and versions."""

import re

import streamlit as st

from app.about import facts
from app.kit import glossary
from app.kit.notes import NOT_FOR_DIAGNOSIS
from app.kit.numbers import count, percent
from app.kit.text import plain
from app.sharing import share

PAPER = "https://proceedings.mlr.press/v162/verma22c.html"
WHAT = f"""
Learning to defer trains a classifier that either answers or hands a case to an expert. This is a library for it,
`l2d_core`, with a dashboard on top, based on [Verma and Nalisnick, Calibrated Learning to Defer with One-vs-All
Classifiers (ICML 2022)]({PAPER}). It was written from the paper and is not the authors' own program; the page
"The paper" shows which results are reproduced and which are not. The code is under the MIT licence.
"""
LIMITS = f"""
- **{NOT_FOR_DIAGNOSIS}**, and no advice on any lesion. The networks know seven kinds of
  lesions, assign one of them to any picture, and were tested on published images only.
- **Experts are mostly simulated**, by an accuracy for each class. Real people also err more on hard cases, get
  tired, and answer differently once a machine selects the cases that they see.
- **The networks are small**, smaller than the paper's, so that they run without a GPU. Compare systems with each
  other, not with published records.
- **An interval shows how much a number would vary with other seeds or other cases of the same kind.** It says
  nothing about other cameras, hospitals, people or years.
- **A calibrated estimate is right on average over many cases**, not for a single case, and not necessarily within
  each group of people. An ECE means little without its n and its bins.
- **The better answer does not settle who should answer**: the cost of an error, who is responsible, and who agreed
  to be judged by a machine are not in these numbers.
- **The labels of the tweets** are biased against some dialects. Do not use them to moderate speech.
"""


def privacy() -> str:
    """What is kept about visitors, for how long, and what is sent to others."""
    kept = facts.seconds_kept()
    sends = (
        "**Telemetry**: Streamlit's usage statistics are switched on on this server and are sent to its developers."
        if facts.sends_statistics()
        else "**No telemetry**: Streamlit's usage statistics are off on this server, and pages load nothing from other "
        "servers."
    )
    return f"""
- **Pictures and tables on "Skin lesions"** are kept in the server's memory, for your browser tab only; no file is
  written. "Clear" deletes them at once. After you close the tab, only your browser can return to them, for
  {kept} seconds; then they are deleted.
- **Predictions uploaded on "Compare"** are read and the files deleted at once; their numbers are kept as long as
  pictures are, or until you remove them.
- **Trainings** are written to the server's folder of runs and stay until their owner deletes them. All visitors can
  see and compare them, with their names; only the holder of a training's own link can change it.
- **The live lab** keeps the results of recent settings in memory for all visitors, without recording who asked for
  them. A prediction that a teacher's link asks for stays in your own session.
- {sends} This is set by `gatherUsageStats` in `.streamlit/config.toml`. The pages need no account. The operator of
  this server may keep access logs.
"""


def draw_data() -> None:
    """Data sets with their sources and licences."""
    lines = [f"- **{one.title}.** {one.source}." for one in facts.data_sets()]
    st.markdown("\n".join(lines))
    st.caption("Features and networks that are made from data are under the licence of the data.")


def draw_shipped() -> None:
    """The shipped networks, and the cards of everything that is shipped."""
    try:
        runs = facts.shipped_runs()
        cards = facts.cards()
    except (OSError, ValueError):
        st.error("The shipped files cannot be read on this server.")
        return
    rows = [
        {
            "network": plain(run.name),
            "data": run.dataset,
            "loss": run.surrogate,
            "system accuracy": percent(run.system_accuracy),
            "coverage": percent(run.coverage),
            "n": count(run.test_cases),
        }
        for run in runs
    ]
    if rows:
        st.table(rows, hide_index=True)
    st.caption(
        "n: number of test cases. Features for the live lab and reproduced results of the paper are shipped as well."
    )
    panel = st.expander("Model and data cards", icon=":material/badge:", on_change="rerun")
    if panel.open:
        with panel:
            # Headings start one level below that of this part.
            st.markdown(re.sub(r"^(#+) ", r"##\1 ", cards, flags=re.MULTILINE))


with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("About", anchor=False, width="content")
    st.markdown("What this is, and what its numbers can and cannot tell you", width="content")
with st.container(width=1000):  # a line of text stays short enough to be read
    st.markdown(WHAT)
    st.header("Limits of the numbers", anchor=False)
    st.markdown(LIMITS)
    st.header("Privacy", anchor=False)
    st.markdown(privacy())
    st.header("Glossary", anchor=False)
    glossary.draw_words()
    st.header("Data sets and licences", anchor=False)
    draw_data()
    st.header("Shipped networks", anchor=False)
    draw_shipped()
    st.header("Versions on this server", anchor=False)
    st.markdown(", ".join(f"{name} {version}" for name, version in facts.versions().items()))
    st.header("How to cite", anchor=False)
    share.draw_citation()
