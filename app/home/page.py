"""Home: see an estimate fail and another hold, with one slider; then what learning to defer is, and where to go."""

import streamlit as st

from app.home import chart, diagram, state, table
from app.kit.numbers import percent

LAB = "lab/page.py"
PAPER = "https://proceedings.mlr.press/v162/verma22c.html"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
# The other pages: the page, the words of its link, and its icon.
PAGES = (
    ("learn/page.py", "Learn: a lesson in eight short steps", ":material/school:"),
    ("lesions/page.py", "Skin lesions: ask the expert, or not?", ":material/dermatology:"),
    ("train/page.py", "Train: whole networks, in the background", ":material/model_training:"),
    ("compare/page.py", "Compare: any systems, yours included", ":material/compare_arrows:"),
    ("paper/page.py", "The paper: its results, reproduced", ":material/article:"),
    ("about/page.py", "About: data, licences and limits", ":material/info:"),
)
WHAT = f"""
A classifier that **learns to defer** answers some cases itself and hands the others to a human expert; which ones, it
learns together with the classes. To decide well, it must know how likely the expert is to be right. The usual softmax
loss gives estimates that are often far too high and can even exceed 100 %. The one-vs-all loss of
[Verma and Nalisnick (ICML 2022)]({PAPER}) keeps them below 100 % and was better calibrated in the paper's experiments.
"""


def draw_controls() -> dict[str, table.Numbers]:
    """The question, the slider, the sentence on what is seen, and the way to the lab; returns what to draw."""
    st.markdown(
        "A classifier that defers hands a case to an expert where it expects the expert to do better. "
        "**When it puts the expert's chance of being right at 90\u00a0%, can you believe it?**"
    )
    accuracy = st.slider(
        "How often is the expert right on the classes they know?",
        min(table.ACCURACIES),
        max(table.ACCURACIES),
        table.DEFAULT,
        5,
        format="%d %%",
        key=state.ACCURACY,
        bind="query-params",
        persist_state="session",
    )
    known = ", ".join(f"{name}s" if name != "deer" else name for name in CLASSES[: table.KNOWN - 1])
    st.caption(
        f"Small photographs of ten classes (CIFAR-10). The expert knows five of them: {known} and "
        f"{CLASSES[table.KNOWN - 1]}, and is right in {table.UNKNOWN} % of the cases of the other five."
    )
    numbers = table.of_expert(accuracy)
    with st.container(key="home-sentence"):
        st.markdown(f"**{sentence(numbers)}**".replace(" %", "\u00a0%"))
    if st.button("Open the live lab", type="primary", icon=":material/science:"):
        st.switch_page(LAB, query_params=lab_settings(accuracy))
    st.caption(
        f"Means over {table.SEEDS} trainings of each classifier, tested on {table.num_test_cases():,} photographs. "
        "“Off by” is the expected calibration error (ECE) in 15 bins of equal width; chance alone would give "
        f"{points(numbers['odds'].ece_by_chance)} and {points(numbers['sigmoid'].ece_by_chance)} points. The larger a "
        "marker, the more cases it stands for; the lines pass over bins with less than 1 % of them."
    )
    return dict(numbers)


def sentence(numbers: dict[str, table.Numbers]) -> str:
    """What the chart shows, in words with its numbers."""
    odds, sigmoid = numbers["odds"], numbers["sigmoid"]
    off = f"On average they are off by {points(odds.ece)} points, one-vs-all by {points(sigmoid.ece)}."
    if odds.right_above_one is None:
        return f"Softmax odds stay below 100 % here. {off}"
    return (
        f"Softmax odds claim more than 100 % in {percent(odds.above_one)} of the cases; there the expert is right in "
        f"{percent(odds.right_above_one)}. {off}"
    )


def points(share: float) -> str:
    """A share in percentage points."""
    return f"{100 * share:.1f}"


def lab_settings(accuracy: int) -> dict[str, str]:
    """The address of the lab with the same expert, which is its own first one at the default."""
    own = {} if accuracy == table.DEFAULT else {f"{table.DATASET}_{name}": str(accuracy) for name in CLASSES[:5]}
    return {"data": table.DATASET, **own}


with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Learning to defer", anchor=False, width="content")
    st.markdown("A classifier that knows when to ask", width="content")
with st.container(key="wide-charts-home"):
    left, right = st.columns([6, 7], gap="large")
with left:
    shown = draw_controls()
with right:
    st.vega_lite_chart(
        chart.reliability(shown, table.num_test_cases()),
        key="home-chart",
        alt="How often the expert is right against what each estimator says. The text beside it gives the numbers.",
    )
with st.container(key="charts-pages", gap=None):
    for start in range(0, len(PAGES), 3):
        for (page, label, icon), column in zip(PAGES[start : start + 3], st.columns(3), strict=True):
            column.page_link(page, label=label, icon=icon)
st.header("How it works", anchor=False)
with st.container(key="wide-charts-how"):
    text, picture = st.columns([5, 6], gap="large")
with text:
    st.markdown(WHAT)
with picture:
    diagram.draw()
