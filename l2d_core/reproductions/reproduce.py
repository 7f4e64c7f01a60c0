"""Reproducing results of the paper by name, and storing them: tables as CSV, a manifest, and a page of Markdown."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from l2d_core.common.checks import require_known
from l2d_core.common.environment import PACKAGES, package_version
from l2d_core.common.files import write_whole
from l2d_core.datasets import cifar10
from l2d_core.evaluation.measures import measure_of, measure_title
from l2d_core.reproductions import NOT_AS_REFERENCE, ONLY_QUICK, REPRODUCTIONS
from l2d_core.reproductions.budget_networks import missing_data
from l2d_core.reproductions.designs import say_design
from l2d_core.reproductions.reproduction import Reproduction, say_trainings
from l2d_core.reproductions.request import Request
from l2d_core.reproductions.stored import read_reproduction, write_reproduction
from l2d_core.reproductions.trained import runs_folder
from l2d_core.runs.table import markdown_rows

__all__ = ["PAGE", "as_markdown", "names_at", "read_reproduction", "reproduce", "reproduce_all"]

PAGE = "page.md"


def reproduce(name: str, request: Request, folder: str | os.PathLike | None = None) -> Reproduction:
    """The result of that name, stored in folder/name if a folder is given. ValueError on an unknown name."""
    require_known("name", name, REPRODUCTIONS)
    result = REPRODUCTIONS[name](request)
    if folder is not None:
        about = {
            "name": name,
            "scale": request.scale,
            "dataset": request.dataset,
            "reference": request.as_authors,
            "seeds": list(request.seeds),
            "versions": {package: package_version(package) or "" for package in PACKAGES},
        }
        write_reproduction(Path(folder) / name, result, about)
        write_whole(Path(folder) / name / PAGE, as_markdown(result, design_of(name, request)).encode())
    return result


def design_of(name: str, request: Request) -> str:
    """Whether the design of a result is the paper's, in words."""
    return say_design(name, request.scale, as_authors=request.as_authors)


def names_at(scale: str, *, reference: bool = False) -> list[str]:
    """The results available at a scale, in the order of the paper; reference: those of whole networks that can be made
    as the paper's authors ran it.
    """
    left_out = set() if scale == "quick" else ONLY_QUICK | (NOT_AS_REFERENCE if reference else frozenset())
    return [name for name in REPRODUCTIONS if name not in left_out]


def reproduce_all(request: Request, folder: str | os.PathLike | None = None) -> Iterator[tuple[str, Reproduction]]:
    """All results, each stored as soon as it is made. FileNotFoundError, before the first, names missing data."""
    names = names_at(request.scale, reference=request.reference)
    if request.scale != "quick":
        _require_data(names, request)
    for name in names:
        yield name, reproduce(name, request, folder)


def _require_data(names: Sequence[str], request: Request) -> None:
    missing = missing_data(request) if "budgets" in names else []
    is_new = not runs_folder(request).exists()  # otherwise the first unfinished result reports it, before any training
    if is_new and request.network.dataset == "cifar10" and cifar10.find_layout(request.data_root) is None:
        missing.insert(0, f"there is no CIFAR-10 in {request.data_root}. {cifar10.THREE_WAYS}")
    if missing:
        raise FileNotFoundError(" ".join(missing))


def as_markdown(result: Reproduction, design: str = "") -> str:
    """Title, design, findings, one table per setting, and the differences from the paper."""
    parts = [
        f"# {result.title}",
        *([design] if design else []),
        "\n".join(f"- {finding.text}" for finding in result.findings),
    ]
    for setting, rows in result.table.groupby("setting", sort=False):
        parts.append(f"## {setting}\n\n{_table(rows)}")
    parts += ["## What differs from the paper", "\n".join(f"- {note}" for note in result.notes)]
    trainings = say_trainings(result)
    made = f"Made in {result.seconds:.1f} s" + (f" from {trainings}." if trainings else ".")
    return "\n\n".join([*parts, made]) + "\n"


def _table(rows: pd.DataFrame) -> str:
    lines = [["measure", "surrogate", "estimator", "ours", "paper", "n", "seeds"]]
    for one in rows.to_dict("records"):
        names = [measure_title(one["measure"]), one["surrogate"], one["estimator"]]
        lines.append([*names, _number(one), _percent(one["paper"]), f"{one['n']:,.0f}", str(one["seeds"])])
    return markdown_rows(lines)


def _number(one: dict) -> str:
    measure = measure_of(one["measure"])
    if measure is not None and not measure.percent:
        return "-" if one["mean"] is None else f"{one['mean']:.4f}"
    interval = "" if one["half_width"] is None else f" ± {100 * one['half_width']:.2f}"
    return "-" if one["mean"] is None else f"{100 * one['mean']:.2f}{interval} %"


def _percent(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{100 * value:.2f} %"
