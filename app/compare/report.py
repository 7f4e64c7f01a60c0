"""A comparison as files to download: one HTML file that needs nothing else, all charts as pictures, and tables."""

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from app.compare import numbers as compare_numbers
from app.compare.controls import STRATEGIES
from app.compare.scene import Scene
from app.kit import csv_files, document
from app.kit.charts import Spec
from app.kit.notes import DIAGNOSIS_NOTE
from app.kit.numbers import percent
from l2d_core.evaluation.recalibration import RECALIBRATIONS
from l2d_core.runs.index import differing_settings

WIDTHS = {"reliability": 380, "risk": 380, "coverage": 560, "budget": 560}


def draw_downloads(scene: Scene, rows: np.ndarray, place: int) -> None:
    """The buttons; a file is made when its button is pressed. rows, place: the chosen cases and their system."""
    st.header("Take it away", anchor=False)
    with st.container(horizontal=True):
        _button(
            "Report (HTML)",
            lambda: page(scene),
            "comparison.html",
            "text/html",
            "One file, with settings, numbers, tables and all charts, that needs no network.",
        )
        _button("Charts (SVG, PNG)", lambda: pictures(scene), "charts.zip", "application/zip")
        csv_files.download_button(
            "Key numbers (CSV)",
            lambda: compare_numbers.table(scene.names, scene.numbers, scene.bins),
            "key-numbers.csv",
        )
        if scene.comparison.has_labels:
            csv_files.download_button("Classes (CSV)", lambda: classes_table(scene), "classes.csv")
        if len(rows):
            csv_files.download_button("Chosen cases (CSV)", lambda: scene.cases(place, rows), "cases.csv")


def _button(label: str, make: Callable[[], str | bytes], name: str, mime: str, text: str | None = None) -> None:
    st.download_button(label, make, name, mime, icon=":material/download:", on_click="ignore", help=text)


def page(scene: Scene) -> str:
    """The report: settings, numbers, differences, tables, and all charts as inline SVG; every text is escaped."""
    pictures = {name: document.svg(spec) for name, spec in specs(scene).items()}
    parts = [
        f"<p>{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, n = {scene.comparison.num_cases:,} test cases</p>",
        f'<p class="note">{DIAGNOSIS_NOTE}</p>' if scene.comparison.is_medical else "",
        *(f"<p>{escape(note)}</p>" for note in scene.comparison.notes),
        _section("How they are looked at", _table(_view_table(scene))),
        _section("Settings that differ", _table(settings_table(scene))),
        _details("All settings", _table(settings_table(scene, differing=False))),
        _section("Key numbers", f"{_table(_numbers_table(scene))}{_list(scene.harms) if scene.harms else ''}"),
        _section(f"Differences from {scene.names[scene.base]}", _differences(scene)) if scene.differences else "",
        *(_figures(title, pictures, start) for title, start in _SECTIONS.items()),
    ]
    if scene.comparison.has_labels:
        classes = compare_numbers.class_table(scene.classes, scene.experts)
        parts.append(_section("Classes, in percent", _table(classes, missing=compare_numbers.NO_CASES)))
        parts.append(_section("Who is right with whom", _table(compare_numbers.confusion_table(scene.confusion), True)))
    return document.page("Systems side by side", parts)


_SECTIONS = {
    "Reliability": "reliability",
    "Predicted risk of asking (full colour: asked)": "risk",
    "Accuracy against coverage": "coverage",
    "Accuracy less the price, against the budget": "budget",
}


def specs(scene: Scene) -> dict[str, Spec]:
    """All charts of a scene by file name, to be drawn without a browser."""
    places = range(len(scene.seen))
    named = {f"reliability-{place + 1}": scene.reliability_chart(place) for place in places}
    named |= {f"risk-{place + 1}": scene.risk_chart(place) for place in places}
    if scene.comparison.has_labels:
        named |= {"coverage": scene.coverage_chart(), "budget": scene.budget_chart()}
    titles = {f"{kind}-{place + 1}": scene.names[place] for kind in ("reliability", "risk") for place in places}
    return {name: _alone(spec, name, titles.get(name, "")) for name, spec in named.items()}


