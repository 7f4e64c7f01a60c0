"""Makes what the live lab opens with, as `pretrained/lab.npz`: python -m app.lab.make_first."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from app.fits import experiment
from app.fits.settings import Binning
from app.fits.tables import LabResult
from app.lab import first
from l2d_core.common.array_files import save_arrays
from l2d_core.evaluation.summary import class_means


def fitted() -> LabResult:
    """The result, by a fit."""
    result = experiment.run(first.settings(), Binning())
    return replace(result, classes={name: class_means(scores) for name, scores in result.scores.items()})


def arrays_of(result: LabResult) -> dict[str, np.ndarray]:
    """The arrays of the file, as `first` describes them."""
    tables = {kind: getattr(result.tables, kind) for kind in first.BY_ESTIMATOR}
    tables |= {kind: getattr(result, kind) for kind in first.BY_SURROGATE}
    tables[first.SUMMARY] = {first.ALL: result.tables.summary}
    facts = {
        "made_with": first.as_json(first.settings()),
        "is_bounded": result.tables.is_bounded,
        "num_train": result.num_train,
        "num_test": result.num_test,
        "class_names": result.class_names,
    }
    columns = {
        f"{table}/{name}/{column}": _plain(frame[column])
        for table, parts in tables.items()
        for name, frame in parts.items()
        for column in frame
    }
    return columns | {first.FACTS: np.asarray(json.dumps(facts))}


def _plain(column: pd.Series) -> np.ndarray:
    """As numbers, with NaN for None, or as texts."""
    is_text = column.map(lambda value: isinstance(value, str)).any()
    return (
        column.to_numpy(dtype=str)
        if is_text
        else column.to_numpy(dtype=column.dtype if column.dtype != object else float)
    )


def main() -> None:
    """Write the file."""
    save_arrays(first.PATH, arrays_of(fitted()))
    print(f"{first.PATH.name}: {first.PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
