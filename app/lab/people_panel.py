"""The choice between a simulated expert and people whose answers are recorded."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from app.kit.settings import Setting, choice
from l2d_core.common.paths import DATA_ROOT
from l2d_core.datasets import LAB_DATASETS

if TYPE_CHECKING:
    import pandas as pd

KINDS = {"simulated": "Simulated", "people": "People"}


def draw(dataset: str, *, disabled: bool = False) -> str:
    """Draw the choice; returns whose answers are taken, or "" for a simulated expert."""
    crowd = LAB_DATASETS[dataset].people
    kind = st.segmented_control(
        "Who is the expert?",
        list(KINDS),
        required=True,
        format_func=KINDS.get,
        key=f"{dataset}_expert",
        persist_state="session",
        disabled=disabled,
        help="People: what annotators really said of these cases, mistakes and all.",
    )
    if kind == "simulated":
        return ""
    missing = _missing(dataset)
    if missing:
        st.info(
            f"The answers of people are not on this server, so the expert stays simulated. {missing}. The server "
            "finds them in the folder that L2D_DATA_ROOT names.",
            icon=":material/group_off:",
        )
        return ""
    name = st.selectbox(
        "In training it is",
        list(crowd.names),
        format_func=crowd.names.get,
        key=f"{dataset}_people",
        persist_state="session",
        disabled=disabled,
    )
    st.caption(crowd.tested_on)
    table = st.expander("How often they are right", icon=":material/group:", on_change="rerun")
    if table.open:
        with table:
            st.dataframe(_accuracy_table(dataset, name), height="content")
            st.caption(f"Percent, by true class, of the cases here. {crowd.source}.")
    return name


def settings(dataset: str) -> dict[str, Setting]:
    """Its settings by key."""
    return {f"{dataset}_expert": choice(KINDS), f"{dataset}_people": choice(LAB_DATASETS[dataset].people.names)}


@st.cache_data(show_spinner=False)
def _missing(dataset: str) -> str:
    return LAB_DATASETS[dataset].people.missing(DATA_ROOT)


@st.cache_data(show_spinner=False, max_entries=8)
def _accuracy_table(dataset: str, name: str) -> "pd.DataFrame":
    """Of the training images by the annotator, of the test images by everybody; in percent, with n."""
    import pandas as pd

    from l2d_core.common.seeds import numpy_generator

    known = LAB_DATASETS[dataset]
    splits = known.load(0, known.default_noise)
    train, test = ((np.asarray(part.ids), part.labels.numpy()) for part in (splits.train, splits.test))
    correct = known.people.answers(DATA_ROOT, train[0], name, numpy_generator(0, "people")) == train[1]
    right = known.people.right(DATA_ROOT, *test)
    rows = [
        (correct[train[1] == k].mean(), (train[1] == k).sum(), right[test[1] == k].mean(), (test[1] == k).sum())
        for k in range(len(known.class_names))
    ]
    rows.append((correct.mean(), len(correct), right.mean(), len(right)))
    table = pd.DataFrame(rows, columns=["training", "n", "test", "n "], index=[*known.class_names, "all"])
    return table.assign(training=(100 * table["training"]).round(1), test=(100 * table["test"]).round(1))
