"""As little as a Streamlit app of two pages can be: what Streamlit itself costs, to compare with.

The first page has one slider, one small chart and one upload field, the other a title.
"""

import streamlit as st


def first() -> None:
    """A title, a slider, a chart and an upload field."""
    st.title("First")
    value = st.slider("value", 0, 100, 20)
    rows = [{"x": x, "y": value * x % 101} for x in range(20)]
    encoding = {name: {"field": name, "type": "quantitative"} for name in ("x", "y")}
    chart = {"data": {"name": "rows"}, "datasets": {"rows": rows}, "mark": "point", "encoding": encoding}
    st.vega_lite_chart(chart, key="chart")
    for file in st.file_uploader("file", accept_multiple_files=True):
        st.text(f"{file.name}: {len(file.getvalue())} bytes")


def other() -> None:
    """A title."""
    st.title("Other")


pages = [st.Page(first, title="First", default=True), st.Page(other, title="Other", url_path="other")]
st.navigation(pages, position="top").run()
