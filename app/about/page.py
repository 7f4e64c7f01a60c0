"""About: what is this, what is in it, and what may be made of its numbers?"""

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
Learning to defer trains a network that either answers or hands a case to an expert. This is a library for it,
`l2d_core`, and a dashboard around it, made after [Verma and Nalisnick, Calibrated Learning to Defer with One-vs-All
Classifiers (ICML 2022)]({PAPER}). It is written anew from the paper and is not the authors' own program; the page
"The paper" says where its results come out the same and where they do not. The code is under the MIT licence.
"""
LIMITS = f"""
- **{NOT_FOR_DIAGNOSIS}**, and no advice on any lesion. The networks know seven kinds of
  lesions, name one of them for any picture, and have been tested on published images only.
- **Experts are mostly simulated**, by how often they are right in each class. People also err more on hard cases,
  tire, and answer otherwise once a machine has chosen what they see.
- **Networks are small** here, and smaller than the paper's, so that they run without a GPU: compare systems
  with each other, not with records.
- **An interval says how much the number would move with other seeds or other cases of the same kind.** It says
  nothing of other cameras, hospitals, people or years.
- **A calibrated number is true on average over many cases**, not of the case before you; over all test cases, and
  not in each group of people. An ECE means nothing without its n and its bins.
- **Who answers better is not who should answer**: what an error costs, who is responsible, and who agreed to be
  judged by a machine are not in these numbers.
- **The tweets' labels** are biased against some dialects: not for moderating anybody's speech.
"""


def privacy() -> str:
    """What is kept about visitors, for how long, and what is sent to others."""
    kept = facts.seconds_kept()
    sends = (
        "**Telemetry**: Streamlit's usage statistics are switched on on this server, and go to its makers."
        if facts.sends_statistics()
        else "**No telemetry**: Streamlit's usage statistics are off on this server. The pages load nothing from other "
        "servers."
    )
    return f"""
- **Pictures and tables on "Skin lesions"** are held in the server's memory, for your browser tab alone; no file is
  written. "Clear" frees them at once. After the tab is closed nobody but your browser can come back to them, for
  {kept} seconds; then nobody can, and soon after the memory is freed.
- **Predictions on "Compare"** are read and the files let go of at once; the numbers in them stay as long as
  pictures do, or until you remove them.
- **Trainings** are written into the server's folder of runs, and stay until their owner deletes them. All visitors
  can see them, with the names given to them, and compare them; only who holds a training's own link can change it.
- **The live lab** keeps the results of recent settings in memory for all visitors, without who asked for them.
- {sends} `gatherUsageStats` in `.streamlit/config.toml` says so. The pages need no account. Who runs this server
  may keep logs of visits.
"""


def draw_data() -> None:
    """Data sets with their sources and licences."""
    lines = [f"- **{one.title}.** {one.source}." for one in facts.data_sets()]
    st.markdown("\n".join(lines))
    st.caption("What is made from data, as features and networks are, keeps the licence of the data.")


def draw_shipped() -> None:
    """The shipped networks, and the cards of all that is shipped."""
    try:
        runs = facts.shipped_runs()
        cards = facts.cards()
    except (OSError, ValueError):
        st.error("What is shipped cannot be read on this server.")
        return
    rows = [
        {
            "network": plain(run.name),
            "data": run.dataset,
            "loss": run.surrogate,
            "system right": percent(run.system_accuracy),
            "machine keeps": percent(run.coverage),
            "n": count(run.test_cases),
        }
        for run in runs
    ]
    if rows:
        st.table(rows, hide_index=True)
    st.caption("n: test cases. Beside networks, features for the live lab and results of the paper are shipped.")
    panel = st.expander("The cards of all that is shipped", icon=":material/badge:", on_change="rerun")
    if panel.open:
        with panel:
            # Headings start one level below that of this part.
            st.markdown(re.sub(r"^(#+) ", r"##\1 ", cards, flags=re.MULTILINE))


with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("About", anchor=False, width="content")
    st.markdown("What is this, and what may be made of its numbers?", width="content")
with st.container(width=1000):  # a line of text stays short enough to be read
    st.markdown(WHAT)
    st.header("What the numbers do not say", anchor=False)
    st.markdown(LIMITS)
    st.header("What is kept of you", anchor=False)
    st.markdown(privacy())
    st.header("Words and formulas", anchor=False)
    glossary.draw_words()
    st.header("Data sets and their licences", anchor=False)
    draw_data()
    st.header("What is shipped", anchor=False)
    draw_shipped()
    st.header("Versions on this server", anchor=False)
    st.markdown(", ".join(f"{name} {version}" for name, version in facts.versions().items()))
    st.header("How to cite", anchor=False)
    share.draw_citation()
