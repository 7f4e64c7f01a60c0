"""The paper's experiments: one configuration for all of its experts, including random experts and random data."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from l2d_core.config import ExpertConfig
from l2d_core.experts.simulated import PRESETS, per_class


@dataclass(frozen=True)
class Experiment:
    """An expert and the labels to train with. title: on pages and in tables; name: in folders.

    preset: a name in `experts.PRESETS`; k: for those that take it. random_labels: training labels are drawn uniformly
    over the classes, the paper's "random data"; test labels stay the true ones.
    """

    name: str
    title: str
    preset: str = "half"
    k: int = 0
    random_labels: bool = False

    def accuracy(self, class_names: Sequence[str]) -> tuple[float, ...]:
        """The expert's accuracy in each class, in 0..1."""
        return tuple(PRESETS[self.preset].accuracy(class_names, self.k).tolist())

    def confusion(self, class_names: Sequence[str]) -> Tensor:
        """P(answer | true class), (K, K) float64."""
        return per_class(self.accuracy(class_names), wrong=PRESETS[self.preset].wrong)

    def expert(self, class_names: Sequence[str]) -> ExpertConfig:
        """The same expert as a setting of a run."""
        return ExpertConfig(accuracy=self.accuracy(class_names), wrong=PRESETS[self.preset].wrong)


# Right in 75 % on the first half of the classes, in 20 % on the rest: the expert of the paper's text.
HALF = Experiment("half", "75/20 expert")
# The expert of the authors' logged runs: 70 % or a guess on six classes of ten, a guess on the rest.
LOGGED = Experiment("logged", "the authors' logged expert", "logged")
BOTH_RANDOM = Experiment("both_random", "random data, random expert", "random", random_labels=True)
RANDOM_EXPERT = Experiment("random_expert", "random expert", "random")
RANDOM_DATA = Experiment("random_data", "random data, useful expert", "useful", random_labels=True)
BOTH_USEFUL = Experiment("both_useful", "useful expert", "useful")
FOUR_SETTINGS = (BOTH_RANDOM, RANDOM_EXPERT, RANDOM_DATA, BOTH_USEFUL)


def sure_of(k: int) -> Experiment:
    """The paper's k, by the authors' logs: always right on the first k + 1 classes, a guess among all on the rest."""
    return Experiment(f"sure_{k}", f"k = {k}", "sure_of_k", k + 1)


def first_k(k: int) -> Experiment:
    """A k of our own: 70 % right on the first k classes, a guess on the rest."""
    return Experiment(f"first_{k}", f"70 % expert, k = {k}", "first_k", k)
