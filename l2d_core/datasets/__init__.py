"""The data sets, one file each, and those of the live lab, in the order of the page."""

from l2d_core.datasets.lab_dataset import LabDataset
from l2d_core.datasets.lab_datasets import CIFAR10, DIGITS, GALAXY_ZOO, GAUSSIANS, HAM10000, HATE_SPEECH

LAB_DATASETS: dict[str, LabDataset] = {
    "ham10000": HAM10000,
    "cifar10": CIFAR10,
    "hate_speech": HATE_SPEECH,
    "galaxy_zoo": GALAXY_ZOO,
    "digits": DIGITS,
    "gaussians": GAUSSIANS,
}

__all__ = ["LAB_DATASETS", "LabDataset"]
