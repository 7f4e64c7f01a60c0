"""Home: what learning to defer is, in four sentences and one picture, and where to go."""

import streamlit as st

from components import diagram

PAPER = "https://proceedings.mlr.press/v162/verma22c.html"

st.title("Learning to defer", anchor=False)
st.markdown("**A classifier that knows when to ask.**")

text, picture = st.columns([5, 6], gap="large")
with text:
    st.markdown(
        "A machine classifies most cases, and hands some to a human expert. "
        "Which ones it hands over is learned together with the classes, from what the expert got right before. "
        "To be trusted, the machine must say how likely the expert is to be right: of the cases where it says 70 %, "
        "the expert should be right in 70 %. "
        "The usual softmax loss gives estimates that can even exceed 100 %; the one-vs-all loss of "
        f"[Verma and Nalisnick (ICML 2022)]({PAPER}) gives calibrated ones, and here you can watch the difference on "
        "real data."
    )
    st.page_link(
        "app_pages/live_lab.py",
        label="Open the live lab: make an expert, and see what is believed of it",
        icon=":material/science:",
    )
with picture:
    diagram.draw()
