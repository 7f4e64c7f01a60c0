"""Curves of trainings, epoch by epoch: tables in, Vega-Lite specifications out, built once and then filled."""

import math
from collections.abc import Sequence
from functools import cache

import altair as alt
import pyarrow as pa

from app.jobs.board import JobStatus
from app.kit.charts import Spec, columns_of
from app.kit.looks import SYSTEMS
from l2d_core.evaluation.measures import measure_title

# A column of `EpochReport` -> what its axis says, and whether it is a share.
MEASURES = {
    "validation_loss": ("Loss a case", False),
    **{name: (measure_title(name), True) for name in ("system_accuracy", "coverage")},
    "calibration_error": ("ECE of P(the expert is right)", True),
}
HEIGHT = 230
MAX_POINTS = 500  # of a line; a browser draws more only slowly
COLUMNS = ("job", "system", "epoch", "value", "part")


def curves(views: Sequence[JobStatus], measure: str) -> Spec:
    """A measure of MEASURES by epoch, one line per job; for the loss, a faint line for the training cases too."""
    parts = {"validation": measure} | ({"training": "train_loss"} if measure == "validation_loss" else {})
    rows = [row for view in views for part, column in parts.items() for row in _rows(view, part, column)]
    table = columns_of(COLUMNS, rows)
    end = columns_of(("epoch",), [(1.0,), (float(max(map(_last_epoch, views), default=2)),)])
    spec = _spec(measure)
    return {**spec, "datasets": {"epochs": pa.table(table), "ends": pa.table(end)}}


def _rows(view: JobStatus, part: str, column: str) -> list[tuple]:
    """One row per epoch; where there are very many, of every second, third, ... one and of the last."""
    if view.history.empty or column not in view.history:
        return []
    step = -(-len(view.history) // MAX_POINTS)
    shown = view.history[(view.history["epoch"] % step == 0) | (view.history["epoch"] == len(view.history))]
    values = zip(shown["epoch"], shown[column].astype(float), strict=True)
    system = SYSTEMS.get(view.config.surrogate) if view.config else None
    title = system.title if system else view.name
    # Not finite: an epoch in which nobody was asked, or a loss that ran away.
    return [(view.id, title, int(epoch), value if math.isfinite(value) else math.nan, part) for epoch, value in values]


def _last_epoch(view: JobStatus) -> int:
    """Where the axis ends: at the last epoch, or, in a training that goes on, with room for as many again."""
    done, planned = len(view.history), view.config.epochs if view.config else 0
    return max(2, min(planned, max(2 * done, 10)) if view.is_pending else done)


def spoken(views: Sequence[JobStatus], measure: str) -> str:
    """What a chart shows, in words with numbers."""
    title, is_share = MEASURES[measure]
    parts = []
    for view in views:
        if measure in view.history and len(view.history):
            last = float(view.history[measure].iloc[-1])
            number = "no value" if last != last else f"{100 * last:.1f} %" if is_share else f"{last:.3f}"
            parts.append(f"{view.name}: {number} after epoch {len(view.history)}")
    return f"{title}. {'; '.join(parts) or 'No epoch is done yet'}."


@cache
def _spec(measure: str) -> Spec:
    title, is_share = MEASURES[measure]
    looks = list(SYSTEMS.values())
    names = [look.title for look in looks]
    axis = alt.Axis(title=None, tickCount=5, format="%" if is_share else "")
    # Loss and shares of the first epochs may lie far from the rest; zero is no natural end for any of them but the ECE.
    scale = alt.Scale(zero=measure == "calibration_error")
    x_scale = alt.Scale(zero=False, nice=False)
    x = alt.X("epoch:Q", axis=alt.Axis(title="epoch", tickMinStep=1, format="d"), scale=x_scale)
    y = alt.Y("value:Q", axis=axis, scale=scale)
    color = alt.Color("system:N", scale=alt.Scale(domain=names, range=[look.color for look in looks]), legend=None)
    shape = alt.Shape("system:N", scale=alt.Scale(domain=names, range=[look.shape for look in looks]), legend=None)
    dash = alt.StrokeDash("system:N", scale=alt.Scale(domain=names, range=[list(k.dash) for k in looks]), legend=None)
    number = alt.Tooltip("value:Q", title=title, format=".2%" if is_share else ".3f")
    tooltip = [alt.Tooltip("system:N"), alt.Tooltip("epoch:Q", format="d"), number, alt.Tooltip("part:N")]
    epochs, ends = alt.Chart(alt.NamedData("epochs")), alt.Chart(alt.NamedData("ends"))
    main = epochs.transform_filter("datum.part == 'validation'").encode(x=x, y=y, color=color, detail="job:N")
    faint = epochs.transform_filter("datum.part == 'training'").encode(x=x, y=y, color=color, detail="job:N")
    layers = [
        ends.mark_point(opacity=0, size=1).encode(x=x),
        faint.mark_line(strokeWidth=1.2, opacity=0.55).encode(strokeDash=dash),
        main.mark_line(strokeWidth=2).encode(strokeDash=dash),
        main.mark_point(filled=True, size=34, opacity=1).encode(shape=shape, tooltip=tooltip),
    ]
    if measure != "validation_loss":
        del layers[1]
    heading = alt.Title(title, anchor="start", fontSize=13, fontWeight=600)
    return alt.layer(*layers).properties(height=HEIGHT, title=heading).to_dict(validate=False)
