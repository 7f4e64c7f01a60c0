"""The router: page settings, navigation, and the start of the library's import in the background."""

import streamlit as st

from app.compare.links import LINKS as COMPARE
from app.fits import shared
from app.home.links import LINKS as HOME
from app.kit import server, style, visits
from app.lab.links import LINKS as LAB
from app.learn.links import LINKS as LEARN
from app.lesions.links import LINKS as LESIONS
from app.paper.links import LINKS as PAPER
from app.sharing import arrival, share
from app.sharing.carried import NOTHING

# What the links of each page carry, by the page's name in an address.
CARRIED = {"": HOME, "lab": LAB, "learn": LEARN, "lesions": LESIONS, "compare": COMPARE, "paper": PAPER}

st.set_page_config(
    page_title="Learning to defer",
    page_icon="🔀",
    layout="wide",
    initial_sidebar_state=340,
)
style.apply()
server.prepare()

page = st.navigation(
    [
        st.Page("home/page.py", title="Home", icon=":material/home:", default=True),
        st.Page("learn/page.py", title="Learn", icon=":material/school:", url_path="learn"),
        st.Page("lab/page.py", title="Live lab", icon=":material/science:", url_path="lab"),
        st.Page("lesions/page.py", title="Skin lesions", icon=":material/dermatology:", url_path="lesions"),
        st.Page("train/page.py", title="Train", icon=":material/model_training:", url_path="train"),
        st.Page("compare/page.py", title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        st.Page("paper/page.py", title="The paper", icon=":material/article:", url_path="paper"),
        st.Page("about/page.py", title="About", icon=":material/info:", url_path="about"),
    ],
    position="top",
)
if page.url_path == "lab" and st.query_params:
    shared.workers().start(1)  # what the lab opens with needs none, and other pages import what they need themselves
if "job" in st.query_params:  # on every page: no address keeps the secret of an owner's link
    from app.jobs import ownership

    ownership.take_from_address()
visits.note(page.url_path)
carried = CARRIED.get(page.url_path, NOTHING)
arrival.arrive(carried)
try:
    page.run()
    arrival.note_junk(carried)
    share.draw(carried)
finally:  # a page may stop early
    shared.warm_up()
