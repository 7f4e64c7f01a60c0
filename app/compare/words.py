"""What the charts of a comparison show, in words and numbers, for screen readers."""

from app.compare.scene import Scene
from app.kit.numbers import percent


def reliability(scene: Scene, place: int) -> str:
    """The calibration of a system."""
    table, numbers = scene.reliability[scene.names[place]], scene.numbers[place]
    share, low, high = (table[name].to_numpy() for name in ("share_correct", "band_low", "band_high"))
    outside = ((share < low) | (share > high)).sum()  # empty bins are NaN: neither
    above = scene.comparison.above_one(place, scene.view)["cases"].sum()
    return (
        f"Reliability diagram of {scene.names[place]}. ECE {percent(numbers['ece'].value, 2)} over "
        f"{numbers['ece'].n:,} cases, {scene.bins}. {outside} of {(table['n'] > 0).sum()} filled bins lie outside "
        f"the band of a calibrated estimator. Estimates above 1: {above:,.0f}."
    )


def risk(scene: Scene, place: int) -> str:
    """The distribution of the predicted risk."""
    table = scene.risk[scene.names[place]]
    low = table["share"][table["high"] <= 0.2].sum()
    return (
        f"Histogram of the risk of asking that {scene.names[place]} predicts: {percent(low)} of the cases at most "
        f"20 % risk; {percent(table['share_deferred'].sum())} are asked at this price and budget."
    )


def coverage(scene: Scene) -> str:
    """The operating point of each system on the accuracy-coverage curve."""
    parts = [
        f"{name}: accuracy {percent(one['system'].value)} at coverage {percent(one['coverage'].value)}, machine alone "
        f"{percent(one['machine_alone'].value)}, expert alone {percent(one['expert_alone'].value)}"
        for name, one in zip(scene.names, scene.numbers, strict=True)
    ]
    return f"System accuracy against coverage, n = {scene.numbers[0]['system'].n:,}. {'; '.join(parts)}."


def budget(scene: Scene) -> str:
    """The value of each system at this budget."""
    parts = [f"{name}: {percent(one['value'].value)}" for name, one in zip(scene.names, scene.numbers, strict=True)]
    return f"Accuracy less the price of asking, at a budget of {percent(scene.budget, 0)}. {'; '.join(parts)}."
