"""Learn: eight short steps to why a machine that asks must say how likely the expert is to be right."""

import streamlit as st

from app.kit import glossary
from app.learn import asking, calibration, estimators, frame, handout

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
NUMBERS = [str(number + 1) for number in range(len(STEPS))]


def go(by: int) -> None:
    """Turn so many steps on, before the page is drawn: from where it is now, which two quick clicks both count."""
    place = NUMBERS.index(st.session_state["step"]) + by
    st.session_state["step"] = NUMBERS[min(max(place, 0), len(NUMBERS) - 1)]


with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Learn", anchor=False, width="content")
    st.markdown("When should a machine ask, and why must it be honest about it?", width="content")
st.session_state.setdefault("step", "1")
now = st.segmented_control(
    "Step", NUMBERS, key="step", required=True, bind="query-params", label_visibility="collapsed"
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
    if now != NUMBERS[0]:
        st.button("Back", icon=":material/arrow_back:", on_click=go, args=(-1,))
    if now != NUMBERS[-1]:
        st.button("Next", icon=":material/arrow_forward:", type="primary", on_click=go, args=(1,))
    else:
        st.page_link("lab/page.py", label="Now try it yourself in the live lab", icon=":material/science:")
glossary.draw()
if sheet and answer:
    handout.draw(STEPS, int(now) - 1, sheet, answer)
