"""Learn: eight short steps to why a machine that asks must say how likely the expert is to be right."""

import streamlit as st

from app.kit import glossary
from app.learn import asking, calibration, estimators, frame, handout, state

STEPS = (
    ("Why ask at all?", asking.why_ask),
    ("An expert who knows some things", asking.which_expert),
    ("What 70 % has to mean", calibration.what_seventy_percent_means),
    ("Why softmax odds can say 110 %", estimators.why_odds_leave),
    ("Why the proxy says too little", estimators.why_the_proxy_is_low),
    ("One question each", estimators.one_question_each),
    ("True numbers are not all", calibration.calibrated_is_not_useful),
    ("When risk is understated", calibration.when_risk_is_understated),
)

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Learn", anchor=False, width="content")
    st.markdown("When should a machine ask, and why must it be honest about it?", width="content")
state.begin()
now = (
    st.segmented_control(
        "Step", state.STEPS, key=state.STEP, required=True, bind="query-params", label_visibility="collapsed"
    )
    or state.STEPS[0]  # it has no value for a run when one leaves the page while it is drawn
)
title, draw = STEPS[int(now) - 1]
st.header(f"{now}. {title}", anchor=False)
sheet, answer = None, None
try:
    with frame.noting("now") as sheet:
        answer = draw()
except (OSError, ValueError) as problem:
    st.error(f"This step cannot be shown: {problem}")
else:
    frame.ask(answer, now)
with st.container(horizontal=True):
    if now != state.STEPS[0]:
        st.button("Back", icon=":material/arrow_back:", on_click=state.go, args=(-1,))
    if now != state.STEPS[-1]:
        st.button("Next", icon=":material/arrow_forward:", type="primary", on_click=state.go, args=(1,))
    else:
        st.page_link("lab/page.py", label="Now try it yourself in the live lab", icon=":material/science:")
glossary.draw()
if sheet and answer:
    handout.draw(STEPS, int(now) - 1, sheet, answer)