def _alone(spec: Spec, name: str, title: str) -> Spec:
    """A specification without selections, to be drawn without a browser."""
    layers = [{key: value for key, value in layer.items() if key != "params"} for layer in spec["layer"]]
    layers = [layer for layer in layers if "condition" not in str(layer.get("encoding", {}).get("opacity", ""))]
    titled = {"title": {"text": title, "anchor": "start", "fontSize": 13}} if title else {}
    return document.alone({**spec, **titled, "layer": layers}, WIDTHS[name.partition("-")[0]])


def pictures(scene: Scene) -> bytes:
    """All charts as SVG and PNG in a zip."""
    import vl_convert

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, spec in specs(scene).items():
            drawn = document.svg(spec)
            archive.writestr(f"{name}.svg", drawn)
            archive.writestr(f"{name}.png", vl_convert.svg_to_png(drawn, scale=2))
    return buffer.getvalue()


def classes_table(scene: Scene) -> pd.DataFrame:
    """Accuracy by class, and who is right with whom, as fractions and counts."""
    named = {f"{name}, classes": part for name, part in scene.classes.items()}
    named |= {f"{name}, machine and expert": part for name, part in scene.confusion.items()}
    return csv_files.stacked(named)


def settings_table(scene: Scene, *, differing: bool = True) -> pd.DataFrame:
    """One row per setting, or only those that differ, and one column per system; the first row is its origin."""
    systems = scene.comparison.systems
    frame = pd.DataFrame({"settings": [dict(one.settings or {}) for one in systems]})
    rows = {"from": [one.origin for one in systems], "surrogate": [one.test.surrogate for one in systems]}
    known = differing_settings(frame) if differing else {name: 0 for one in frame["settings"] for name in one}
    names = [name for name in known if name != "surrogate"]
    rows |= {name: [_setting((one.settings or {}).get(name)) for one in systems] for name in names}
    return pd.DataFrame(rows, index=scene.names).T


def _setting(value: object) -> str:
    return "" if value is None else str(value)


def _view_table(scene: Scene) -> pd.DataFrame:
    rows = {
        "price of asking": f"{scene.cost:.2f} right answers",
        "budget": percent(scene.budget, 0),
        "bins": f"{scene.view.bins}, {STRATEGIES[scene.view.strategy].lower()}",
        "recalibration": RECALIBRATIONS[scene.view.recalibration],
    }
    for name, seen, correction in zip(scene.names, scene.seen, scene.corrections, strict=True):
        rows[f"{name} shows"] = f"{seen.estimator}, {correction}"
    return pd.DataFrame({"": list(rows.values())}, index=list(rows))


def _numbers_table(scene: Scene) -> pd.DataFrame:
    def cell(name: str, numbers: Mapping) -> str:
        share = numbers[name]
        return "not known" if share.value is None else f"{compare_numbers.written(name, share.value)} (n = {share.n:,})"

    titles = compare_numbers.TITLES
    columns = {
        name: [cell(measure, one) for measure in titles] for name, one in zip(scene.names, scene.numbers, strict=True)
    }
    for name, old in zip(scene.names, scene.before, strict=True):
        if old is not None:
            columns[f"{name}, before recalibration"] = [cell(measure, old) for measure in titles]
    return pd.DataFrame(columns, index=list((titles | {"ece": f"ECE ({scene.bins})"}).values()))


def _differences(scene: Scene) -> str:
    return f"{_list(scene.differences)}<p>{escape(compare_numbers.WHAT_INTERVALS_ARE_OF)}</p>"


def _figures(title: str, drawn: Mapping[str, str], start: str) -> str:
    found = "".join(f"<figure>{picture}</figure>" for name, picture in drawn.items() if name.startswith(start))
    return _section(title, f'<div class="charts">{found}</div>') if found else ""


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>{content}"


def _details(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _list(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _table(frame: pd.DataFrame, index: bool = True, missing: str = "") -> str:
    shown = frame.set_index(frame.columns[0]) if "class" in frame.columns else frame
    html = shown.to_html(index=index, escape=True, border=0, na_rep=missing, index_names=False)
    return f'<div class="wide">{html}</div>'
