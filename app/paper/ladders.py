"""Numbers of the paper's results beside the paper's: calibration errors by setting, distances of risk, scaling."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from app.kit import section
from app.kit.looks import ESTIMATORS, SYSTEMS, Look
from app.paper import charts
from app.paper.parts import parts_by, show
from app.paper.words import SCALING, beside
from l2d_core.evaluation.measures import measure_title
from l2d_core.reproductions.reproduction import Reproduction

EXPLANATION = "Filled markers: our numbers, with 95 % intervals over seeds. Hollow markers: the paper's."


def table1(result: Reproduction) -> None:
    """ECE by setting and estimator."""
    st.caption(f"Calibration error of the estimates of P(the expert is right), by setting. {EXPLANATION}")
    draw(result.table, "ece", "estimator", ESTIMATORS)
    with st.expander("How far off the proxy must be", icon=":material/calculate:"):
        st.caption(
            "The proxy's ECE for a perfect network and an expert who is equally good everywhere, and as measured."
        )
        names = {"proxy_ece_at_optimum": "proxy's ECE at the optimum", "proxy_ece": "proxy's ECE, measured"}
        show(result.details["proxy_at_optimum"], {"setting": "setting", "expert_alone": "expert right", **names})


def classifier_ece(result: Reproduction) -> None:
    """ECE of the classifier by setting and system."""
    st.caption(f"Calibration error of the machine's confidence in its predicted class, by setting. {EXPLANATION}")
    draw(result.table, "classifier_ece", "surrogate", SYSTEMS)
    with st.expander("Overconfident or underconfident?", icon=":material/balance:"):
        names = {"confidence": "mean confidence", "accuracy": "accuracy"}
        show(result.details["confidence"], {"setting": "setting", "surrogate": "system", **names})


def temperature(result: Reproduction) -> None:
    """System accuracy by rule of scaling, one chart per set of systems; and the temperatures."""
    st.caption(f"System accuracy of one-vs-all, by how its deferral score is scaled. {EXPLANATION}")
    for _, own in parts_by(result.table, "setting"):
        draw(own, "system", "estimator", SCALING, from_zero=False)
    with st.expander("Temperatures by seed", icon=":material/thermostat:"):
        table = result.details["temperatures"]
        rules = [SCALING[str(rule)].title if rule in SCALING else str(rule) for rule in table["rule"]]
        names = {name: name for name in ("setting", "rule", "seed", "temperature", "shift") if name in table}
        show(table.assign(rule=rules), {**names, "log_loss": "log loss on test"}, is_share=False)


def answers(result: Reproduction) -> None:
    """ECE where answers are drawn once and anew, and how far they were learned by heart."""
    st.caption(
        "The expert's answers to the training cases are drawn once, or anew in each epoch. Drawn once, a network "
        f"learns them by heart, and its estimates are too sure on new cases. {EXPLANATION}"
    )
    draw(result.table, "ece", "estimator", ESTIMATORS)


def draw(table: pd.DataFrame, measure: str, column: str, looks: Mapping[str, Look], *, from_zero: bool = True) -> None:
    """Draw the rows of a measure, one line each in its setting; column: the one whose values name the look."""
    rows = table[(table["measure"] == measure) & table[column].isin(list(looks))].reset_index(drop=True)
    name = measure_title(measure)
    if rows.empty:
        st.info(f"This result contains no {name}.")
        return
    rows = rows.assign(group=rows["setting"], title=[looks[one].title for one in rows[column]])
    rows = rows.astype({"mean": float, "half_width": float, "paper": float})
    used = [look for key, look in looks.items() if key in set(rows[column])]
    said = [f"{one['group']}, {one['title']}: {beside(one)}" for one in rows.to_dict("records")]
    key = f"ladder-{measure}-{rows['group'][0]}"
    spec = charts.ladder(rows, used, name, from_zero=from_zero)
    section.chart(spec, key, f"{name}, ours and the paper's", f"{name}. {'; '.join(said)}.")
