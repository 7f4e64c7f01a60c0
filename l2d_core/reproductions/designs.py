"""Whether a result's design is that of the paper: expert, training and what is compared."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Design:
    """is_papers: whether experts and what is compared are those of the paper; words: which they are."""

    is_papers: bool
    words: str


_FIRST = "the paper's first expert, by its text (75/20), and by the authors' logs (six classes of ten)"
_FOUR = "the paper's four settings of random and useful experts and data"
DESIGNS = {
    "figure1": Design(True, _FIRST),
    "figure2": Design(True, _FIRST),
    "table1": Design(True, _FOUR),
    "classifier_ece": Design(True, _FOUR),
    "k": Design(True, "the authors' logged experts, always right on k + 1 classes; beside it our own 70 % expert"),
    "coverage": Design(True, "the authors' one operating point for each k; beside it our own sweep of a threshold"),
    "ham10000": Design(False, "another split, by lesion, and another classifier than the paper's"),
    "budgets": Design(False, "the paper's methods and rules on other networks, and without its HAM10000 expert"),
    "temperature": Design(True, f"{_FIRST}; scaled by our rule and by the authors'"),
    "answers": Design(False, "a comparison of our own, of a step of training that the paper's text does not mention"),
}
_TRAINING = {
    "quick": "Training is not the paper's: heads on fixed features.",
    "cpu": "Training is not the paper's: small networks{answers}, augmented and stopped early.",
    "paper": "Training is the paper's: its network, and answers drawn anew in each batch.",
}


def say_design(name: str, scale: str, *, as_authors: bool) -> str:
    """Whether design and training of the result of this name, at this scale, are the paper's, in two sentences."""
    design = DESIGNS[name]
    answers = "" if as_authors else " with answers drawn once"
    start = "The design is the paper's" if design.is_papers else "The design is not the paper's"
    return f"{start}: {design.words}. {_TRAINING[scale].format(answers=answers)}"
