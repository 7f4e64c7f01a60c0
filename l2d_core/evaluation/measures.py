"""The measures, each with its title, unit and direction, read by tables, charts, run index and reproductions alike."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """What a number of a system or an estimator means.

    of: whom it is about, "estimator", "system", "machine" or "expert". better: "higher", "lower" or "" for neither.
    cases: what its n counts. percent: whether it is a share, shown in percent. is_p_value: of a test; over seeds it is
    combined by `calibration.cumulative.combined_p_value`, and has no interval.
    """

    title: str
    help: str
    of: str
    better: str
    cases: str = "test cases"
    percent: bool = True
    is_p_value: bool = False

    def text(self, value: float) -> str:
        """A value in the measure's unit, such as "12.3 %", "0.0123" or, of a p-value, "< 0.0001"."""
        if self.percent:
            return f"{100 * value:.1f} %"
        return "< 0.0001" if self.is_p_value and value < LEAST_P_VALUE else f"{value:.4f}"

    @property
    def words(self) -> str:
        """The title as it stands inside a sentence."""
        return self.title if self.title.startswith(_NAMES) else self.title[0].lower() + self.title[1:]


LEAST_P_VALUE = 0.0001  # that is shown as a number
_NAMES = ("ECE", "Brier")  # written with a capital everywhere

