"""The router: page settings, navigation, and the start of the library's import in the background."""

import streamlit as st

import cached
from components import style

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
        st.Page("app_pages/live_lab.py", title="Live lab", icon=":material/science:", url_path="lab"),
        st.Page("app_pages/skin_lesions.py", title="Skin lesions", icon=":material/dermatology:", url_path="lesions"),
        st.Page("app_pages/train.py", title="Train", icon=":material/model_training:", url_path="train"),
    ],
    position="top",
)
cached.workers().start(1)
page.run()
cached.warm_up()
