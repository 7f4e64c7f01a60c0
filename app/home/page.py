"""Home: what learning to defer is, in four sentences and one picture, and where to go."""

import streamlit as st

from app.home import diagram
from app.kit.notes import NOT_FOR_DIAGNOSIS

LAB = "lab/page.py"
# Where to start: a short name, what to see, the link's words, and the settings, as the lab's links have them.
STARTS = (
    (
        "skin lesions",
        "Skin lesions, and a dermatologist who knows moles",
        "Real images of HAM10000. Watch how many softmax odds lie above 100 %, then move the slider for melanoma.",
        {"data": "ham10000"},
    ),
    (
        "photographs",
        "Small photographs, and an expert for half of the classes",
        "CIFAR-10, the paper's first expert: right in 75 % of the first five classes, in 20 % of the others.",
        {"data": "cifar10"},
    ),
    (
        "the plane",
        "Points in the plane, where the truth is known",
        "See each estimate beside the true probability, and what each system defers beside the Bayes rule.",
        {"data": "gaussians"},
    ),
)
# The pages beside the lab: what one does there, what it is, the page, its icon, and the link's words.
PAGES = (
    (
        "Read the lesson",
        "Eight short steps, each with one picture to move and one question: why to ask at all, and why a machine that "
        "asks must be honest about its expert. Five minutes.",
        "learn/page.py",
        ":material/school:",
        "Open the lesson",
    ),
    (
        "Look at lesions one by one",
        "Upload dermatoscopic images: what trained networks say, whether they would ask, and the risk either way. "
        f"{NOT_FOR_DIAGNOSIS}.",
        "lesions/page.py",
        ":material/dermatology:",
        "Open skin lesions",
    ),
    (
        "Train whole networks",
        "On digits in seconds, on CIFAR-10 or HAM10000 where they are on this machine; watch, stop, and go on.",
        "train/page.py",
        ":material/model_training:",
        "Open training",
    ),
    (
        "Compare any systems",
        "Shipped runs, your own, or predictions that you bring: side by side, at a price of asking and a budget.",
        "compare/page.py",
        ":material/compare_arrows:",
        "Open comparison",
    ),
    (
        "Check the paper's results",
        "Its figures and tables, made anew: our numbers beside the paper's, where they agree, and where they do not.",
        "paper/page.py",
        ":material/article:",
        "Open the paper",
    ),
)
PAPER = "https://proceedings.mlr.press/v162/verma22c.html"

st.title("Learning to defer", anchor=False)
st.markdown("**A classifier that knows when to ask.**")

text, picture = st.columns([5, 6], gap="large")
with text:
    st.markdown(
        "A machine classifies some cases itself, and hands the others to a human expert. "
        "Which ones it hands over is learned together with the classes, from what the expert got right before. "
        "To be trusted, the machine must say how likely the expert is to be right: of the cases where it says 70 %, "
        "the expert should be right in 70 %. "
        "The usual softmax loss gives estimates that can even exceed 100 %; the one-vs-all loss of "
        f"[Verma and Nalisnick (ICML 2022)]({PAPER}) stays within 100 % and was better calibrated in its experiments, "
        "and here you can watch the difference on real data."
    )
with picture:
    diagram.draw()

st.header("Make an expert, and see what is believed of it", anchor=False)
with st.container(key="charts-starts"):
    for (name, title, text, settings), column in zip(STARTS, st.columns(len(STARTS)), strict=True):
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"**{title}**")
            st.markdown(text)
            st.page_link(LAB, label=f"Open {name} in the live lab", icon=":material/science:", query_params=settings)

st.header("Or learn step by step, and work with whole networks", anchor=False)
with st.container(key="charts-pages"):
    for start in range(0, len(PAGES), 3):
        for (title, text, page, icon, label), column in zip(PAGES[start : start + 3], st.columns(3), strict=False):
            with column, st.container(border=True, height="stretch"):
                st.markdown(f"**{title}**")
                st.markdown(text)
                st.page_link(page, label=label, icon=icon)
