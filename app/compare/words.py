"""The charts of a comparison in words and numbers, for screen readers."""

from app.compare.evaluation import Evaluation
from app.kit.numbers import percent


def reliability(evaluation: Evaluation, place: int) -> str:
    """The calibration of a system."""
    table, numbers = evaluation.reliability[evaluation.names[place]], evaluation.numbers[place]
    share, low, high = (table[name].to_numpy() for name in ("share_correct", "band_low", "band_high"))
    outside = ((share < low) | (share > high)).sum()  # empty bins are NaN: neither
    above = evaluation.comparison.above_one(place, evaluation.settings)["cases"].sum()
    return (
        f"Reliability diagram of {evaluation.names[place]}. ECE {percent(numbers['ece'].value, 2)} over "
        f"{numbers['ece'].n:,} cases, {evaluation.bins}. {outside} of {(table['n'] > 0).sum()} filled bins lie outside "
        f"the band of a calibrated estimator. Estimates above 1: {above:,.0f}."
    )


def corp(evaluation: Evaluation, place: int) -> str:
    """The calibration of a system, without bins."""
    table, numbers = evaluation.corp[evaluation.names[place]], evaluation.numbers[place]
    outside = ((table["share_correct"] < table["band_low"]) | (table["share_correct"] > table["band_high"])).mean()
    parts = ", ".join(f"{name} {numbers[name].value:.4f}" for name in ("miscalibration", "discrimination"))
    return (
        f"Reliability diagram of {evaluation.names[place]} without bins, {numbers['brier'].n:,} cases. The curve lies "
        f"outside the band of a calibrated estimator at {percent(float(outside))} of its points. Brier score "
        f"{numbers['brier'].value:.4f}: {parts}."
    )


def risk(evaluation: Evaluation, place: int) -> str:
    """The distribution of the predicted risk."""
    table = evaluation.risk[evaluation.names[place]]
    low = table["share"][table["high"] <= 0.2].sum()
    return (
        f"Histogram of the risk of deferring that {evaluation.names[place]} predicts: {percent(low)} of the cases at "
        f"most 20 % risk; {percent(table['share_deferred'].sum())} are deferred at this cost and budget."
    )


def coverage(evaluation: Evaluation) -> str:
    """The operating point of each system on the accuracy-coverage curve."""
    parts = [
        f"{name}: accuracy {percent(one['system'].value)} at coverage {percent(one['coverage'].value)}, machine alone "
        f"{percent(one['machine_alone'].value)}, expert alone {percent(one['expert_alone'].value)}"
        for name, one in zip(evaluation.names, evaluation.numbers, strict=True)
    ]
    return f"System accuracy against coverage, n = {evaluation.numbers[0]['system'].n:,}. {'; '.join(parts)}."


def budget(evaluation: Evaluation) -> str:
    """The value of each system at this budget."""
    parts = [
        f"{name}: {percent(one['value'].value)}" for name, one in zip(evaluation.names, evaluation.numbers, strict=True)
    ]
    return f"Accuracy less the cost of asking, at a budget of {percent(evaluation.budget, 0)}. {'; '.join(parts)}."
