"""The paper: do its results come out the same here?"""

import streamlit as st

from app.kit.text import plain
from app.paper import result, results, state

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("The paper", anchor=False, width="content")
    st.markdown("Do its results come out the same here?", width="content")
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    name = st.selectbox(
        "Result",
        list(results.TITLES),
        format_func=results.TITLES.get,
        key=state.RESULT,
        bind="query-params",
        persist_state="session",
        width=400,
    )
    scale = st.segmented_control(
        "Scale",
        list(results.SCALES),
        default="quick",
        required=True,
        format_func=lambda one: results.SCALES[one].title,
        key=state.SCALE,
        bind="query-params",
        persist_state="session",
        help="  \n".join(f"{one.title}: {one.words}" for one in results.SCALES.values()),
    )
if scale not in results.scales_of(name):
    st.info("This result is made from what is shipped: there is only the scale Quick.", icon=":material/info:")
    st.button("Show it at the scale Quick", icon=":material/bolt:", on_click=state.choose_quick)
elif not results.is_there(scale, name):
    st.info(
        "This result is not shipped at this scale. This makes it, in the folder of the program:",
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
        st.markdown("This makes it anew:")
        st.code(results.command(scale, name), language="sh")
    else:
        result.draw(stored, name)
