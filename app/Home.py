"""The router: page settings, navigation, and the start of the library's import in the background."""

import streamlit as st

import cached
from components import share, style

st.set_page_config(
    page_title="Learning to defer",
    page_icon="🔀",
    layout="wide",
    initial_sidebar_state=340,
)
style.apply()

page = st.navigation(
    [
        st.Page("app_pages/home.py", title="Home", icon=":material/home:", default=True),
        st.Page("app_pages/learn.py", title="Learn", icon=":material/school:", url_path="learn"),
        st.Page("app_pages/live_lab.py", title="Live lab", icon=":material/science:", url_path="lab"),
        st.Page("app_pages/skin_lesions.py", title="Skin lesions", icon=":material/dermatology:", url_path="lesions"),
        st.Page("app_pages/train.py", title="Train", icon=":material/model_training:", url_path="train"),
        st.Page("app_pages/compare.py", title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        st.Page("app_pages/paper.py", title="The paper", icon=":material/article:", url_path="paper"),
        st.Page("app_pages/about.py", title="About", icon=":material/info:", url_path="about"),
    ],
    position="top",
)
if page.url_path == "lab":
    cached.workers().start(1)  # on other pages it would only compete with what the page itself has to import
share.arrive(page.url_path)
try:
    page.run()
    share.note_junk(page.url_path)
    share.draw(page.url_path)
finally:  # a page may stop early
    cached.warm_up()
