"""A comparison as files to download: one HTML file that needs nothing else, all charts as pictures, and tables."""

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import streamlit as st
from markupsafe import Markup

from app.compare import numbers as compare_numbers
from app.compare.controls import STRATEGIES
from app.compare.evaluation import Evaluation
from app.kit import csv_files, document
from app.kit.charts import Spec
from app.kit.html import render
from app.kit.notes import DIAGNOSIS_NOTE
from app.kit.numbers import percent
from l2d_core.evaluation.recalibration import RECALIBRATIONS
from l2d_core.runs.index import differing_settings

WIDTHS = {"reliability": 380, "risk": 380, "coverage": 560, "budget": 560}


def draw_downloads(evaluation: Evaluation, rows: np.ndarray, place: int) -> None:
    """The buttons; a file is made when its button is pressed. rows, place: the chosen cases and their system."""
    st.header("Download", anchor=False)
    with st.container(horizontal=True):
        _button(
            "Report (HTML)",
            lambda: page(evaluation),
            "comparison.html",
            "text/html",
            "One file with the settings, numbers, tables and charts. It needs no network.",
        )
        _button("Charts (SVG, PNG)", lambda: pictures(evaluation), "charts.zip", "application/zip")
        csv_files.download_button(
            "Key numbers (CSV)",
            lambda: compare_numbers.table(evaluation.names, evaluation.numbers, evaluation.bins),
            "key-numbers.csv",
        )
        if evaluation.comparison.has_labels:
            csv_files.download_button("Classes (CSV)", lambda: classes_table(evaluation), "classes.csv")
        if len(rows):
            csv_files.download_button("Chosen cases (CSV)", lambda: evaluation.cases(place, rows), "cases.csv")


def _button(label: str, make: Callable[[], str | bytes], name: str, mime: str, text: str | None = None) -> None:
    st.download_button(label, make, name, mime, icon=":material/download:", on_click="ignore", help=text)


def page(evaluation: Evaluation) -> str:
    """The report: settings, numbers, differences, tables, and all charts as inline SVG; every text is escaped."""
    body = render(
        _REPORT,
        time=f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        n=f"{evaluation.comparison.num_cases:,}",
        warning=DIAGNOSIS_NOTE if evaluation.comparison.is_medical else "",
        notes=evaluation.comparison.notes,
        point=_table(_settings_of_page(evaluation)),
        different=_table(settings_table(evaluation)),
        settings=_table(settings_table(evaluation, differing=False)),
        numbers=_table(_numbers_table(evaluation)),
        harms=evaluation.harms,
        baseline=evaluation.names[evaluation.base],
        differences=evaluation.differences,
        intervals=compare_numbers.WHAT_INTERVALS_ARE_OF,
        figures=_figures(evaluation),
        tables=_tables(evaluation) if evaluation.comparison.has_labels else {},
    )
    return document.page("Systems side by side", [body])


_REPORT = """
<p>{{ time }} UTC, n = {{ n }} test cases</p>
{% if warning %}<p class="note">{{ warning }}</p>{% endif %}
{% for note in notes %}<p>{{ note }}</p>{% endfor %}
<h2>Cost, budget and estimates</h2>{{ point }}
<h2>Settings that differ</h2>{{ different or "The systems have the same settings." }}
<details><summary>All settings</summary>{{ settings }}</details>
<h2>Key numbers</h2>{{ numbers }}
{% if harms %}<ul>{% for line in harms %}<li>{{ line }}</li>{% endfor %}</ul>{% endif %}
{% if differences %}
<h2>Differences from the baseline, {{ baseline }}</h2>
<ul>{% for line in differences %}<li>{{ line }}</li>{% endfor %}</ul><p>{{ intervals }}</p>
{% endif %}
{% for title, drawn in figures.items() %}
<h2>{{ title }}</h2>
<div class="charts">{% for picture in drawn %}<figure>{{ picture }}</figure>{% endfor %}</div>
{% endfor %}
{% for title, table in tables.items() %}<h2>{{ title }}</h2>{{ table }}{% endfor %}
"""
_SECTIONS = {
    "Reliability": "reliability",
    "Predicted risk of deferring (in full colour: deferred cases)": "risk",
    "Accuracy against coverage": "coverage",
    "Accuracy less the cost, against the budget": "budget",
}


def specs(evaluation: Evaluation) -> dict[str, Spec]:
    """All charts of an evaluation by file name, to be drawn without a browser."""
    places = range(len(evaluation.views))
    named = {f"reliability-{place + 1}": evaluation.reliability_chart(place) for place in places}
    named |= {f"risk-{place + 1}": evaluation.risk_chart(place) for place in places}
    if evaluation.comparison.has_labels:
        named |= {"coverage": evaluation.coverage_chart(), "budget": evaluation.budget_chart()}
    titles = {f"{kind}-{place + 1}": evaluation.names[place] for kind in ("reliability", "risk") for place in places}
    return {name: _alone(spec, name, titles.get(name, "")) for name, spec in named.items()}


