"""The choice of the expert on the page of skin lesions."""

from dataclasses import dataclass

import streamlit as st

from app.kit import expert_panel
from l2d_core.datasets import LAB_DATASETS

EXPERTS = {"trained": "The paper's dermatologist", "mixer": "The MLP-Mixer", "sliders": "My sliders"}
ABOUT = {
    "trained": "Right as often, class by class, as the paper's expert network. Both networks were trained with this "
    "expert, end to end: their own scores count.",
    "mixer": "An expert network like the paper's, which also sees age, sex and site. The deferral heads are refitted "
    "with what it said of the validation images, on the features of the one-vs-all network.",
    "sliders": "An expert of your own. The deferral heads are refitted, at once, with simulated answers to the "
    "validation images, on the features of the one-vs-all network.",
}


@dataclass(frozen=True)
class ExpertChoice:
    """kind: one of EXPERTS; accuracy a class and the rule for wrong answers, of "sliders" only."""

    kind: str
    accuracy: tuple[float, ...] = ()
    wrong: str = ""


def draw() -> ExpertChoice:
    """Draw the controls into the current container."""
    kind = st.radio(
        "Who is the expert?",
        list(EXPERTS),
        format_func=EXPERTS.get,
        key="lesion_expert",
        bind="query-params",
    )
    st.caption(ABOUT[kind])
    if kind != "sliders":
        return ExpertChoice(kind)
    dataset = LAB_DATASETS["ham10000"]
    return ExpertChoice(kind, *expert_panel.draw("ham10000", dataset.class_names, dataset.class_titles))
