"""Who is served worse? The shipped systems on their test cases, by sex, age, site and diagnosis."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import streamlit as st

from app.kit import csv_files
from app.kit.html import render
from app.kit.looks import PARTIES, SYSTEMS
from app.lesions import state
from app.lesions.judged import Deciding
from l2d_core.data import Scores
from l2d_core.datasets import LAB_DATASETS
from l2d_core.datasets.ham10000.fields import UNKNOWN
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.estimator_view import view_scores
from l2d_core.evaluation.groups import Cases, group_table
from l2d_core.lesions.system import LesionSystem

BY = {"sex": "sex", "age": "age", "localization": "site", "diagnosis": "diagnosis"}
BANDS = ((30, "0-29"), (45, "30-44"), (60, "45-59"), (75, "60-74"), (np.inf, "75 and over"))  # whose order is A to Z
SMALL = 30  # cases, below which a group gets no finding of its own
RESAMPLES = 500
_TABLE = """
<p class="finding">{{ finding }}</p>
<div class="groups" tabindex="0" role="region" aria-label="Measures by group"><table>
<thead><tr><th>{{ by }}</th><th>n (lesions)</th><th>deferred</th><th>machine right</th><th>expert right</th>
<th colspan="2">system right, 95 % interval</th><th>estimate less share right</th>
{% if with_ece %}<th>ECE (by chance)</th>{% endif %}</tr></thead><tbody>
{% for one in rows %}
<tr{% if loop.first %} class="all"{% endif %}><th>{{ one.group }}</th><td>{{ one.n }} ({{ one.clusters }})</td>
<td>{{ one.deferred }}</td><td>{{ one.machine }}</td><td>{{ one.expert }}</td><td><b>{{ one.system }}</b></td>
<td><div class="span" aria-hidden="true"><i style="left: {{ one.left }}%; width: {{ one.width }}%"></i>
<b style="left: {{ one.at }}%"></b><u style="left: {{ overall }}%"></u></div></td>
<td>{{ one.gap }}</td>{% if with_ece %}<td>{{ one.ece }}</td>{% endif %}</tr>
{% endfor %}
</tbody></table></div>
<style>
.finding {font-size: .95rem; margin: 0 0 .5rem;}
.groups {overflow-x: auto;}
.groups table {border-collapse: collapse; width: 100%; font-size: .82rem; margin: 0;}
.groups th, .groups td {text-align: left; font-weight: 400; padding: .22rem .5rem; border: 0; white-space: nowrap;
  border-top: 1px solid rgba(128,136,146,.25);}
.groups thead th {white-space: normal; border: 0; opacity: .85; font-size: .76rem; vertical-align: bottom;}
.groups .all th, .groups .all td {font-weight: 600;}
.groups .span {position: relative; width: 130px; height: 14px;}
.groups .span i, .groups .span b, .groups .span u {position: absolute; top: 0; height: 100%;}
.groups .span i {background: {{ color }}; opacity: .35;}
.groups .span b {background: {{ color }}; width: 3px; margin-left: -1.5px;}
.groups .span u {width: 0; border-left: 1.5px dotted currentColor;}
</style>
"""


def draw(by: Deciding) -> None:
    """Draw the panel for the system that decides, with the expert that is chosen."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.segmented_control(
            "By", list(BY), default="age", required=True, format_func=BY.get, key=state.GROUPS_BY
        )
        same = st.toggle(
            "Same mix of diagnoses in every group",
            key=state.GROUPS_MIX,
            disabled=name == "diagnosis",
            help="Direct standardisation: each group's diagnoses are weighted as among all test cases, so that a group "
            "is not called worse only because its lesions are harder. Diagnoses that it lacks are left out.",
        )
    table = measured(by, name, same and name != "diagnosis")
    raw = not same or name == "diagnosis"
    st.html(_render(table, BY[name], raw))
    st.caption(
        f"The {table['n'].iloc[0]:,} test cases of HAM10000; {SYSTEMS[by.rule.leader].title}, "
        "which decides without a budget here. Intervals: bootstrap over lesions, each group by itself, so that one of "
        "twenty misses the truth. Estimate less share right: above 0, the expert is believed too much; ECE by "
        "chance: what a calibrated estimate would show. Dotted: all cases."
    )
    csv_files.download_button("Groups (CSV)", table, f"groups_by_{BY[name]}.csv")


