"""Imports only point down, in the library and in the app, and the library knows nothing of the app."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Lowest first; what stands in one layer does not import one another. A new folder has to be placed here.
LAYERS = {
    "l2d_core": [
        {"common"},
        {"config", "surrogates", "images", "calibration"},
        {"data", "models"},
        {"experts", "datasets", "evaluation"},
        {"training", "lab", "runs"},
        {"baselines", "comparison", "lesions", "pretraining"},
        {"experiment"},
        {"sweeps"},
        {"reproductions"},
        {"cli"},
    ],
    "app": [
        {"kit"},
        {"fits", "jobs", "sharing"},
        {"home", "learn", "lab", "lesions", "train", "compare", "paper", "about"},
        {"Home"},
    ],
}
ENTRIES = ("__init__.py", "__main__.py")  # what callers come in by: these lead to all layers
MOST_FILES_AT_THE_TOP = {"l2d_core": 8, "app": 2}  # a package's own __init__.py among them


def imported(tree):
    """The modules that a module imports anywhere, inside functions too; of `from a import b` both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(module):
    """l2d_core.runs.folder -> runs."""
    return module.split(".")[1]


def faults(package):
    """What is wrong with the imports below a package's folder, one sentence each."""
    layer = {name: place for place, names in enumerate(LAYERS[package]) for name in names}
    for path in sorted((ROOT / package).rglob("*.py")):
        own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if path.parent == ROOT / package and path.name in ENTRIES:
            continue
        if room(own) not in layer:
            yield f"{own} has no place in LAYERS"
            continue
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if name.startswith("."):
                yield f"{own} imports {name}: write the full name"
            if package == "l2d_core" and name.split(".")[0] in ("streamlit", "app", "altair", "plotly"):
                yield f"{own} imports {name}, which belongs to the app"
            if not name.startswith(f"{package}.") or room(name) in (room(own), "__version__"):
                continue
            # The package itself imports from all layers, so that to import a name from it is to import upwards.
            if layer.get(room(name), len(layer)) >= layer[room(own)]:
                yield f"{own} imports {name}, which is not below it"


@pytest.mark.parametrize("package", LAYERS)
def test_no_import_points_up_or_sideways(package):
    assert sum(map(len, LAYERS[package])) == len(set().union(*LAYERS[package]))
    assert not list(faults(package))
    assert len(list((ROOT / package).glob("*.py"))) <= MOST_FILES_AT_THE_TOP[package]


@pytest.mark.parametrize("page", ["lesions", "train", "compare"])
def test_a_page_reads_and_writes_its_session_in_one_file_only(page):
    using = {path.name for path in (ROOT / "app" / page).glob("*.py") if "session_state" in path.read_text()}
    assert using == {"state.py"}


def test_importing_the_library_leaves_streamlit_out():
    check = "import sys, l2d_core; sys.exit('streamlit' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_reader_of_imports_sees_every_form():
    source = """
import l2d_core.lab as lab
from l2d_core import cli
def later():
    from l2d_core.training import train
"""
    found = list(imported(ast.parse(source)))
    assert found == ["l2d_core.lab", "l2d_core", "l2d_core.cli", "l2d_core.training", "l2d_core.training.train"]
