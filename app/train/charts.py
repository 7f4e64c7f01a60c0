"""Curves of trainings, epoch by epoch: tables in, Vega-Lite specifications out, built once and then filled."""

import math
from collections.abc import Sequence
from functools import lru_cache

import altair as alt

from app.jobs.board import JobStatus
from app.jobs.folder import MAX_NAME
from app.kit.charts import Spec, columns_of, finish, with_data
from app.kit.looks import Look
from l2d_core.evaluation.measures import measure_title
from l2d_core.surrogates import SURROGATES

LOSS = "validation_loss"
# A column of `EpochReport` -> what its axis says, and whether it is a share.
MEASURES = {
    LOSS: ("Loss per case", False),
    **{name: (measure_title(name), True) for name in ("system_accuracy", "coverage")},
    "calibration_error": ("ECE of P(the expert is right)", True),
}
HEIGHT, LEGEND_ROW = 280, 30  # in pixels, of a chart without its legend, and of each line of that
MAX_POINTS = 500  # of a line; a browser draws more only slowly
COLUMNS = ("training", "epoch", "value", "part")
SPECS_KEPT = 64  # charts hold names of trainings, which are unlimited


def panels(views: Sequence[JobStatus]) -> list[tuple[str, str, list[JobStatus]]]:
    """The charts to draw, as (measure, title, trainings).

    Losses of different surrogates, and losses in bits and in nats, have no common scale: each has a chart of its own.
    """
    kinds: dict[str, list[JobStatus]] = {}
    for view in views:
        if view.config is not None:
            unit = "bits" if view.config.reference else "nats"
            kinds.setdefault(f"{_title(view.config.surrogate)} ({unit})", []).append(view)
    losses = [(LOSS, f"{MEASURES[LOSS][0]}, {kind}", group) for kind, group in kinds.items()]
    return losses + [(name, title, list(views)) for name, (title, _) in MEASURES.items() if name != LOSS]


def _title(surrogate: str) -> str:
    return SURROGATES[surrogate].title if surrogate in SURROGATES else surrogate[:MAX_NAME]


def curves(views: Sequence[JobStatus], measure: str, title: str, looks: Sequence[Look]) -> Spec:
    """A measure of MEASURES by epoch, one line per training; for the loss, a faint line for the training cases too.

    looks: of the trainings, each titled with its name.
    """
    parts = {"validation": measure} | ({"training": "train_loss"} if measure == LOSS else {})
    pairs = list(zip(views, looks, strict=True))
    rows = [row for view, look in pairs for part, column in parts.items() for row in _rows(view, look, part, column)]
    end = columns_of(("epoch",), [(1.0,), (float(max(map(_last_epoch, views), default=2)),)])
    return with_data(_spec(measure, title, tuple(looks)), epochs=columns_of(COLUMNS, rows), ends=end)


def _rows(view: JobStatus, look: Look, part: str, column: str) -> list[tuple]:
    """One row per epoch; where there are very many, of every second, third, ... one and of the last."""
    if view.history.empty or column not in view.history:
        return []
    step = -(-len(view.history) // MAX_POINTS)
    shown = view.history[(view.history["epoch"] % step == 0) | (view.history["epoch"] == len(view.history))]
    values = zip(shown["epoch"], shown[column].astype(float), strict=True)
    # Not finite: an epoch in which nobody was asked, or a loss that diverged.
    return [(look.title, int(epoch), value if math.isfinite(value) else math.nan, part) for epoch, value in values]


def _last_epoch(view: JobStatus) -> int:
    """Where the axis ends: at the last epoch, or, in a training that goes on, with room for as many again."""
    done, planned = len(view.history), view.config.epochs if view.config else 0
    return max(2, min(planned, max(2 * done, 10)) if view.is_pending else done)


def spoken(views: Sequence[JobStatus], measure: str, title: str) -> str:
    """A chart in words with numbers."""
    _, is_share = MEASURES[measure]
    parts = []
    for view in views:
        if measure in view.history and len(view.history):
            last = float(view.history[measure].iloc[-1])
            number = "no value" if last != last else f"{100 * last:.1f} %" if is_share else f"{last:.3f}"
            parts.append(f"{view.name}: {number} after epoch {len(view.history)}")
    return f"{title}. {'; '.join(parts) or 'No epoch is done yet'}."


@lru_cache(maxsize=SPECS_KEPT)
def _spec(measure: str, title: str, looks: tuple[Look, ...]) -> Spec:
    _, is_share = MEASURES[measure]
    axis = alt.Axis(title=None, tickCount=5, format="%" if is_share else "")
    # Loss and shares of the first epochs may lie far from the rest; zero is no natural end for any of them but the ECE.
    scale = alt.Scale(zero=measure == "calibration_error")
    x_scale = alt.Scale(zero=False, nice=False)
    x = alt.X("epoch:Q", axis=alt.Axis(title="epoch", tickMinStep=1, format="d"), scale=x_scale)
    y = alt.Y("value:Q", axis=axis, scale=scale)
    names = [look.title for look in looks]
    legend = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=320, symbolOpacity=1)
    color, shape, dash = (
        channel(
            "training:N",
            scale=alt.Scale(domain=names, range=values),
            legend=legend,
        )
        for channel, values in (
            (alt.Color, [look.color for look in looks]),
            (alt.Shape, [look.shape for look in looks]),
            (alt.StrokeDash, [list(look.dash) for look in looks]),
        )
    )
    number = alt.Tooltip("value:Q", title=title, format=".2%" if is_share else ".3f")
    tooltip = [
        alt.Tooltip("training:N"),
        alt.Tooltip("epoch:Q", format="d"),
        number,
        alt.Tooltip("part:N", title="cases"),
    ]
    epochs, ends = alt.Chart(alt.NamedData("epochs")), alt.Chart(alt.NamedData("ends"))
    main = epochs.transform_filter("datum.part == 'validation'").encode(x=x, y=y, color=color)
    faint = epochs.transform_filter("datum.part == 'training'").encode(x=x, y=y, color=color)
    layers = [
        ends.mark_point(opacity=0, size=1).encode(x=x),
        faint.mark_line(strokeWidth=1.2, opacity=0.55).encode(strokeDash=dash),
        main.mark_line(strokeWidth=2).encode(strokeDash=dash),
        main.mark_point(filled=True, size=34, opacity=1).encode(shape=shape, tooltip=tooltip),
    ]
    if measure != LOSS:
        del layers[1]
    heading = alt.Title(title, anchor="start", fontSize=13, fontWeight=600)
    return finish(alt.layer(*layers).properties(height=HEIGHT + LEGEND_ROW * len(looks), title=heading))
