"""Learn: a warm-up, then eight short steps to why a machine that asks an expert needs calibrated estimates."""

import streamlit as st

from app.kit import glossary, scroll
from app.learn import asking, calibration, estimators, frame, handout, machine, state

STEPS = (
    ("Why ask an expert?", asking.why_ask),
    ("Which cases does the network defer?", asking.which_expert),
    ("What does 70 % mean?", calibration.what_seventy_percent_means),
    ("How can softmax odds exceed 100 %?", estimators.why_odds_leave),
    ("Why is the proxy too low?", estimators.why_the_proxy_is_low),
    ("What does one-vs-all do differently?", estimators.one_question_each),
    ("Is calibration enough?", calibration.calibrated_is_not_useful),
    ("What does an understated risk cost?", calibration.when_risk_is_understated),
)

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Learn", anchor=False, width="content")
    st.markdown("When should a machine ask an expert, and how far can its estimates be trusted?", width="content")
state.begin()
with st.container(horizontal=True, vertical_alignment="center"):
    now = (
        st.segmented_control(
            "Step",
            list(state.STEPS),
            format_func=state.STEPS.get,
            key=state.STEP,
            required=True,
            bind="query-params",
            label_visibility="collapsed",
            width="content",
        )
        or state.first()  # it has no value for a run when one leaves the page while it is drawn
    )
    st.caption(f"{len(state.committed())} of {len(STEPS)} questions answered", width="content")
st.progress(state.place_of(now) / (len(state.STEPS) - 1))
scroll.to_top(now)
sheet, answer = None, None
try:
    if now == state.WARM_UP:
        st.header("Warm-up: you are the machine", anchor=False)
        machine.draw()
    else:
        title, draw = STEPS[int(now) - 1]
        st.header(f"{now}. {title}", anchor=False)
        with frame.noting("now") as sheet:
            answer = draw()
except (OSError, ValueError) as problem:
    st.error(f"This step cannot be shown: {problem}")
else:
    if answer:
        frame.ask(answer, now)
with st.container(horizontal=True):
    if now != state.first():
        st.button("Back", icon=":material/arrow_back:", key="back", on_click=state.go, args=(-1,))
    if now != state.last():
        st.button("Next", icon=":material/arrow_forward:", key="next", type="primary", on_click=state.go, args=(1,))
    else:
        st.page_link("lab/page.py", label="Try it yourself in the live lab", icon=":material/science:")
glossary.draw()
if sheet and answer:
    handout.draw(STEPS, int(now) - 1, sheet, answer)
