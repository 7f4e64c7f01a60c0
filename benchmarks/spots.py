"""The pages that `latency.py` measures, what it measures of each, and what is allowed."""

from dataclasses import dataclass

COLD, WARM, SWITCH, UPLOAD = "opened, cold", "opened, warm", "turned to", "one upload"
SLIDER, WITH_FIT, BEYOND = "a slider", "a slider, with the fit", "a slider, beyond the fit"
TRAINING = "a slider, beyond the fit, while a training runs"
TRAINING_ALL = "a slider, with the fit, while a training runs"
# Milliseconds that are allowed at these quantiles.
BUDGETS = {
    COLD: {0.95: 4000},
    WARM: {0.95: 2500},
    SWITCH: {0.95: 700},
    UPLOAD: {0.95: 1000},
    SLIDER: {0.5: 300, 0.95: 500},
    BEYOND: {0.5: 300, 0.95: 500},
    TRAINING: {0.95: 700},
    TRAINING_ALL: {0.95: 1500},
    WITH_FIT: {0.95: 450},
}
OWN_BUDGETS = {("home", COLD): {0.95: 2000}, ("lab", COLD): {0.95: 2500}, ("lab", WARM): {0.95: 1800}}
MOST_TIMES = {WITH_FIT: 8}  # the median of the nearly empty page's slider, at the median
LEAST_UPDATES = 4  # a second, while one drags
LABS = ("lab", "lab_ham10000")


@dataclass(frozen=True)
class Spot:
    """A page: its path, its title in the navigation, its sliders with the key that leads away from the nearer end."""

    path: str
    title: str
    has_charts: bool = True
    sliders: tuple[tuple[str, str], ...] = ()


SPOTS = {
    "home": Spot("/", "Home", sliders=(("How often is the expert right", "ArrowRight"),)),
    "learn": Spot("/learn?step=1", "Learn", sliders=(("Share deferred", "ArrowRight"),)),
    "lab": Spot("/lab", "Live lab", sliders=(("cat", "ArrowRight"), ("dog", "ArrowRight"), ("ship", "ArrowRight"))),
    "lab_ham10000": Spot(
        "/lab?data=ham10000",
        "Live lab",
        sliders=(
            ("mel: melanoma", "ArrowRight"),
            ("nv: melanocytic nevus", "ArrowLeft"),
            ("bkl: benign keratosis", "ArrowRight"),
            ("bcc: basal cell carcinoma", "ArrowRight"),
        ),
    ),
    "lesions": Spot("/lesions", "Skin lesions", has_charts=False),
    "train": Spot("/train", "Train", has_charts=False),
    "compare": Spot("/compare", "Compare", sliders=(("Cost of asking", "ArrowRight"), ("Budget: cases", "ArrowLeft"))),
    "paper": Spot("/paper", "The paper", has_charts=False),  # not in each of its results
    "about": Spot("/about", "About", has_charts=False),
}
# The nearly empty pages, by whether they have a chart.
EMPTY = {True: Spot("/", "First", sliders=(("value", "ArrowRight"),)), False: Spot("/other", "Other", has_charts=False)}


def title(name: str) -> str:
    """The title of a page in a table."""
    return f"{SPOTS[name].title} (HAM10000)" if name == "lab_ham10000" else SPOTS[name].title


def budget(name: str, kind: str) -> dict[float, float]:
    """Milliseconds that are allowed at each quantile."""
    return OWN_BUDGETS.get((name, kind), BUDGETS[kind])
