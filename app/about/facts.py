"""The facts on the page About, each read from its source: licences, shipped runs, versions, retention times."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

import streamlit as st

from app.jobs.run_index import run_index
from l2d_core.common.environment import PACKAGES, package_version
from l2d_core.common.paths import PRETRAINED
from l2d_core.datasets import LAB_DATASETS, cifar10, galaxy_zoo, ham10000, hate_speech
from l2d_core.surrogates import SURROGATES

CARDS = PRETRAINED / "README.md"
PUBLISHED: Mapping[str, ModuleType] = {
    "ham10000": ham10000,
    "cifar10": cifar10,
    "hate_speech": hate_speech,
    "galaxy_zoo": galaxy_zoo,
}
SHOWN = ("streamlit", "altair", "plotly")  # beside the library's


@dataclass(frozen=True)
class DataSet:
    """title: as in the live lab; source: where it comes from, and its licence."""

    title: str
    source: str


@dataclass(frozen=True)
class ShippedRun:
    """A shipped network, with the measures of `index_runs` over its test cases."""

    name: str
    dataset: str
    surrogate: str
    system_accuracy: float
    coverage: float
    test_cases: int


def data_sets() -> list[DataSet]:
    """All data sets, in the live lab's order; the source of those not published elsewhere names their licence."""
    found = []
    for name, dataset in LAB_DATASETS.items():
        published = PUBLISHED.get(name)
        source = f"{published.SOURCE}. Licence: {published.LICENCE}" if published else dataset.source
        if dataset.people is not None:
            source = f"{source}. People's answers: {dataset.people.source}"
        found.append(DataSet(dataset.title, source))
    return found


def shipped_runs() -> list[ShippedRun]:
    """The shipped runs that can be read. OSError where the folders cannot be."""
    table = run_index().get(lambda _done, _total: None)
    return [
        ShippedRun(
            row["name"],
            row["settings"]["dataset"],
            SURROGATES[row["settings"]["surrogate"]].title,
            row["measures"]["system_accuracy"],
            row["measures"]["coverage"],
            row["test_cases"],
        )
        for row in table[(table["root"] == "shipped") & (table["problem"] == "")].to_dict("records")
        if row["measures"]  # a run that is being written has none yet
    ]


def cards() -> str:
    """The model and data cards of all that is shipped, in Markdown."""
    return CARDS.read_text(encoding="utf-8")


def versions() -> dict[str, str]:
    """The installed versions of Python and the main packages."""
    found = {name: version for name in (*PACKAGES, *SHOWN) if (version := package_version(name))}
    return {"Python": platform.python_version(), **found}


def sends_statistics() -> bool:
    """Whether Streamlit sends usage statistics to its makers."""
    return bool(st.get_option("browser.gatherUsageStats"))


def seconds_kept() -> int:
    """For how long a session can be resumed after its tab was closed."""
    return int(st.get_option("server.disconnectedSessionTTL"))
