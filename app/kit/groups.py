"""Who is served worse? A system's test cases group by group, on every page that knows something of its cases."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from app.kit import csv_files
from app.kit.html import render
from app.kit.looks import PARTIES
from app.kit.text import plain
from l2d_core.common.paths import PRETRAINED
from l2d_core.datasets.ham10000.values import MAX_AGE_YEARS, MISSING, UNKNOWN
from l2d_core.evaluation.groups import Cases, group_table
from l2d_core.lesions.gallery import TABLE, read_cases

TITLE = "Who is served worse?"
BANDS = ((30, "0-29"), (45, "30-44"), (60, "45-59"), (75, "60-74"), (np.inf, "75 and over"))  # whose order is A to Z
AGES = ("age", "age_approx")
TITLES = {"age": "age", "sex": "sex", "localization": "site"}
SMALL = 30  # cases, below which a group gets no interval and no finding
MAX_GROUPS, MAX_LETTERS = 20, 80
RESAMPLES = 500
_TABLE = """
<p class="finding">{{ finding }}</p>
<div class="groups" tabindex="0" role="region" aria-label="Measures by group"><table>
<thead><tr><th>{{ by }}</th><th>n{% if clusters %} ({{ clusters }}){% endif %}</th><th>deferred</th>
<th>machine right</th><th>expert right</th>
<th colspan="2">system right, 95 % interval</th><th>estimate less share right</th>
{% if with_ece %}<th>ECE (by chance)</th>{% endif %}</tr></thead><tbody>
{% for one in rows %}
<tr{% if loop.first %} class="all"{% endif %}><th>{{ one.group }}</th>
<td>{{ one.n }}{% if clusters %} ({{ one.clusters }}){% endif %}</td>
<td>{{ one.deferred }}</td><td>{{ one.machine }}</td><td>{{ one.expert }}</td>
<td><b>{{ one.system }}</b>{{ one.interval }}</td>
<td><div class="span" aria-hidden="true">
{%- if one.interval %}<i style="left: {{ one.left }}%; width: {{ one.width }}%"></i>{% endif %}
<b style="left: {{ one.at }}%"></b><u style="left: {{ overall }}%"></u></div></td>
<td>{{ one.gap }}</td>{% if with_ece %}<td>{{ one.ece }}</td>{% endif %}</tr>
{% endfor %}
</tbody></table></div>
<style>
.finding {font-size: .95rem; margin: 0 0 .5rem;}
.groups {overflow-x: auto;}
.groups table {border-collapse: collapse; width: 100%; font-size: .82rem; margin: 0;}
.groups th, .groups td {text-align: left; font-weight: 400; padding: .22rem .4rem; border: 0; white-space: nowrap;
  border-top: 1px solid rgba(128,136,146,.25);}
.groups thead th {white-space: normal; border: 0; opacity: .85; font-size: .76rem; vertical-align: bottom;}
.groups .all th, .groups .all td {font-weight: 600;}
.groups .span {position: relative; width: 100px; height: 14px;}
.groups .span i, .groups .span b, .groups .span u {position: absolute; top: 0; height: 100%;}
.groups .span i {background: {{ color }}; opacity: .35;}
.groups .span b {background: {{ color }}; width: 3px; margin-left: -1.5px;}
.groups .span u {width: 0; border-left: 1.5px dotted currentColor;}
</style>
"""
HOW_TO_READ = (
    "Intervals: bootstrap{of}, for each group alone, so one interval in twenty misses the true value. Estimate less "
    "share right: above 0, the expert is overestimated. ECE by chance: what a calibrated estimate would show. Dotted "
    f"line: all cases. Groups of fewer than {SMALL} cases have no interval."
)


@dataclass(frozen=True)
class Words:
    """What a page says of its cases. caption: which cases and which decisions; strata, clusters: plural nouns.

    clusters is "" where each case stands alone.
    """

    caption: str
    strata: str = "classes"
    clusters: str = ""


def draw(cases: Cases, groups: Mapping[str, np.ndarray], words: Words, *, by_key: str, mix_key: str) -> None:
    """Draw the choice of groups, the finding and the table.

    groups: title -> the group of each case, (N,) text; those titled as the strata are never standardised. by_key,
    mix_key: the controls' session keys. ValueError as in `group_table`.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = choose("By", list(groups), by_key)
        is_stratum = np.array_equal(groups[name], cases.strata)
        same = st.toggle(
            f"Same mix of {words.strata} in every group",
            key=mix_key,
            disabled=is_stratum,
            help=f"Direct standardisation: each group's {words.strata} are weighted as among all test cases, so that a "
            f"group is not called worse only because its cases are harder. {words.strata.capitalize()} that it lacks "
            "are left out.",
        )
    is_raw = is_stratum or not same
    table = measured(cases, groups[name], is_raw)
    overall, rows = table.iloc[0], [_row(row) for row in table.to_dict("records")]
    look = {"overall": f"{100 * overall['system']:.1f}", "color": PARTIES["system"].color}
    st.html(
        render(
            _TABLE, finding=finding(table, words.strata, is_raw), by=name, rows=rows, with_ece=is_raw,
            clusters=words.clusters, **look,
        )
    )  # fmt: skip
    st.caption(f"{words.caption} {HOW_TO_READ.format(of=f' over {words.clusters}' if words.clusters else '')}")
    csv_files.download_button("Groups (CSV)", table, "groups.csv", key=f"{by_key}-csv")


