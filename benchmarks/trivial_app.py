"""The least page that is like the lab: one slider, one small chart: the floor of what Streamlit costs."""

import streamlit as st

value = st.slider("value", 0, 100, 20)
rows = [{"x": x, "y": value * x % 101} for x in range(20)]
st.vega_lite_chart(
    {
        "data": {"name": "rows"},
        "datasets": {"rows": rows},
        "mark": "point",
        "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}},
    },
    key="chart",
)
