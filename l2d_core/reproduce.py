"""Reproduce results of the paper by name, and keep them: tables as CSV, and a page of Markdown with what they mean."""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from l2d_core.checks import require_known
from l2d_core.comparison import MEASURES
from l2d_core.reproductions import REPRODUCTIONS
from l2d_core.reproductions.reproduction import Reproduction
from l2d_core.runs import write_whole

TITLES = {
    "balanced_machine_alone": "Machine alone, every class the same",
    "balanced_expert_alone": "Expert alone, every class the same",
    "balanced_system": "System, every class the same",
    **{name: measure.title for name, measure in MEASURES.items()},
}


def reproduce(name: str, seeds: Sequence[int], folder: str | os.PathLike | None = None) -> Reproduction:
    """The result of that name; kept in the folder, if one is given. ValueError on an unknown name or too few seeds."""
    require_known("name", name, REPRODUCTIONS)
    if len(seeds) < 2:
        raise ValueError(f"seeds must be at least 2, for an interval, got {len(seeds)}")
    result = REPRODUCTIONS[name](seeds)
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for part, table in {"": result.table, **result.details}.items():
            path = Path(folder) / f"{name}{'-' * bool(part)}{part}.csv"
            write_whole(path, table.to_csv(index=False).encode())
        write_whole(Path(folder) / f"{name}.md", as_markdown(result).encode())
    return result


def as_markdown(result: Reproduction) -> str:
    """Title, findings, a table a setting, and how it differs from the paper."""
    parts = [f"# {result.title}", "\n".join(f"- {finding}" for finding in result.findings)]
    for setting, rows in result.table.groupby("setting", sort=False):
        parts.append(f"## {setting}\n\n{_table(rows)}")
    parts += ["## What differs from the paper", "\n".join(f"- {note}" for note in result.notes)]
    return "\n\n".join([*parts, f"Made in {result.seconds:.1f} s."]) + "\n"


def _table(rows: pd.DataFrame) -> str:
    lines = [["measure", "surrogate", "estimator", "ours", "paper", "n", "seeds"]]
    for one in rows.to_dict("records"):
        names = [TITLES[one["measure"]], one["surrogate"], one["estimator"]]
        lines.append([*names, _number(one), _percent(one["paper"]), f"{one['n']:,.0f}", str(one["seeds"])])
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(one: dict) -> str:
    measure = MEASURES.get(one["measure"])
    if measure is not None and not measure.percent:
        return "-" if one["mean"] is None else f"{one['mean']:.4f}"
    interval = "" if one["half_width"] is None else f" ± {100 * one['half_width']:.1f}"
    return "-" if one["mean"] is None else f"{100 * one['mean']:.1f}{interval} %"


def _percent(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{100 * value:.1f} %"
