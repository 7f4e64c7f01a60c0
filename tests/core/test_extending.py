"""What docs/ says of the library holds: its examples run, and what they add is taken up everywhere."""

import re
import runpy
from dataclasses import replace

import pytest
import torch

from l2d_core import LAB_DATASETS, fit, per_class, summarise
from l2d_core.common.paths import PROGRAM
from l2d_core.config import HeadConfig, RunConfig
from l2d_core.experts.simulated import PRESETS
from l2d_core.surrogates import SURROGATES

DOCS = PROGRAM / "docs"
QUICK = HeadConfig(kind="linear", epochs=2, batch_size=64)


@pytest.fixture
def extended(monkeypatch):
    """All code of docs/extending.md, run from top to bottom; the registries are put back after the test."""
    for registry in (SURROGATES, PRESETS, LAB_DATASETS):
        for name in list(registry):
            monkeypatch.setitem(registry, name, registry[name])
    before = {id(registry): set(registry) for registry in (SURROGATES, PRESETS, LAB_DATASETS)}
    names = {}
    for code in re.findall(r"```python\n(.*?)```", (DOCS / "extending.md").read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(code, "extending.md", "exec"), names)
    yield names
    for registry in (SURROGATES, PRESETS, LAB_DATASETS):
        for name in set(registry) - before[id(registry)]:
            del registry[name]


def test_the_surrogate_that_is_added_is_trained_and_measured(extended):
    splits = LAB_DATASETS["two_moons"].load(0, 0.2)
    result = fit(
        splits.train,
        splits.test,
        per_class([0.9, 0.3]),
        surrogates=("one_vs_all", "weighted_one_vs_all"),
        seeds=[0],
        config=replace(extended["TWO_MOONS"].head, epochs=3),
    )
    table = summarise({"weighted_one_vs_all": result.scores["weighted_one_vs_all"]})
    assert table[table["measure"] == "system"]["mean"].iloc[0] > 0.8
    assert RunConfig(surrogate="weighted_one_vs_all", surrogate_options={"weight": 3.0}).surrogate_options


def test_the_gradient_that_is_added_is_that_of_its_loss(extended):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    labels, right = torch.arange(6) % 3, torch.rand(6, 2, generator=generator) < 0.5
    extended["loss"](logits, labels, right, weight=2.5).sum().backward()
    closed = extended["gradient"](logits.detach(), labels, right, weight=2.5)
    torch.testing.assert_close(logits.grad, closed)


def test_the_expert_that_is_added_fits_every_data_set(extended):
    preset = PRESETS["alternating"]
    for dataset in LAB_DATASETS.values():
        accuracy = preset.accuracy(dataset.class_names, 1)
        assert per_class(accuracy).shape == (len(dataset.class_names),) * 2
    assert extended["_alternating"](("a", "b", "c"), 0).tolist() == [0.9, 0.1, 0.9]


def test_without_the_example_nothing_is_added():
    assert "weighted_one_vs_all" not in SURROGATES
    assert "two_moons" not in LAB_DATASETS


def test_the_library_in_twenty_lines_prints_both_systems(capsys):
    runpy.run_path(str(DOCS / "l2d_in_20_lines.py"))
    printed = capsys.readouterr().out
    for surrogate in ("softmax", "one_vs_all"):
        assert re.search(rf"{surrogate}: system \d+\.\d %, .* ECE \d+\.\d %".replace(" %", "%"), printed)
    lines = (DOCS / "l2d_in_20_lines.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip() and not line.lstrip().startswith("#")]) <= 20
