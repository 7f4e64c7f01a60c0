"""Compare: which system, at which price of asking?"""

import streamlit as st

from components import compare_choice, compare_results, compare_session, compare_upload
from components.job_words import plain

DIAGNOSIS_NOTE = "Research demonstration, not for diagnosis: systems trained and tested on published images of lesions."

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Compare", anchor=False, width="content")
    st.markdown("Which system, at which price of asking?", width="content")
runs = compare_choice.all_runs()
chosen = compare_session.chosen(runs)
compare_choice.draw_chosen(runs, chosen)
compare_choice.draw_table(runs, chosen)
compare_upload.draw(chosen)
for text in compare_session.notes():
    st.warning(plain(text), icon=":material/info:")
comparison = None
if not chosen:
    st.info("Choose one of the runs above, or bring your own predictions.", icon=":material/compare_arrows:")
    st.button(
        "Show the runs on CIFAR-10 that are shipped", icon=":material/bolt:", on_click=compare_session.start_again
    )
else:
    try:
        comparison = compare_choice.comparison_of(runs, chosen)
    except (OSError, ValueError) as problem:
        st.error(plain(f"These cannot be compared: {problem}. Take one of them away."))
if comparison is not None:
    for text in comparison.notes:
        st.caption(f":material/info: {plain(text)}")
    if comparison.is_medical:
        st.warning(DIAGNOSIS_NOTE, icon=":material/medical_information:")
    compare_results.draw(comparison, chosen)