def _alone(spec: Spec, name: str, title: str) -> Spec:
    """A specification without selections, to be drawn without a browser."""
    layers = [{key: value for key, value in layer.items() if key != "params"} for layer in spec["layer"]]
    layers = [layer for layer in layers if "condition" not in str(layer.get("encoding", {}).get("opacity", ""))]
    titled = {"title": {"text": title, "anchor": "start", "fontSize": 13}} if title else {}
    return document.alone({**spec, **titled, "layer": layers}, WIDTHS[name.partition("-")[0]])


def pictures(evaluation: Evaluation) -> bytes:
    """All charts as SVG and PNG in a zip."""
    import vl_convert

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, spec in specs(evaluation).items():
            drawn = document.svg(spec)
            archive.writestr(f"{name}.svg", drawn)
            archive.writestr(f"{name}.png", vl_convert.svg_to_png(drawn, scale=2))
    return buffer.getvalue()


def classes_table(evaluation: Evaluation) -> pd.DataFrame:
    """Accuracy by class, and who is right with whom, as fractions and counts."""
    named = {f"{name}, classes": part for name, part in evaluation.classes.items()}
    named |= {f"{name}, machine and expert": part for name, part in evaluation.confusion.items()}
    return csv_files.stacked(named)


def settings_table(evaluation: Evaluation, *, differing: bool = True) -> pd.DataFrame:
    """One row per setting, or only those that differ, and one column per system; the first rows are its origin."""
    systems = evaluation.comparison.systems
    frame = pd.DataFrame({"settings": [dict(one.settings or {}) for one in systems]})
    rows = {"from": [one.origin for one in systems], "surrogate": [one.test.surrogate for one in systems]}
    known = differing_settings(frame) if differing else {name: 0 for one in frame["settings"] for name in one}
    names = [name for name in known if name != "surrogate"]
    rows |= {name: [_setting((one.settings or {}).get(name)) for one in systems] for name in names}
    shown = {name: values for name, values in rows.items() if not differing or len(set(values)) > 1}
    return pd.DataFrame(shown, index=evaluation.names).T


def _setting(value: object) -> str:
    return "" if value is None else str(value)


def _settings_of_page(evaluation: Evaluation) -> pd.DataFrame:
    rows = {
        "cost of asking": f"{evaluation.cost:.2f} correct answers",
        "budget": percent(evaluation.budget, 0),
        "bins": f"{evaluation.settings.bins}, {STRATEGIES[evaluation.settings.strategy].lower()}",
        "recalibration": RECALIBRATIONS[evaluation.settings.recalibration],
    }
    for name, view, correction in zip(evaluation.names, evaluation.views, evaluation.corrections, strict=True):
        rows[f"estimate of {name}"] = f"{view.estimator}, {correction}"
    return pd.DataFrame({"": list(rows.values())}, index=list(rows))


def _numbers_table(evaluation: Evaluation) -> pd.DataFrame:
    def cell(name: str, numbers: Mapping) -> str:
        share = numbers[name]
        return "not known" if share.value is None else f"{compare_numbers.written(name, share.value)} (n = {share.n:,})"

    titles = compare_numbers.TITLES
    columns = {
        name: [cell(measure, one) for measure in titles]
        for name, one in zip(evaluation.names, evaluation.numbers, strict=True)
    }
    for name, old in zip(evaluation.names, evaluation.before, strict=True):
        if old is not None:
            columns[f"{name}, before recalibration"] = [cell(measure, old) for measure in titles]
    return pd.DataFrame(columns, index=list((titles | {"ece": f"ECE ({evaluation.bins})"}).values()))


def _figures(evaluation: Evaluation) -> dict[str, list[Markup]]:
    """The charts of each section that has any, as SVG."""
    drawn = {name: Markup(document.svg(spec)) for name, spec in specs(evaluation).items()}
    found = {
        title: [picture for name, picture in drawn.items() if name.startswith(start)]
        for title, start in _SECTIONS.items()
    }
    return {title: pictures for title, pictures in found.items() if pictures}


def _tables(evaluation: Evaluation) -> dict[str, Markup]:
    classes = compare_numbers.class_table(evaluation.classes, evaluation.experts)
    return {
        "Accuracy by class, in percent": _table(classes, missing=compare_numbers.NO_CASES),
        "Correct and incorrect answers": _table(compare_numbers.confusion_table(evaluation.confusion)),
    }


def _table(frame: pd.DataFrame, missing: str = "") -> Markup:
    """A table as HTML; nothing where it has no rows."""
    if frame.empty:
        return Markup()
    shown = frame.set_index(frame.columns[0]) if "class" in frame.columns else frame
    html = shown.to_html(escape=True, border=0, na_rep=missing, index_names=False)
    return Markup(f'<div class="wide">{html}</div>')
