"""One picture's card: what the model sees, who decides and by how much, and the risk either way among test cases."""

import base64
from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd

from app.kit.looks import ESTIMATORS, SYSTEMS, Look
from app.kit.numbers import percent
from app.lesions.state import Case, Entry
from l2d_core.evaluation.similar_cases import Measured, Placed, Reading, Reference, SystemReading

FEW = 10  # test cases, below which a share says little
SHEET = """
<style>
.lesion {font-size: .9rem; line-height: 1.35;}
.lesion header {display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: baseline; margin-bottom: .5rem;}
.lesion header b {font-size: 1rem; overflow-wrap: anywhere;}
.lesion small, .lesion .small {font-size: .78rem; opacity: .82;}
.lesion .parts {display: flex; flex-wrap: wrap; gap: .8rem 1.4rem;}
.lesion figure {margin: 0; flex: 0 1 170px; min-width: 150px;}
.lesion figure img {width: 200px; max-width: 100%; border-radius: .3rem; display: block;}
.lesion .decide {flex: 1 1 240px; min-width: 230px;}
.lesion .risks {flex: 1.6 1 370px; min-width: 280px;}
.lesion header h2 {font-size: 1rem; margin: 0; padding: 0;}
.lesion section h3 {font-size: .85rem; font-weight: 600; margin: 0 0 .3rem; padding: 0;}
.lesion p {margin: 0 0 .45rem; font-size: .9rem;}
.lesion .note {font-size: .78rem; margin: .3rem 0 0;}
.lesion .warn, .lesion .badge {border-left: 4px solid #E69F00; padding-left: .4rem;}
.lesion .class {display: flex; justify-content: space-between; gap: .6rem; font-size: .78rem; margin-top: .28rem;}
.lesion .class span:last-child {white-space: nowrap;}
.lesion .bar {height: 4px; border-radius: 2px; margin: 1px 0; min-width: 1px;}
.lesion .risk {display: grid; grid-template-columns: 128px 1fr; gap: 0 .8rem; padding: .3rem 0;
  border-top: 1px solid rgba(128,136,146,.28); align-items: center;}
.lesion .plot {position: relative; display: flex; align-items: flex-end; height: 34px; gap: 1px; margin-top: 7px;
  border-bottom: 1px solid rgba(128,136,146,.7);}
.lesion .plot i {flex: 1; opacity: .6; min-height: 0;}
.lesion .plot i.below {margin-right: 4px;}
.lesion .plot u {position: absolute; top: -7px; bottom: -3px; width: 3px; margin-left: -1.5px;
  background: currentColor;}
/* The grid's own download would lack the note that this is no diagnosis, and could hold formulas. */
.st-key-lesion-table [aria-label^="Download"] {display: none;}
.lesion .axis {display: flex; justify-content: space-between; font-size: .66rem; opacity: .75; line-height: 1.1;}
</style>
"""


def card(
    entry: Entry,
    number: int,
    case: Case,
    reading: Reading,
    reference: Reference,
    titles: Sequence[str],
    deferred: Mapping[str, bool],
    expert_says: Sequence[str],
) -> str:
    """The card as HTML. titles: of the classes; deferred: by surrogate, by the rule chosen on the page.

    expert_says: sentences on the expert's own answer, or why there is none; none where the expert gives none.
    """
    drawing = '<span class="badge">A drawing made by this page, no photograph</span>' if entry.drawing else ""
    blocks = "".join(_decision(name, system, titles, deferred[name]) for name, system in reading.systems.items())
    says = _sentences(expert_says)
    return (
        f'<article class="lesion"><header>{_name(entry, number)}{drawing}</header>'
        f'<div class="parts">{_picture(entry, case)}'
        f'<section class="decide"><h3>Who decides?</h3>{blocks}{says}{_classes(reading, titles)}</section>'
        f'<section class="risks"><h3>What is the risk either way?</h3>{_risks(reading, reference)}</section>'
        "</div></article>"
    )


def failed(entry: Entry, number: int) -> str:
    """The card of a file that could not be read."""
    return (
        f'<article class="lesion"><header>{_name(entry, number)}</header>'
        f'<p class="badge">Not read: {escape(entry.reason)}</p></article>'
    )


def double(entry: Entry, number: int, first: Entry, first_number: int, expert_says: Sequence[str]) -> str:
    """The card of a file whose picture was there before; expert_says: as of `card`, the person may be another."""
    return (
        f'<article class="lesion"><header>{_name(entry, number)}</header>'
        f"<p>The same picture as {first_number} ({escape(first.name)}), scored once.</p>"
        f"{_sentences(expert_says)}</article>"
    )


