"""The live lab in AppTest: how a test opens it, and reads what it shows."""

import io
import re
from html import unescape

import numpy as np
import pandas as pd
import pyarrow as pa
from streamlit.testing.v1 import AppTest

from app.lab import state
from l2d_core.common.paths import PROGRAM
from l2d_core.evaluation.measures import MEASURES

APP = PROGRAM / "app"
LAB = "lab/page.py"
TITLES = {
    "odds": "Softmax odds",
    "proxy": "Softmax proxy",
    "sigmoid": "One-vs-all",
    "probability": "Asymmetric softmax",
}


def open_home():
    """A new session on Home."""
    return AppTest.from_file(APP / "Home.py", default_timeout=60).run()


def open_lab(**settings):
    """A new session on the live lab by a link that holds these settings."""
    written = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.items()}
    return open_link(LAB, written)


def open_link(page, parameters):
    """A new session on a page whose address holds these, as a visitor's browser opens it."""
    app = open_home()
    del app.session_state["share_arrival"]  # that of Home
    for key, text in parameters.items():
        app.query_params[key] = text
    return app.switch_page(page).run()


def open_digits(**settings):
    """The live lab on the data whose fits take least time, and less for fewer epochs than it opens with."""
    return open_lab(**{"data": "digits", "seeds": 1, "digits_epochs": 4} | settings)


def move(app, **settings):
    """Set sliders of classes, by key, as a browser's message does, and run."""
    for key, percent in settings.items():
        app.session_state[key] = percent
    return app.run()


def set_experts(app, dataset, class_names, percents):
    """Move all class sliders at once, and run."""
    return move(app, **{f"{dataset}_{name}": percent for name, percent in zip(class_names, percents, strict=True)})


def percents(app, dataset, class_names):
    """Where the class sliders stand."""
    return [app.session_state[f"{dataset}_{name}"] for name in class_names]


def cards(app):
    """(Name, unit) -> value of the key numbers, as text."""
    return {key: value for key, (value, _) in _key_numbers(app).items()}


def differences(app):
    """(Name, unit) -> how the key number differs from the reference, as text; "" without a reference."""
    return {key: difference for key, (_, difference) in _key_numbers(app).items()}


def _key_numbers(app):
    html = next(element.value for element in app.html if 'class="kpi"' in element.value)
    found = {}
    for card in html.split('class="kpi"')[1:]:
        name = re.search(r'class="name">(.*?)<', card)[1]
        for pair in card.split('class="pair"')[1:]:
            value, unit, delta = (re.search(f'class="{one}">(.*?)<', pair) for one in ("value", "unit", "delta"))
            found[name, unit[1]] = (value[1], delta[1].strip("()") if delta else "")
    return found


def show(app, view, *, overlay=False):
    """Turn the stage to a view."""
    app.segmented_control(key="view").set_value(view)
    app.toggle(key="overlay").set_value(overlay)
    return app.run()


def message(app):
    """The sentence above the charts."""
    return next(match[1] for one in app.html if (match := re.search(r'class="message">(.*?)<', one.value)))


def summary(app):
    """The tables of all numbers as one, unfolded: measure by estimator, as text."""
    app.session_state[state.MEASURES] = True
    app.run()
    return pd.concat([table.value for table in app.table])


def charts(app, start=""):
    """The Vega-Lite charts whose name for screen readers starts like this."""
    return [chart for chart in app.get("vega_lite_chart") if chart.proto.alt.startswith(start)]


def spoken(app, start=""):
    """The texts for screen readers, one after each Vega-Lite chart, that start like this."""
    found = [re.search(r'class="for-screen-readers">(.*?)</', element.value) for element in app.html]
    return [text for match in found if match and (text := unescape(match[1])).startswith(start)]


def tables_of(chart):
    """Name -> table of what a chart draws."""
    return {part.name: pa.ipc.open_stream(io.BytesIO(part.data.data)).read_pandas() for part in chart.proto.datasets}


def texts(app):
    """Each text that a visitor can read or hear, cells of tables that hold text included."""
    for element in app:
        proto = getattr(element, "proto", None)
        for name in ("label", "help", "alt"):
            if isinstance(text := getattr(proto, name, None), str):
                yield text
        value = getattr(element, "value", None) if proto is not None else None
        if isinstance(value, str) and not value.lstrip().startswith("<style>"):
            yield value
    for table in app.table:
        yield table.value.to_string()


def assert_sound(app):
    """No error, no exception, and nowhere a number that is none."""
    assert not app.exception, app.exception[0].value
    assert not app.error, app.error[0].value
    assert not app.warning, app.warning[0].value
    broken = [text for text in texts(app) if re.search(r"\b(nan|inf|infinity|none)\b", text, re.IGNORECASE)]
    assert not broken
    for chart in charts(app):
        for name, table in tables_of(chart).items():
            assert_drawable(table, f"{name} of {chart.proto.alt}")
    for chart in app.get("plotly_chart"):
        assert not re.search(r"NaN|Infinity|null", chart.proto.spec)
    for frame in app.dataframe:
        assert_drawable(frame.value, str(list(frame.value)))


def assert_drawable(table, name):
    """Numbers are finite, but for the edge of an open bin, and missing only in empty bins, where none are kept, and as
    the interval of a p-value.
    """
    numbers = table.drop(columns=["low", "from"], errors="ignore").select_dtypes("number").to_numpy(dtype=float)
    assert not np.isinf(numbers).any(), name
    nothing = np.zeros(len(table), dtype=bool)
    for count in ("n", "cases", "coverage"):
        nothing |= table[count].to_numpy(dtype=float) == 0 if count in table else False
    if "measure" in table:
        nothing |= [MEASURES[name].is_p_value for name in table["measure"]]
    rows = table[pd.isna(table).any(axis=1).to_numpy() & ~nothing]
    assert rows.empty, f"{name}:\n{rows}"
