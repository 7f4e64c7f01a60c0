"""The scoreboard of the paper's results: is the direction as in the paper, and is the size, apart from each other?"""

from collections import Counter
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from app.paper import results, state
from l2d_core.reproductions.reproduction import Reproduction
from l2d_core.reproductions.stored import MANIFEST

# Results with a finding on the size of each number of the paper; all other findings are on a direction.
SIZED = frozenset({"figure1", "figure2"})
WIDTHS = (4, 4, 4)


@dataclass(frozen=True)
class Score:
    """How many findings on a direction agree with the paper, differ from it, or are inconclusive; likewise of sizes.

    A size is a number of the paper: it agrees where it lies in the 95 % interval of ours. own: findings of which the
    paper says nothing.
    """

    direction: tuple[int, int, int]
    size: tuple[int, int, int]
    own: int = 0


def score_of(name: str, result: Reproduction) -> Score:
    """The score of a result with this name."""
    table = result.table[result.table["paper"].notna()]
    sizes = Counter(_size_kind(row) for row in table.to_dict("records"))
    kinds = Counter(finding.kind for finding in result.findings)
    if name in SIZED:
        kinds -= sizes
    return Score(_counts(kinds), _counts(sizes), kinds["beside"])


def draw(scale: str) -> None:
    """A row for each result, whose title shows the result below."""
    with st.container(key="scoreboard", gap=None):
        for place, (column, text) in enumerate(zip(st.columns(WIDTHS), _HEADS, strict=True)):
            column.markdown(f"**{text}**", help=_HELP[place])
        for name, title in results.TITLES.items():
            _draw_row(scale, name, title)
    st.caption(
        f"{_mark(1, 0)} all, {_mark(1, 1)} some, {_mark(0, 1)} none, {_mark(0, 0)} inconclusive, or "
        "nothing to compare with. Comparisons that are inconclusive are not counted."
    )


_HEADS = ("Result", "Direction", "Size")
_HELP = (
    "Press a title to see the result below.",
    "Which of two is lower or higher, where their difference is significant by a paired 95 % interval over seeds.",
    "Whether the paper's number lies within the 95 % interval of ours over seeds. Smaller networks than the paper's "
    "are not expected to reach its numbers.",
)


def _draw_row(scale: str, name: str, title: str) -> None:
    columns = st.columns(WIDTHS, vertical_alignment="center")
    columns[0].button(title, key=f"score-{name}", type="tertiary", on_click=state.choose, args=(name,))
    if not results.is_there(scale, name):
        columns[1].markdown(":gray[not made at this scale]")
        return
    try:
        score = _score(scale, name, (results.ROOT / scale / name / MANIFEST).stat().st_mtime_ns)
    except (OSError, ValueError):
        columns[1].markdown(":gray[cannot be read]")
        return
    columns[1].markdown(_say(score.direction, score.own))
    columns[2].markdown(_say(score.size))


@st.cache_data(max_entries=64, show_spinner=False)
def _score(scale: str, name: str, changed: int) -> Score:  # noqa: ARG001 (a result that was made anew has another score)
    return score_of(name, results.load(scale, name).result)


def _counts(kinds: Counter[str]) -> tuple[int, int, int]:
    return kinds["agrees"], kinds["differs"], kinds["open"]


def _size_kind(row: dict[str, float | None]) -> str:
    mean, half_width, paper = row["mean"], row["half_width"], row["paper"]
    if pd.isna(mean) or pd.isna(half_width):
        return "open"
    return "agrees" if abs(mean - paper) <= half_width else "differs"


def _say(counts: tuple[int, int, int], own: int = 0) -> str:
    """A mark and a count in words, in Markdown. own: findings of which the paper says nothing."""
    agree, differ, unclear = counts
    if agree + differ:
        return f"{_mark(agree, differ)} {agree} of {agree + differ} as in the paper"
    if unclear and own:
        return f"{_mark(0, 0)} partly significant; the paper has no number"
    return f"{_mark(0, 0)} {'inconclusive' if unclear else 'nothing to compare'}"


def _mark(agree: int, differ: int) -> str:
    """Colour and shape say the same: blue and full, or orange and crossed out, never red against green."""
    if agree and differ:
        return ":violet[:material/contrast:]"
    if agree or differ:
        return ":blue[:material/check_circle:]" if agree else ":orange[:material/cancel:]"
    return ":gray[:material/radio_button_unchecked:]"
