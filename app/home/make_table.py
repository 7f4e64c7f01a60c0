"""Makes the numbers that Home shows, as `pretrained/home.json`: python -m app.home.make_table.

They are those of the live lab: its own fits, for the paper's expert on CIFAR-10 with the first accuracy varied.
"""

import json
from collections.abc import Mapping
from typing import Any

from app.fits import experiment
from app.fits.settings import Binning, LabSettings
from app.fits.tables import Tables
from app.home.table import ACCURACIES, DATASET, ESTIMATORS, KNOWN, PATH, SEEDS, UNKNOWN
from l2d_core.datasets import LAB_DATASETS, cifar10

DIGITS = 5


def settings_of(percent: int) -> LabSettings:
    """The live lab's settings for an expert who is right in this percentage of the classes that they know."""
    dataset = LAB_DATASETS[DATASET]
    unknown = len(dataset.class_names) - KNOWN
    accuracy = (percent / 100,) * KNOWN + (UNKNOWN / 100,) * unknown
    return LabSettings.plain(DATASET, dataset, accuracy, SEEDS)


def numbers_of(percent: int) -> dict[str, Mapping[str, Any]]:
    """By estimator: ECE, the share above 1 and the share right there, and the filled bins; all in 0..1."""
    tables = experiment.run(settings_of(percent), Binning()).tables
    means = tables.summary.set_index(["estimator", "measure"])["mean"]
    return {name: _of_estimator(tables, means, name) for name in ESTIMATORS}


def _of_estimator(tables: Tables, means: Mapping[tuple[str, str], float], name: str) -> Mapping[str, Any]:
    above = tables.above_one[name]
    bins = tables.drawn[name]
    filled = bins.loc[bins["n"] > 0, ["mean_probability", "share_correct", "cases"]]
    return {
        "ece": round(means[name, "ece"], DIGITS),
        "ece_by_chance": round(means[name, "ece_by_chance"], DIGITS),
        "above_one": round(means[name, "above_one"], DIGITS),
        "right_above_one": round(float(above["share_correct"].iloc[0]), DIGITS) if len(above) else None,
        "bins": [[round(value, DIGITS) for value in row] for row in filled.to_numpy().tolist()],
    }


def main() -> None:
    """Write the file, without a NaN."""
    content = {
        "source": f"{cifar10.SOURCE}; heads of the live lab on features/cifar10.npz",
        "licence": cifar10.LICENCE,
        "test_cases": 10_000,
        "experts": {str(percent): numbers_of(percent) for percent in ACCURACIES},
    }
    PATH.write_text(json.dumps(content, allow_nan=False, indent=None) + "\n", encoding="utf-8")
    print(f"{PATH.name}: {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
