"""Compare: which system, at which cost of asking the expert?"""

import streamlit as st

from app.compare import choice, results, state, upload_panel
from app.kit.notes import DIAGNOSIS_NOTE, MEDICAL_ICON
from app.kit.text import plain

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Compare", anchor=False, width="content")
    st.markdown("Which system, at which cost of asking the expert?", width="content")
runs = choice.all_runs()
chosen = state.chosen(runs)
choice.draw_chosen(runs, chosen)
choice.draw_table(runs, chosen)
upload_panel.draw(chosen)
for text in state.notes():
    st.warning(plain(text), icon=":material/info:")
comparison = None
if not chosen:
    st.info("Choose one of the runs above, or upload your own predictions.", icon=":material/compare_arrows:")
    st.button("Show the shipped CIFAR-10 runs", icon=":material/bolt:", on_click=state.start_again)
else:
    try:
        comparison = choice.comparison_of(runs, chosen)
    except (OSError, ValueError) as problem:
        st.error(plain(f"These cannot be compared: {problem}. Remove one of them."))
        choice.draw_uploads_alone(chosen)
if comparison is not None:
    for text in comparison.notes:
        st.caption(f":material/info: {plain(text)}")
    if comparison.is_medical:
        st.warning(DIAGNOSIS_NOTE, icon=MEDICAL_ICON)
    results.draw(comparison, chosen)
