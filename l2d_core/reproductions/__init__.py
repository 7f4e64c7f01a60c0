"""The paper's results, by the name that the command line takes."""

from collections.abc import Callable

from l2d_core.reproductions.accuracy import coverage, k
from l2d_core.reproductions.answer_draws import answers
from l2d_core.reproductions.calibration_tables import classifier_ece, table1
from l2d_core.reproductions.error_against_budget import budgets
from l2d_core.reproductions.figures_1_and_2 import figure1, figure2
from l2d_core.reproductions.ham10000 import ham10000
from l2d_core.reproductions.reproduction import Reproduction
from l2d_core.reproductions.request import Request
from l2d_core.reproductions.temperature_scaling import temperature

# In the order of the paper; the last is ours.
REPRODUCTIONS: dict[str, Callable[[Request], Reproduction]] = {
    "figure1": figure1,
    "figure2": figure2,
    "table1": table1,
    "classifier_ece": classifier_ece,
    "k": k,
    "coverage": coverage,
    "ham10000": ham10000,
    "budgets": budgets,
    "temperature": temperature,
    "answers": answers,
}
# Made from what is shipped, at the scale quick alone.
ONLY_QUICK = frozenset({"ham10000", "answers"})
# Not made of whole networks as the paper's authors ran it: voters do not answer anew in each batch.
NOT_AS_REFERENCE = frozenset({"budgets"})
