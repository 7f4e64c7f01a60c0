"""Where data sets and runs lie, by the environment."""

import runpy
from pathlib import Path

import pytest

from l2d_core.common import paths


@pytest.mark.parametrize(("name", "default"), [("RUNS_ROOT", "runs"), ("DATA_ROOT", "data")])
def test_an_empty_variable_is_none_and_a_home_folder_is_written_out(monkeypatch, name, default):
    monkeypatch.setenv("HOME", "/home/someone")
    for text, wanted in (("", default), ("~/l2d", "/home/someone/l2d"), ("/srv/l2d", "/srv/l2d")):
        monkeypatch.setenv(f"L2D_{name}", text)
        assert runpy.run_path(paths.__file__)[name] == Path(wanted)
