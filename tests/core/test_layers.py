"""Imports only point down: no module of the library imports from a layer above its own, or from the app."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "l2d_core"
# Lowest first. A name stands for a module or a whole folder of l2d_core; a new one has to be placed here.
LAYERS = [
    {"config", "checks", "json_fields", "array_files", "seeds", "call_options", "arrays", "environment", "run_options"},
    {"image_kinds", "tiff_directory", "image_headers", "image_colours", "image_warnings", "images", "image_archives"},
    {"data", "datasets", "experts", "features", "augment", "models", "surrogates"},
    {"expert_settings", "expert_answers", "case_weights", "optimizers", "prediction"},
    {
        "deferral",
        "calibration",
        "smooth_calibration",
        "brier",
        "intervals",
        "curves",
        "evaluation",
        "by_class",
        "predictions",
        "prediction_files",
        "logged_outputs",
    },
    {"epoch_report", "checkpoints", "training_job"},
    {"training", "expert_training", "lab_job", "lab", "comparison", "baselines", "pretrain", "text_bank", "run_data"},
    {"recalibration", "systems"},
    {"side_by_side"},
    {"paired_difference"},
    {"weights", "runs", "case_numbers", "folder_lock", "sweep"},
    {"experiment", "shipped_runs", "learned_expert", "run_table", "progress", "doctor"},
    {"run_index"},
    {"lesion_networks", "lesion_bank", "lesion_readings", "lesions"},
    {"run_log"},
    {"sweep_table", "training_task"},
    {"cluster"},
    {"reproductions"},
    {"reproduce"},
    {"cli_pretrain"},
    {"cli", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FILES = sorted(ROOT.rglob("*.py"))
MODULES = [path for path in FILES if path != ROOT / "__init__.py"]


def unit(path):
    """The module or folder of l2d_core that a file belongs to: surrogates/softmax.py -> surrogates."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(tree):
    """The modules that a module imports anywhere, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((f"l2d_core.{alias.name}" for alias in node.names) if module == "l2d_core" else [module])


def imports_of(path):
    return sorted(set(imported(ast.parse(path.read_text(encoding="utf-8")))))


def identify(path):
    return path.relative_to(ROOT).as_posix()


def test_every_module_has_its_place_in_one_layer():
    unplaced = sorted({unit(path) for path in MODULES} - LEVEL.keys())
    assert not unplaced, f"place {', '.join(unplaced)} in LAYERS, where the imports of each point down"
    assert sum(len(names) for names in LAYERS) == len(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=identify)
def test_no_import_points_to_a_higher_layer(path):
    own = LEVEL.get(unit(path), len(LAYERS))
    for name in imports_of(path):
        assert not name.startswith("."), f"{identify(path)} imports {name}: write the full name"
        package, _, inner = name.partition(".")
        if package != "l2d_core":
            continue
        # The package itself imports from all layers, so that to import from it is to import upwards.
        other = inner.split(".")[0]
        assert other in LEVEL, f"{identify(path)} imports {name}, which is no module in LAYERS"
        assert LEVEL[other] <= own, f"{identify(path)} imports {other}, which is in a higher layer"


@pytest.mark.parametrize("path", FILES, ids=identify)
def test_the_library_imports_neither_streamlit_nor_the_app(path):
    roots = {name.split(".")[0] for name in imports_of(path)}
    assert not roots & {"streamlit", "app", "altair", "plotly"}


def test_importing_the_library_leaves_streamlit_out():
    check = "import sys, l2d_core; sys.exit('streamlit' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_reader_of_imports_sees_every_form():
    source = """
import l2d_core.lab as lab
from l2d_core import cli
from . import runs
from .models import mlp
def later():
    from l2d_core.training import train
"""
    found = list(imported(ast.parse(source)))
    assert found == ["l2d_core.lab", "l2d_core.cli", ".", ".models", "l2d_core.training"]