def choose(label: str, options: Sequence[str], key: str, names: Callable[[str], str] = plain) -> str:
    """Draw the choice of one of the options, which may change between runs; names: how each is written, in Markdown."""
    if st.session_state.get(key) not in options:
        st.session_state[key] = options[0]
    return st.segmented_control(label, options, required=True, format_func=names, key=key)


@st.cache_data(max_entries=64, show_spinner="Comparing groups ...", hash_funcs={Cases: lambda one: one.digest()})
def measured(cases: Cases, groups: np.ndarray, is_raw: bool) -> pd.DataFrame:
    """`group_table` of these cases, standardised to one mix of strata unless is_raw."""
    generator = np.random.default_rng(0)
    return group_table(cases, groups, standardise=not is_raw, resamples=RESAMPLES, generator=generator)


def groupings(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """The columns by which N cases can be grouped: title -> (N,) text; ages in BANDS, missing values as UNKNOWN.

    Columns of one value, or of more than MAX_GROUPS, are left out. Names are cut: numpy reserves the length of the
    longest for each case.
    """
    found = {}
    for name in map(str, table.columns):
        column = table[name]
        texts = column.map(lambda value: UNKNOWN if _is_missing(value) else f"{value}"[:MAX_LETTERS])
        if name.lower() in AGES:
            texts = texts.map(band_of)
        if 2 <= texts.nunique() <= MAX_GROUPS:
            found[TITLES.get(name, name)] = texts.to_numpy(dtype=str)
    return found


def _is_missing(value: object) -> bool:
    return value is None or value != value or str(value).strip().lower() in MISSING


def band_of(age: str) -> str:
    """The band of an age in years; UNKNOWN for what is none."""
    try:
        years = float(age)
    except ValueError:
        return UNKNOWN
    if not 0 <= years <= MAX_AGE_YEARS:
        return UNKNOWN
    return next(band for end, band in BANDS if years < end)


@st.cache_data(max_entries=1, show_spinner=False)
def _shipped() -> pd.DataFrame:
    return read_cases(PRETRAINED).set_index("id") if (PRETRAINED / TABLE).is_file() else pd.DataFrame()


def known_of_lesions(ids: np.ndarray) -> pd.DataFrame | None:
    """Lesion, age, sex and localization of HAM10000's images, a row each of N; NaN where they are not shipped.

    None where fewer than SMALL are.
    """
    shipped = _shipped()
    known = shipped.reindex(ids)
    return None if shipped.empty or known["lesion"].notna().sum() < SMALL else known


def finding(table: pd.DataFrame, strata: str, is_raw: bool) -> str:
    """One sentence: the group of the lowest accuracy, if its interval lies below the value of all cases."""
    overall, parts = table.iloc[0], table.iloc[1:]
    parts = parts[parts["n"] >= SMALL]
    mix = "" if is_raw else f"With the same mix of {strata}: "
    below = parts[parts["system_high"] < overall["system"]]
    if below.empty:
        return f"{mix}No group of {SMALL} cases or more is clearly below all cases."
    worst = below.loc[below["system"].idxmin()]
    gap = worst["overestimate"]
    return (
        f"{mix}Served worst: {worst['group']}. The system is right in {100 * worst['system']:.1f} % of {worst['n']:,} "
        f"cases there ({100 * worst['system_low']:.0f}-{100 * worst['system_high']:.0f} %), against "
        f"{100 * overall['system']:.1f} % overall; the expert is estimated {abs(100 * gap):.1f} points too "
        f"{'high' if gap > 0 else 'low'}."
    )


def _row(row: Mapping[str, float]) -> dict[str, str]:
    low, high = row["system_low"], row["system_high"]
    return {
        "group": f"{row['group']}",
        "n": f"{row['n']:,}",
        "clusters": f"{row['clusters']:,}",
        **{name: f"{100 * row[name]:.1f} %" for name in ("deferred", "machine", "expert")},
        "system": f"{100 * row['system']:.1f} %",
        "interval": f" ({100 * low:.0f}-{100 * high:.0f})" if row["n"] >= SMALL else "",
        "left": f"{100 * low:.1f}",
        "width": f"{100 * (high - low):.1f}",
        "at": f"{100 * row['system']:.1f}",
        "gap": f"{100 * row['overestimate']:+.1f} points",
        "ece": f"{100 * row['ece']:.1f} ({100 * row['ece_by_chance']:.1f}) %",
    }
