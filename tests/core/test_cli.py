"""The command line: quick help, errors in one line, exit codes, and a bank made from end to end."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from torch import nn

from l2d_core import cli, pretrain
from l2d_core.cli import main
from l2d_core.features import FeatureBank
from l2d_core.models import backbones

ROOT = Path(__file__).parents[2]


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "l2d_core", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_help_lists_the_commands():
    done = run("--help")
    assert done.returncode == 0
    assert "pretrain" in done.stdout


def test_help_is_quick_because_nothing_heavy_is_imported():
    check = (
        "import sys; from l2d_core.cli import app; "
        "sys.exit(str(sorted({'torch', 'timm', 'sklearn', 'pandas', 'scipy'} & sys.modules.keys()) or ''))"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.strip() == ""
    assert time.monotonic() - start < 5  # about 0.2 s; torch alone takes 2 to 4


def test_the_help_of_a_command_names_its_options(capsys):
    with pytest.raises(SystemExit) as left:
        main(["pretrain", "features", "--help"])
    assert left.value.code == 0
    told = capsys.readouterr().out
    for option in ("--data-root", "--dataset", "cifar10,ham10000,all", "--out", "pretrained/features"):
        assert option in told


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["pretrain"],
        ["pretrain", "features"],
        ["pretrain", "features", "--data-root", "x", "--dataset", "mnist"],
    ],
)
def test_a_wrong_command_line_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("dataset", ["cifar10", "ham10000"])
def test_a_folder_without_the_data_is_told_in_one_line_with_exit_code_2(tmp_path, capsys, monkeypatch, dataset):
    monkeypatch.setattr(backbones, "efficientnet_lite0", lambda weights: nn.Identity())
    out = tmp_path / "banks"
    arguments = ["pretrain", "features", "--data-root", str(tmp_path), "--dataset", dataset, "--out", str(out)]
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: there is no folder")
    assert str(tmp_path / dataset) in told
    assert told.count("\n") == 1
    assert not out.exists()


def test_a_traceback_never_reaches_the_terminal(tmp_path):
    weights = tmp_path / "none.safetensors"
    done = run("pretrain", "features", "--data-root", str(tmp_path), "--weights", str(weights))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("problem", "code"), [(ValueError("wrong\nlines"), 2), (OSError("full"), 2), (KeyboardInterrupt(), 130)]
)
def test_exit_codes_tell_wrong_input_from_an_interrupt(monkeypatch, capsys, problem, code):
    def fail(**_):
        raise problem

    monkeypatch.setattr(cli.app, "cli", fail)
    assert main([]) == code
    assert capsys.readouterr().err.count("\n") == 1


def test_a_bug_is_not_passed_off_as_wrong_input(monkeypatch):
    def fail(**_):
        raise ZeroDivisionError

    monkeypatch.setattr(cli.app, "cli", fail)
    with pytest.raises(ZeroDivisionError):
        main([])


def test_a_bank_is_made_from_end_to_end_with_its_speed_told(tmp_path, capsys, monkeypatch):
    from PIL import Image

    from l2d_core.datasets import cifar10

    for part in cifar10.PARTS:
        for label, name in enumerate(cifar10.CLASS_NAMES):
            folder = tmp_path / "cifar10" / part / name
            folder.mkdir(parents=True)
            Image.new("RGB", (32, 32), (25 * label, 0, 255 - 25 * label)).save(folder / "0000.png")
    network = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    monkeypatch.setattr(backbones, "efficientnet_lite0", lambda weights: network)
    monkeypatch.setattr(pretrain, "NUM_COMPONENTS", 1)
    out = tmp_path / "banks"
    assert main(["pretrain", "features", "--data-root", str(tmp_path), "--dataset", "cifar10", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "cifar10: 20 of 20 images, " in told
    assert "images/s\n" in told
    assert f"{out / 'cifar10.npz'}: 20 x 1, " in told
    assert FeatureBank.load(out / "cifar10.npz").features.shape == (20, 1)
