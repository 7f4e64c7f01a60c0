"""The outcomes of many runs: their states, one table of their measures, and lines for a terminal as they end."""

import io
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from l2d_core.common.json_fields import flatten
from l2d_core.common.names import printable
from l2d_core.config import RunConfig
from l2d_core.evaluation.measures import measure_of, name_of_column
from l2d_core.runs.folder import Run
from l2d_core.runs.progress import percent
from l2d_core.runs.table import BINS, markdown_rows, run_measures

STATES = ("done", "running", "queued", "stopped", "failed")


@dataclass(frozen=True)
class Outcome:
    """How far a run is: "queued", "running", "done", "stopped" (can be gone on with) or "failed", with a message."""

    state: str
    message: str = ""


def measures_of(run: Run) -> dict[str, Any]:
    """The numbers of a run in the table, over its test cases: counts, `run_measures` and the wall time."""
    counts = {"epochs_done": len(run.history), "test_cases": len(run.test)}
    return {**counts, **run_measures(run.test), "wall_seconds": run.environment["wall_seconds"]}


def sweep_table(
    configs: Mapping[str, RunConfig], outcomes: Mapping[str, Outcome], measures: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """One row per run: its name, the settings that differ, its state, `measures_of` it, and a message if it failed."""
    settings = {name: flatten(json.loads(config.to_json())) for name, config in configs.items()}
    keys = dict.fromkeys(key for flat in settings.values() for key in flat)
    differing = [key for key in keys if len({json.dumps(flat.get(key)) for flat in settings.values()}) > 1]
    rows = []
    for name, outcome in outcomes.items():
        cells = {key: _cell(settings[name].get(key)) for key in differing} if name in settings else {}
        rows.append(
            {"run": name, **cells, "state": outcome.state, **measures.get(name, {}), "message": outcome.message}
        )
    eces = sorted({key for found in measures.values() for key in found if name_of_column(key) == "ece"})
    numbers = ["epochs_done", "test_cases", *eces, "system_accuracy", "coverage", "wall_seconds"]
    # As objects: pandas would make 0.0 of a seed 0 where another run has none.
    table = pd.DataFrame(rows, columns=["run", *differing, "state", *numbers, "message"], dtype=object)
    whole = ("epochs_done", "test_cases")
    return table.astype({name: "Int64" if name in whole else "float64" for name in numbers})


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else value


def markdown(table: pd.DataFrame) -> str:
    """`sweep_table` as Markdown, shares in percent; columns without a value are left out."""
    shown = [column for column in table if bool((table[column].notna() & (table[column] != "")).any())]
    rows = [
        [_show(column, value) for column, value in zip(shown, row, strict=True)] for row in table[shown].values.tolist()
    ]
    return f"{markdown_rows([shown, *rows])}\n\nECE in {BINS} bins of equal width; all measures on the test cases"


def _show(column: str, value: Any) -> str:
    if pd.isna(value) or value == "":
        return "-"
    if (measure := measure_of(column)) and measure.percent:
        return percent(value)
    if column == "wall_seconds":
        return f"{value:,.0f} s"
    return str(value)


def tell(stream: Any) -> Callable[[str, Mapping[str, Outcome]], None]:
    """on_change for `run_many`: a line for each run that ends; on a terminal, counts below them.

    stream: None where there is none, as in a program that was started with a closed output.
    """
    stream = io.StringIO() if stream is None else stream

    def on_change(name: str, outcomes: Mapping[str, Outcome]) -> None:
        outcome, counts = outcomes[name], Counter(outcome.state for outcome in outcomes.values())
        said = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
        clear = "\r\033[K" if stream.isatty() else ""
        if outcome.state not in ("queued", "running"):
            message = f": {printable(outcome.message)}" if outcome.message else ""
            stream.write(f"{clear}{name} {outcome.state}{message} ({said})\n")
        elif stream.isatty():
            stream.write(f"{clear}{said}")
        stream.flush()

    return on_change
