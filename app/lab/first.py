"""What the live lab opens with: read from a shipped file, so that it is shown before torch is imported."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from app.fits.settings import Binning, LabSettings
from app.fits.tables import LabResult, Tables
from app.kit import expert_panel
from app.lab import state
from l2d_core.common.array_files import load_arrays
from l2d_core.common.paths import PRETRAINED
from l2d_core.datasets import LAB_DATASETS
from l2d_core.experts.presets import PRESETS

if TYPE_CHECKING:
    import pandas as pd

PATH = PRETRAINED / "lab.npz"
MAX_BYTES = 2**20
SEEDS = 8
# The tables by estimator and by surrogate. An array in the file is a column: table/estimator or surrogate/column.
BY_ESTIMATOR = ("reliability", "drawn", "above_one", "risk", "estimates")
BY_SURROGATE = ("curves", "classes")
SUMMARY, ALL = "summary", "all"
FACTS = "facts"  # the array with the rest, as JSON: made_with, is_bounded, num_train, num_test, class_names


def settings() -> LabSettings:
    """The settings that a session without a link begins with."""
    dataset = LAB_DATASETS[state.FIRST]
    preset = PRESETS[expert_panel.dataset_default(dataset.class_names)]
    accuracy = tuple(round(100 * value) / 100 for value in preset.accuracy(dataset.class_names, 0).tolist())
    return LabSettings.plain(state.FIRST, dataset, accuracy, SEEDS)


def result(wanted: LabSettings, binning: Binning) -> LabResult | None:
    """The shipped result, without its scores; None for other settings or bins, or where the file is of others."""
    if (wanted, binning) != (settings(), Binning()):
        return None
    made_with, found = _content()
    return found if made_with == as_json(wanted) else None


def as_json(made_with: LabSettings) -> dict[str, Any]:
    """The settings as they come back from JSON."""
    return json.loads(json.dumps(asdict(made_with)))


@cache
def _content() -> tuple[dict[str, Any], LabResult]:
    """The settings that the file was made with, and the result."""
    arrays = load_arrays(PATH, MAX_BYTES)
    facts = json.loads(str(arrays.pop(FACTS)))
    frames = _frames(arrays)
    summary = frames[SUMMARY][ALL].astype({"mean": object, "half_width": object})
    tables = Tables(
        binning=Binning(),
        summary=summary.where(summary.notna(), None),  # None says that there is no such number
        true_risk=None,
        is_bounded=facts["is_bounded"],
        **{kind: frames[kind] for kind in BY_ESTIMATOR},
    )
    shown = LabResult(
        num_train=facts["num_train"],
        num_test=facts["num_test"],
        class_names=tuple(facts["class_names"]),
        tables=tables,
        scores={},
        **{kind: frames[kind] for kind in BY_SURROGATE},
    )
    return facts["made_with"], shown


def _frames(arrays: Mapping[str, np.ndarray]) -> "dict[str, dict[str, pd.DataFrame]]":
    """Table -> estimator or surrogate -> its rows."""
    import pandas as pd  # the page's controls are drawn before

    columns: dict[str, dict[str, dict[str, Any]]] = {}
    for key, values in arrays.items():
        table, name, column = key.split("/")
        of_table = columns.setdefault(table, {}).setdefault(name, {})
        of_table[column] = values.astype(object) if values.dtype.kind == "U" else values
    return {table: {name: pd.DataFrame(one) for name, one in parts.items()} for table, parts in columns.items()}
