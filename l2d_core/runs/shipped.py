"""The settings of the runs that are shipped: the paper's first experiment on CIFAR-10, and HAM10000."""

from l2d_core.config import ExpertConfig, RunConfig
from l2d_core.datasets.ham10000 import CLASS_NAMES
from l2d_core.experts.simulated import DERMATOLOGIST_RECALL

# An expert with the accuracy in each class that the paper reports for its network.
DERMATOLOGIST = ExpertConfig(accuracy=tuple(DERMATOLOGIST_RECALL[name] for name in CLASS_NAMES))


def cifar10(surrogate: str) -> RunConfig:
    """The default settings, which take minutes on two cores."""
    return RunConfig(dataset="cifar10", surrogate=surrogate)


def ham10000(surrogate: str) -> RunConfig:
    """EfficientNet-Lite0 from ImageNet, fine-tuned on images of 150 x 200 except for its first three stages.

    Those detect edges and colours as before, and take most of the time, since their images are still large. Rare
    classes weigh more, by the square root, which gave a higher balanced accuracy and a lower ECE on validation cases.
    """
    return RunConfig(
        dataset="ham10000",
        model="efficientnet_lite0",
        model_options={"pretrained": True, "frozen_stages": 3, "dropout": 0.2},
        surrogate=surrogate,
        expert=DERMATOLOGIST,
        epochs=6,
        batch_size=64,
        optimizer="adamw",
        learning_rate=1e-3,
        weight_decay=0.01,
        augment="crop_flip_colour",
        class_weights="sqrt",
        patience=3,
    )


# Data set -> name of the run's folder -> its settings.
SHIPPED: dict[str, dict[str, RunConfig]] = {
    "cifar10": {f"cifar10-{name}": cifar10(name) for name in ("softmax", "one_vs_all", "asymmetric_softmax")},
    "ham10000": {f"ham10000-{name}": ham10000(name) for name in ("one_vs_all", "softmax")},
}
