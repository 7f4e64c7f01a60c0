"""The paper: which of its results are reproduced here?"""

import streamlit as st

from app.kit import scroll
from app.kit.text import plain
from app.paper import result, results, scoreboard, state

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("The paper", anchor=False, width="content")
    st.markdown("Which of its results are reproduced here?", width="content")
with st.container(horizontal=True, vertical_alignment="center"):
    scale = st.segmented_control(
        "Scale",
        list(results.SCALES),
        default="quick",
        required=True,
        format_func=lambda one: results.SCALES[one].title,
        key=state.SCALE,
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
        width="content",
    )
    st.caption(f"Results of {results.SCALES[scale].words}", width="content")
scoreboard.draw(scale)
with st.container(key="chosen-result"):
    name = st.selectbox(
        "Result",
        list(results.TITLES),
        format_func=results.TITLES.get,
        key=state.RESULT,
        bind="query-params",
        persist_state="session",
        width=400,
    )
if state.num_chosen():
    scroll.to("chosen-result", str(state.num_chosen()))
if scale not in results.scales_of(name):
    st.info("This result is made from what is shipped, so it exists only at the scale Quick.", icon=":material/info:")
    st.button("Show it at the scale Quick", icon=":material/bolt:", on_click=state.choose_quick)
elif not results.is_there(scale, name):
    st.info(
        "This result is not shipped at this scale. This command makes it, in the program's folder:",
        icon=":material/terminal:",
    )
    st.code(results.command(scale, name), language="sh")
    if scale != "quick" and results.is_there("quick", name):
        st.button("Show it at the scale Quick", icon=":material/bolt:", on_click=state.choose_quick)
else:
    try:
        stored = results.load(scale, name)
    except (OSError, ValueError) as problem:
        st.error(plain(f"This result cannot be read: {problem}."), icon=":material/error:")
        st.markdown("This command makes it again:")
        st.code(results.command(scale, name), language="sh")
    else:
        result.draw(stored, name)
