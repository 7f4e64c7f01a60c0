"""The data sets, one file each, and those of the live lab, in the order of the page."""

from l2d_core.datasets.digits import DIGITS
from l2d_core.datasets.gaussians import GAUSSIANS
from l2d_core.datasets.image_features import CIFAR10, HAM10000
from l2d_core.datasets.lab_dataset import LabDataset
from l2d_core.datasets.voted_features import GALAXY_ZOO, HATE_SPEECH

LAB_DATASETS: dict[str, LabDataset] = {
    "ham10000": HAM10000,
    "cifar10": CIFAR10,
    "hate_speech": HATE_SPEECH,
    "galaxy_zoo": GALAXY_ZOO,
    "digits": DIGITS,
    "gaussians": GAUSSIANS,
}

__all__ = ["LAB_DATASETS", "LabDataset"]