# What `summary.measure` computes, in the order of its table.
SUMMARY = {
    "ece": Measure(
        "ECE",
        "mean gap between estimate and share right, over bins, weighted by cases; estimates above 1 set to 1",
        of="estimator",
        better="lower",
    ),
    "ece_by_chance": Measure(
        "ECE by chance alone",
        "what a perfectly calibrated estimator with these estimates and this n would show",
        of="estimator",
        better="",
    ),
    "overconfidence": Measure(
        "Overconfidence",
        "the part of the ECE from bins in which the mean estimate is too high; less the underconfidence, it is the "
        "mean estimate less the share right",
        of="estimator",
        better="lower",
    ),
    "underconfidence": Measure(
        "Underconfidence",
        "the part of the ECE from bins in which the mean estimate is too low",
        of="estimator",
        better="lower",
    ),
    "cutoff_error": Measure(
        "Cutoff calibration error",
        "largest gap between estimate and share right over all intervals of estimates, times the share of cases in the "
        "interval: how far off any cutoff can be; without bins; estimates above 1 set to 1",
        of="estimator",
        better="lower",
    ),
    "kuiper_p_value": Measure(
        "p-value, Kuiper's test",
        "how often a calibrated estimator would show a cutoff calibration error of at least this size; cases are taken "
        "as independent, and a wrong answer at an estimate of 1 or more gives 0; of several seeds, twice the mean",
        of="estimator",
        better="",
        percent=False,
        is_p_value=True,
    ),
    "spiegelhalter_p_value": Measure(
        "p-value, Spiegelhalter's test",
        "how often a calibrated estimator would have a Brier score this far from what its estimates promise; as above",
        of="estimator",
        better="",
        percent=False,
        is_p_value=True,
    ),
    "smooth_ece": Measure(
        "Smooth ECE",
        "calibration error without bins, by a kernel whose width is chosen automatically; estimates above 1 set to 1",
        of="estimator",
        better="lower",
    ),
    "brier": Measure(
        "Brier score",
        "mean squared distance between the estimate and what came true, 0 or 1; estimates above 1 set to 1",
        of="estimator",
        better="lower",
        percent=False,
    ),
    "miscalibration": Measure(
        "Brier score: miscalibration",
        "what the best increasing recalibration of these same cases would save; Brier score = miscalibration - "
        "discrimination + uncertainty",
        of="estimator",
        better="lower",
        percent=False,
    ),
    "discrimination": Measure(
        "Brier score: discrimination",
        "what the estimate, once recalibrated, saves over the best constant",
        of="estimator",
        better="higher",
        percent=False,
    ),
    "uncertainty": Measure(
        "Brier score: uncertainty",
        "the Brier score of the best constant, the expert's accuracy",
        of="expert",
        better="",
        percent=False,
    ),
    "above_one": Measure("Estimates above 1", "share of all test cases", of="estimator", better="lower"),
    "above_one_of_deferred": Measure(
        "Estimates above 1, of deferred",
        "share of the deferred cases",
        of="estimator",
        better="lower",
        cases="deferred cases",
    ),
    "risk_distance": Measure(
        "Risk distance",
        "Wasserstein distance between the predicted risk, estimates above 1 set to 1, and the true one, which is known "
        "per case or per class; where it is known per class only, even a perfect estimate does not reach 0",
        of="estimator",
        better="lower",
    ),
    "system": Measure(
        "System accuracy", "machine on the cases it keeps, expert on those it defers", of="system", better="higher"
    ),
    "coverage": Measure("Coverage", "share of the test cases that the machine keeps", of="system", better=""),
    "machine_on_kept": Measure(
        "Machine on kept cases",
        "accuracy of the machine on what it keeps",
        of="machine",
        better="higher",
        cases="kept cases",
    ),
    "expert_on_deferred": Measure(
        "Expert on deferred cases",
        "accuracy of the expert on what is deferred",
        of="expert",
        better="higher",
        cases="deferred cases",
    ),
    "machine_alone": Measure(
        "Machine alone", "accuracy of the machine if it kept every case", of="machine", better="higher"
    ),
    "expert_alone": Measure("Expert alone", "accuracy of the expert on every case", of="expert", better="higher"),
}
MEASURES = SUMMARY | {
    "refinement": Measure(
        "Brier score: refinement",
        "what the best increasing recalibration would leave: uncertainty less discrimination; in older tables",
        of="estimator",
        better="lower",
        percent=False,
    ),
    "value": Measure(
        "Value at this cost", "system accuracy less the cost of asking, per case", of="system", better="higher"
    ),
    "squared_calibration_error": Measure(
        "Squared calibration error",
        "mean squared gap between estimate and share right, over bins, weighted by cases, less what chance adds, so "
        "that it is 0 on average for a calibrated system, and may be below 0; estimates above 1 set to 1",
        of="estimator",
        better="lower",
        percent=False,
    ),
    "system_as_plotted": Measure(
        "System accuracy as the authors plot it",
        "of one-vs-all, without the cases in which no score is above 0 or exactly two classes' scores are",
        of="system",
        better="higher",
        cases="test cases that are counted",
    ),
    "answers_by_heart": Measure(
        "Answers learned by heart",
        "correlation of the estimate with the drawn answers of training cases within a class, the mean over classes",
        of="estimator",
        better="lower",
        cases="training cases",
        percent=False,
    ),
    "error": Measure("System error", "1 less system accuracy", of="system", better="lower"),
    "deferred": Measure("Deferred", "share of the test cases that go to the expert", of="system", better=""),
    "balanced_machine_alone": Measure(
        "Machine alone, every class the same", "mean over the classes of its accuracy", of="machine", better="higher"
    ),
    "balanced_expert_alone": Measure(
        "Expert alone, every class the same", "mean over the classes of its accuracy", of="expert", better="higher"
    ),
    "balanced_system": Measure(
        "System, every class the same", "mean over the classes of its accuracy", of="system", better="higher"
    ),
    "classifier_ece": Measure(
        "ECE of the classifier's confidence", "as ECE, of the top class's probability", of="machine", better="lower"
    ),
    "risk_near_zero": Measure(
        "Cases with a predicted risk near 0", "share of the test cases", of="estimator", better=""
    ),
}
# What columns of files and of tables behind charts call a measure, where that is not its name here: files that were
# written stay readable.
_NAME_OF_COLUMN = {
    "system_accuracy": "system",
    "machine_accuracy": "machine_on_kept",
    "expert_accuracy": "expert_on_deferred",
    "calibration_error": "ece",
}
_ECE = "ece_"  # and then the estimator, in tables of runs


def name_of_column(column: str) -> str:
    """The measure in a column, such as "system" for "system_accuracy"; what holds none stands for itself."""
    if column in MEASURES:
        return column
    return "ece" if column.startswith(_ECE) else _NAME_OF_COLUMN.get(column, column)


def measure_of(column: str) -> Measure | None:
    """The measure behind a name of a measure or of a column; None for what is no measure."""
    return MEASURES.get(name_of_column(column))


def measure_title(column: str) -> str:
    """The title of the measure behind a name; what is no measure stands for itself."""
    measure = measure_of(column)
    return measure.title if measure else column


def ece_column(estimator: str) -> str:
    """The column that holds the ECE of an estimator, in tables of runs."""
    return _ECE + estimator
