"""A picture's card: what the networks see, who decides and by how much, and the risk either way among test cases."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.kit.html import render
from app.kit.looks import ESTIMATORS, SYSTEMS, Look
from app.kit.numbers import percent
from app.lesions.state import Case, Entry
from l2d_core.evaluation.similar_cases import Measured, RankedEstimate, Reading, Reference, SystemReading

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
_FRAME = """
<article class="lesion"><header><h2><b>{{ entry.name }}</b></h2><small>picture {{ number }}</small>
{% if entry.drawing %}<span class="badge">A drawing made by this page, no photograph</span>{% endif %}</header>
{{ body }}</article>
"""
_FAILED = '<p class="badge">Not read: {{ reason }}</p>'
_COPY = """
<p>The same picture as {{ number }} ({{ name }}), scored once.</p>
{% for text in expert_says %}<p>{{ text }}</p>{% endfor %}
"""
_SCORED = """
<div class="parts"><figure>
<img src="data:image/jpeg;base64,{{ view }}" alt="{{ entry.name }}, as the model sees it">
<figcaption class="small">as the model sees it: all of it, as {{ width }} x {{ height }} pixels</figcaption>
{% for text in warnings %}<div class="note warn">{{ text }}</div>{% endfor %}
{% for text in entry.notes %}<div class="note">{{ text }}</div>{% endfor %}
</figure>
<section class="decide"><h3>Who decides?</h3>
{% for one in decisions %}
<p><span class="mark" style="background: {{ one.look.color }}"></span>{{ one.look.title }}:
{% if one.deferred %}<b>to the expert</b>; by itself it{% else %}<b>the machine keeps it</b>; it{% endif %}
 says <b>{{ one.says }}</b>. <span class="small">{{ one.why }}.</span></p>
{% endfor %}
{% for text in expert_says %}<p>{{ text }}</p>{% endfor %}
<h3>Confidence <span class="small">({{ systems }})</span></h3>
{% for one in classes %}
<div class="class"><span>{{ one.title }}</span><span>{{ one.percents }}</span></div>
{% for color, share in one.bars %}
<div class="bar" style="width: {{ "%.1f" | format(100 * share) }}%; background: {{ color }}"></div>
{% endfor %}
{% endfor %}
</section>
<section class="risks"><h3>What is the risk either way?</h3>{% for one in risks %}{{ one }}{% endfor %}</section></div>
"""
_RISK = """
<div class="risk"><div><div class="plot" aria-hidden="true">
{% for height in heights %}
<i{% if loop.first %} class="below"{% endif %}
 style="height: {{ "%.0f" | format(height) }}%; background: {{ color }}"></i>
{% endfor %}
<u style="left: {{ "%.1f" | format(left) }}%"></u></div>
<div class="axis" aria-hidden="true"><span>&lt;0</span><span>risk</span><span>100 %</span></div></div>
<div><span class="mark" style="background: {{ color }}"></span>{{ title }}: <b>risk {{ risk }}</b>
{% if above_one %} (estimate above 100 %){% endif %}
<div class="small">{{ evidence }}; {{ rank }} % of test cases have at most this risk</div></div></div>
"""


@dataclass(frozen=True)
class Scored:
    """What the card of a scored picture shows.

    titles: of the classes; deferred: by surrogate, by the rule chosen on the page; expert_says: sentences on the
    expert's own answer, or why there is none; none where the expert gives no answers of its own.
    """

    case: Case
    reading: Reading
    reference: Reference
    titles: Sequence[str]
    deferred: Mapping[str, bool]
    expert_says: Sequence[str]


def scored(entry: Entry, number: int, shown: Scored) -> Markup:
    """The card of a scored picture."""
    height, width = shown.case.size
    systems = shown.reading.systems
    body = render(
        _SCORED,
        entry=entry,
        view=base64.b64encode(shown.case.view).decode(),
        width=width,
        height=height,
        warnings=shown.case.warnings,
        decisions=[_decision(name, one, shown) for name, one in systems.items()],
        expert_says=shown.expert_says,
        systems=" · ".join(SYSTEMS[name].title for name in systems),
        classes=[_class(title, row, systems) for row, title in enumerate(shown.titles)],
        risks=_risks(shown.reading, shown.reference),
    )
    return render(_FRAME, entry=entry, number=number, body=body)


def failed(entry: Entry, number: int) -> Markup:
    """The card of a file that could not be read."""
    return render(_FRAME, entry=entry, number=number, body=render(_FAILED, reason=entry.reason))


def copy(entry: Entry, number: int, first: Entry, first_number: int, expert_says: Sequence[str]) -> Markup:
    """The card of a file with the same picture as an earlier one; expert_says: as in `Scored`, for this file."""
    body = render(_COPY, number=first_number, name=first.name, expert_says=expert_says)
    return render(_FRAME, entry=entry, number=number, body=body)


def _decision(name: str, system: SystemReading, shown: Scored) -> dict[str, object]:
    deferred = shown.deferred[name]
    side = "expert" if system.margin >= 0 else "machine"
    why = f"Its own scores favour the {side} by {100 * abs(system.margin):.1f} points"
    if deferred != system.deferred:
        why += ", the rule chosen above decides otherwise"
    return {"look": SYSTEMS[name], "deferred": deferred, "says": shown.titles[system.predicted], "why": why}


def _class(title: str, row: int, systems: Mapping[str, SystemReading]) -> dict[str, object]:
    shares = {name: min(system.class_probability[row], 1.0) for name, system in systems.items()}
    bars = [(SYSTEMS[name].color, share) for name, share in shares.items()]
    return {"title": title, "percents": " · ".join(map(percent, shares.values())), "bars": bars}


def _risks(reading: Reading, reference: Reference) -> list[Markup]:
    machine = [
        _risk(f"Machine, {SYSTEMS[name].title}", SYSTEMS[name], system.machine, reference.machine[name], "the machine")
        for name, system in reading.systems.items()
    ]
    expert = [
        _risk(f"Expert, {ESTIMATORS[name].title}", ESTIMATORS[name], placed, reference.expert[name], "the expert")
        for name, placed in reading.expert.items()
    ]
    return machine + expert


def _risk(title: str, look: Look, placed: RankedEstimate, measured: Measured, who: str) -> Markup:
    """A risk in words, beside a histogram of the test cases' risks, whose first bar is for those below 0."""
    shares = measured.histogram["share"].to_numpy()
    return render(
        _RISK,
        title=title,
        color=look.color,
        heights=(100 * shares / max(float(shares.max()), 1e-9)).tolist(),
        # The bar below 0 and its gap take the first 7 % of the width; the axis from 0 to 1 the rest.
        left=2.2 if placed.risk < 0 else 7 + 93 * min(placed.risk, 1.0),
        risk=percent(placed.risk, 0),
        above_one=placed.risk < 0,
        evidence=evidence(placed, who),
        rank=f"{100 * placed.rank:.0f}",
    )


def evidence(placed: RankedEstimate, who: str) -> str:
    """The test cases with similar scores, in words."""
    found = placed.evidence
    if found.share is None or found.interval_low is None or found.interval_high is None:
        return "no test case was scored like this one"
    few = ", too few to say much" if found.n < FEW else ""
    interval = f"{100 * found.interval_low:.0f}-{100 * found.interval_high:.0f} %"
    return (
        f"cases scored like this one: {who} was right in {100 * found.share:.0f} % of {found.n:,}{few}, "
        f"interval {interval}"
    )
