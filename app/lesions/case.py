"""The opened case: the verdict, the estimators' risks side by side with what was observed, and the classes."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.kit.html import render
from app.kit.looks import ESTIMATORS, SYSTEMS, Look
from app.kit.numbers import percent
from app.lesions.state import Case, Entry
from app.lesions.verdicts import BADGES, NONE, Verdict, in_words
from app.lesions.worklist import COLORS
from l2d_core.datasets.ham10000 import CLASS_NAMES
from l2d_core.evaluation.similar_cases import RankedEstimate, Reading

MALIGNANT = tuple(CLASS_NAMES.index(name) for name in ("akiec", "bcc", "mel"))
FEW = 10  # test cases, below which a share says little
SHEET = """
<style>
.lesion {font-size: .88rem; line-height: 1.35;}
.lesion header {display: flex; flex-wrap: wrap; gap: .2rem .6rem; align-items: baseline;}
.lesion h2 {font-size: 1rem; margin: 0; padding: 0; overflow-wrap: anywhere;}
.lesion h3 {font-size: .82rem; font-weight: 600; margin: 0 0 .15rem; padding: 0;}
.lesion .small, .lesion .note {font-size: .76rem; opacity: .85;}
.lesion .verdict {margin: .1rem 0 .35rem; font-size: .98rem;}
.lesion .badge {font-weight: 700; padding: 0 .5rem; border-radius: .6rem; color: #10151b;}
.lesion .parts {display: flex; flex-wrap: wrap; gap: .5rem 1.1rem;}
.lesion figure {margin: 0; flex: 0 1 150px; min-width: 120px;}
.lesion .words {flex: 1 1 200px;}
.lesion section, .lesion details {margin-bottom: .5rem;}
.lesion p {margin: 0 0 .3rem; font-size: .85rem;}
.lesion summary {font-size: .82rem; cursor: pointer;}
.lesion figure img {width: 100%; border-radius: .3rem; display: block;}
.lesion .classes {display: grid; grid-template-columns: repeat(auto-fill, minmax(190px, 1fr)); gap: 0 1.2rem;}
.lesion .warn {border-left: 4px solid #E69F00; padding-left: .4rem;}
.lesion table {border-collapse: collapse; width: 100%; font-size: .8rem; margin: 0;}
.lesion td, .lesion th {padding: .12rem .3rem; border: 0; border-top: 1px solid rgba(128,136,146,.25); text-align: left;
  vertical-align: middle; font-weight: 400;}
.lesion thead th {border: 0; font-size: .74rem; opacity: .8;}
.lesion tbody th {white-space: nowrap;}
.lesion td.number {text-align: right; font-weight: 600; white-space: nowrap;}
.lesion .axis {position: relative; height: 14px; min-width: 60px; border-bottom: 1px solid rgba(128,136,146,.6);}
.lesion .axis i, .lesion .axis b, .lesion .axis u {position: absolute; bottom: 0; height: 100%;}
.lesion .axis i {opacity: .35;}
.lesion .axis b {width: 2px; margin-left: -1px;}
.lesion .axis u {width: 9px; height: 9px; margin-left: -4.5px; bottom: 2px; border-radius: 50%;
  border: 1.5px solid var(--background-color, #fff); box-sizing: border-box;}
.lesion .class {display: flex; justify-content: space-between; gap: .5rem; font-size: .76rem; margin-top: .16rem;}
.lesion .bar {height: 3px; border-radius: 2px; margin: 1px 0; min-width: 1px;}
</style>
"""
_FRAME = """
<article class="lesion"><header><h2>{{ entry.name }}</h2><span class="small">file {{ number }}</span>
{% if entry.drawing %}<span class="warn small">A drawing made by this page, no photograph</span>{% endif %}</header>
{{ body }}</article>
"""
_FAILED = '<p class="verdict warn">Could not be read: {{ reason }}</p>'
_SCORED = """
<div class="parts"><figure>
<img src="data:image/jpeg;base64,{{ view }}" alt="{{ entry.name }}, as the model sees it">
<figcaption class="note">as the model sees it: all of it, as {{ width }} x {{ height }} pixels</figcaption></figure>
<section class="words">
<p class="verdict"><span class="badge" style="background: {{ color }}">{{ badge }}</span> {{ sentence }}</p>
{% for text in says %}<p>{{ text }}</p>{% endfor %}
{% for text in warnings %}<div class="note warn">{{ text }}</div>{% endfor %}
{% for text in entry.notes %}<div class="note">{{ text }}</div>{% endfor %}
</section></div>
{% if unlike %}<details><summary>The numbers that the networks give all the same</summary>{% endif %}
<section><h3>Risk: predicted, and observed on test cases scored like this one</h3>
<table><thead><tr><th></th><th>predicted</th><th>0 to 100 %</th><th>observed</th></tr></thead><tbody>
{% for one in risks %}
<tr><th><span class="mark" style="background: {{ one.color }}"></span>{{ one.title }}</th>
<td class="number">{{ one.risk }}</td>
<td><div class="axis" aria-hidden="true">
{% if one.high is not none %}
<i style="left: {{ "%.1f" | format(100 * one.low) }}%; width: {{ "%.1f" | format(100 * (one.high - one.low)) }}%;
 background: {{ one.color }}"></i>
<b style="left: {{ "%.1f" | format(100 * one.share) }}%; background: {{ one.color }}"></b>
{% endif %}
<u style="left: {{ "%.1f" | format(one.left) }}%; background: {{ one.color }}"></u></div></td>
<td class="small">{{ one.evidence }}</td></tr>
{% endfor %}
</tbody></table>
<div class="note">Dot: predicted. Line and band: observed, with its 95 % interval.</div></section>
<section><h3>Classes <span class="small">({{ systems }})</span></h3><div class="classes">
{% for one in classes %}
<div><div class="class"><span>{{ one.title }}</span><span>{{ one.percents }}</span></div>
{% for color, share in one.bars %}
<div class="bar" style="width: {{ "%.1f" | format(100 * share) }}%; background: {{ color }}"></div>
{% endfor %}</div>
{% endfor %}
</div>
<div class="note">{{ malignant }}</div>
{% for one in decisions %}
<div class="note"><span class="mark" style="background: {{ one.color }}"></span>{{ one.text }}</div>
{% endfor %}
</section>
{% if unlike %}</details>{% endif %}
"""


@dataclass(frozen=True)
class Shown:
    """What the case of a scored picture shows.

    titles: of the classes; says: sentences on the expert's own answer, and on copies.
    """

    case: Case
    reading: Reading
    verdict: Verdict
    titles: Sequence[str]
    says: Sequence[str]


def scored(entry: Entry, number: int, shown: Shown) -> Markup:
    """The case of a scored picture."""
    height, width = shown.case.size
    systems = shown.reading.systems
    body = render(
        _SCORED,
        entry=entry,
        unlike=shown.verdict.kind == NONE,
        color=COLORS[shown.verdict.kind],
        badge=BADGES[shown.verdict.kind],
        sentence=" ".join(filter(None, (shown.verdict.sentence, _difference(shown.verdict)))),
        view=base64.b64encode(shown.case.view).decode(),
        width=width,
        height=height,
        warnings=shown.case.warnings,
        says=shown.says,
        systems=" · ".join(SYSTEMS[name].title.removesuffix(" system") for name in systems),
        classes=[_class(title, row, systems) for row, title in enumerate(shown.titles)],
        malignant=_malignant(shown),
        decisions=[_decision(name, shown) for name in systems],
        risks=_risks(shown.reading),
    )
    return render(_FRAME, entry=entry, number=number, body=body)


def failed(entry: Entry, number: int) -> Markup:
    """The case of a file that could not be read."""
    return render(_FRAME, entry=entry, number=number, body=render(_FAILED, reason=entry.reason))


def _difference(verdict: Verdict) -> str:
    return f"{verdict.note}." if verdict.note else ""


def _decision(name: str, shown: Shown) -> dict[str, str]:
    """What a system says by itself, without the rule."""
    system = shown.reading.systems[name]
    side = "the expert" if system.margin >= 0 else "the machine"
    lead = f"{side} is ahead by {abs(100 * system.margin):.1f} points"
    text = f"{SYSTEMS[name].title}: {shown.titles[system.predicted]}; {lead}"
    return {"color": SYSTEMS[name].color, "text": text}


def _malignant(shown: Shown) -> str:
    """The malignant classes' share of the probability of all classes, which one-vs-all need not add up to 1."""
    shares = {
        name: sum(one.class_probability[row] for row in MALIGNANT) / sum(one.class_probability)
        for name, one in shown.reading.systems.items()
    }
    names = ", ".join(shown.titles[row].split(":")[0] for row in MALIGNANT)
    values = " · ".join(percent(share, 0) for share in shares.values())
    return f"Malignant or likely to become so ({names}), of the sum over the classes: {values}"


def _class(title: str, row: int, systems: Mapping) -> dict[str, object]:
    shares = {name: min(system.class_probability[row], 1.0) for name, system in systems.items()}
    bars = [(SYSTEMS[name].color, share) for name, share in shares.items()]
    return {"title": title, "percents": " · ".join(percent(share, 0) for share in shares.values()), "bars": bars}


def _risks(reading: Reading) -> list[dict[str, object]]:
    expert = [
        _risk(f"Expert, {ESTIMATORS[name].title}", ESTIMATORS[name], placed, "the expert")
        for name, placed in reading.expert.items()
    ]
    machine = [
        _risk(f"Machine, {SYSTEMS[name].title.removesuffix(' system')}", SYSTEMS[name], one.machine, "the machine")
        for name, one in reading.systems.items()
    ]
    return expert + machine


def _risk(title: str, look: Look, placed: RankedEstimate, who: str) -> dict[str, object]:
    found = placed.evidence
    return {
        "title": title,
        "color": look.color,
        "risk": in_words(placed.risk).replace("less than", "<"),
        "left": 100 * max(placed.risk, 0.0),
        "share": found.error,
        "low": found.error_low,
        "high": found.error_high,
        "evidence": observed(placed, who),
    }


def observed(placed: RankedEstimate, who: str) -> str:
    """The risk observed on the test cases with similar scores, in words."""
    found = placed.evidence
    if found.error is None or found.error_low is None or found.error_high is None:
        return "no test case was scored like this one"
    few = ", too few to say much" if found.n < FEW else ""
    interval = f"{100 * found.error_low:.0f}-{100 * found.error_high:.0f}"
    return f"of {found.n:,} such cases {who} erred in {100 * found.error:.0f} %, interval {interval}{few}"