def _render(table: pd.DataFrame, by: str, raw: bool) -> str:
    overall, rows = table.iloc[0], [_row(row) for row in table.to_dict("records")]
    color = PARTIES["system"].color
    finding = _finding(table, raw)
    return render(
        _TABLE, finding=finding, by=by, rows=rows, with_ece=raw, overall=f"{100 * overall['system']:.1f}", color=color
    )


def _row(row: Mapping[str, float]) -> dict[str, str]:
    low, high = row["system_low"], row["system_high"]
    return {
        "group": f"{row['group']}",
        "n": f"{row['n']:,}",
        "clusters": f"{row['clusters']:,}",
        **{name: f"{100 * row[name]:.1f} %" for name in ("deferred", "machine", "expert")},
        "system": f"{100 * row['system']:.1f} % ({100 * low:.0f}-{100 * high:.0f})",
        "left": f"{100 * low:.1f}",
        "width": f"{100 * (high - low):.1f}",
        "at": f"{100 * row['system']:.1f}",
        "gap": f"{100 * row['overestimate']:+.1f} points",
        "ece": f"{100 * row['ece']:.1f} ({100 * row['ece_by_chance']:.1f}) %",
    }


def _finding(table: pd.DataFrame, raw: bool) -> str:
    """One sentence: the group of the lowest accuracy, if its interval lies below the value of all cases."""
    overall, parts = table.iloc[0], table[(table["group"] != "all") & (table["n"] >= SMALL)]
    mix = "" if raw else " With the same mix of diagnoses:"
    below = parts[parts["system_high"] < overall["system"]]
    if below.empty:
        return f"{mix} No group of {SMALL} cases or more is clearly below all cases.".strip()
    worst = below.loc[below["system"].idxmin()]
    gap = worst["overestimate"]
    return (
        f"{mix} Served worst: {worst['group']}. The system is right in {100 * worst['system']:.1f} % of {worst['n']:,} "
        f"cases there ({100 * worst['system_low']:.0f}-{100 * worst['system_high']:.0f} %), against "
        f"{100 * overall['system']:.1f} % overall; the expert is estimated {abs(100 * gap):.1f} points too "
        f"{'high' if gap > 0 else 'low'}."
    ).strip()


def measured(by: Deciding, name: str, same: bool) -> pd.DataFrame:
    """The table of `group_table` by one of BY; same: the same mix of diagnoses."""
    scores = by.systems.reference.scores[by.rule.leader]
    return _measured(scores, by.system, name, same)


def _cases_of(scores: Scores, system: LesionSystem) -> tuple[Cases, pd.DataFrame]:
    known = system.gallery.cases.set_index("id").loc[scores.ids]
    view = view_scores(scores)
    names = np.asarray(scores.class_names)[scores.labels]
    cases = Cases(
        machine_correct=view.machine_correct,
        expert_correct=view.expert_correct,
        deferred=defer_by_argmax(scores.logits),
        probability=view.probability,
        strata=names,
        clusters=known["lesion"].to_numpy(dtype=str),
    )
    return cases, known.assign(diagnosis=names)


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs={Scores: lambda one: one.logits.tobytes()})
def _measured(scores: Scores, _system: LesionSystem, name: str, same: bool) -> pd.DataFrame:
    cases, known = _cases_of(scores, _system)
    groups = known[name].map(_GROUP_OF.get(name, str)).to_numpy(dtype=str)
    return group_table(cases, groups, standardise=same, resamples=RESAMPLES, generator=np.random.default_rng(0))


def band_of(age: str) -> str:
    """The band of an age in years, as text."""
    if age == UNKNOWN:
        return UNKNOWN
    return next(band for end, band in BANDS if float(age) < end)


def _titled(diagnosis: str) -> str:
    return LAB_DATASETS["ham10000"].class_titles.get(diagnosis, diagnosis)


_GROUP_OF: Mapping[str, Callable[[str], str]] = {"age": band_of, "diagnosis": _titled}