def _sentences(texts: Sequence[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _name(entry: Entry, number: int) -> str:
    return f"<h2><b>{escape(entry.name)}</b></h2><small>picture {number}</small>"


def _picture(entry: Entry, case: Case) -> str:
    data, (height, width) = base64.b64encode(case.view).decode(), case.size
    items = [f'<div class="note warn">{escape(text)}</div>' for text in case.warnings]
    items += [f'<div class="note">{escape(text)}</div>' for text in entry.notes]
    return (
        f'<figure><img src="data:image/jpeg;base64,{data}" alt="{escape(entry.name)}, as the model sees it">'
        f'<figcaption class="small">as the model sees it: all of it, as {width} x {height} pixels</figcaption>'
        f"{''.join(items)}</figure>"
    )


def _decision(name: str, system: SystemReading, titles: Sequence[str], deferred: bool) -> str:
    look = SYSTEMS[name]
    says = f"it says <b>{escape(titles[system.predicted])}</b>"
    who = f"<b>to the expert</b>; by itself {says}" if deferred else f"<b>the machine keeps it</b>; {says}"
    points = 100 * abs(system.margin)
    side = "expert" if system.margin >= 0 else "machine"
    why = f"Its own scores favour the {side} by {points:.1f} points"
    if deferred != system.deferred:
        why += ", the rule chosen above decides otherwise"
    return f'<p>{_mark(look)}{look.title}: {who}. <span class="small">{why}.</span></p>'


def _classes(reading: Reading, titles: Sequence[str]) -> str:
    cells = []
    for row, title in enumerate(titles):
        shares = {name: min(system.class_probability[row], 1.0) for name, system in reading.systems.items()}
        bars = "".join(
            f'<div class="bar" style="width: {100 * share:.1f}%; background: {SYSTEMS[name].color}"></div>'
            for name, share in shares.items()
        )
        values = " · ".join(percent(share) for share in shares.values())
        cells.append(f'<div class="class"><span>{escape(title)}</span><span>{values}</span></div>{bars}')
    order = " · ".join(SYSTEMS[name].title for name in reading.systems)
    return f'<h3>Confidence <span class="small">({order})</span></h3>{"".join(cells)}'


def _risks(reading: Reading, reference: Reference) -> str:
    rows = [
        _risk(f"Machine, {SYSTEMS[name].title}", SYSTEMS[name], system.machine, reference.machine[name], "the machine")
        for name, system in reading.systems.items()
    ]
    rows += [
        _risk(f"Expert, {ESTIMATORS[name].title}", ESTIMATORS[name], placed, reference.expert[name], "the expert")
        for name, placed in reading.expert.items()
    ]
    return "".join(rows)


def _risk(title: str, look: Look, placed: Placed, measured: Measured, who: str) -> str:
    above = " (estimate above 100 %)" if placed.risk < 0 else ""
    place = f"{100 * placed.rank:.0f} % of test cases have at most this risk"
    return (
        f'<div class="risk"><div>{_plot(measured.histogram, placed.risk, look.color)}</div>'
        f"<div>{_mark(look)}{escape(title)}: <b>risk {percent(placed.risk, 0)}</b>{above}"
        f'<div class="small">{evidence(placed, who)}; {place}</div></div></div>'
    )


def evidence(placed: Placed, who: str) -> str:
    """The test cases that were scored like this one, in words."""
    found = placed.evidence
    if found.share is None or found.interval_low is None or found.interval_high is None:
        return "no test case was scored like this one"
    few = ", too few to say much" if found.n < FEW else ""
    interval = f"{100 * found.interval_low:.0f}-{100 * found.interval_high:.0f} %"
    return (
        f"cases scored like this one: {who} was right in {100 * found.share:.0f} % of {found.n:,}{few}, "
        f"interval {interval}"
    )


def _plot(histogram: pd.DataFrame, risk: float, color: str) -> str:
    """Bars of the test cases' risk, the first apart for risks below 0, and a mark at this case's."""
    shares = histogram["share"].to_numpy()
    highest = max(float(shares.max()), 1e-9)
    bars = "".join(
        f'<i class="{"" if row else "below"}" style="height: {100 * share / highest:.0f}%; background: {color}"></i>'
        for row, share in enumerate(shares)
    )
    # The bar below 0 and its gap take the first 7 % of the width; the axis from 0 to 1 the rest.
    left = 2.2 if risk < 0 else 7 + 93 * min(risk, 1.0)
    return (
        f'<div class="plot" aria-hidden="true">{bars}<u style="left: {left:.1f}%"></u></div>'
        '<div class="axis" aria-hidden="true"><span>&lt;0</span><span>risk</span><span>100 %</span></div>'
    )


def _mark(look: Look) -> str:
    return f'<span class="mark" style="background: {look.color}"></span>'
