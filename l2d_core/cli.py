"""The command line: each command is one function, and imports what it needs only when it runs."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from tyro.extras import SubcommandApp

from l2d_core.config import RunConfig
from l2d_core.run_options import RunOptions, make_config

if TYPE_CHECKING:
    from l2d_core.runs import Run

WRONG_INPUT = 2  # the exit code, also that of an unknown command or option
DATA_ROOT = Path(os.environ.get("L2D_DATA_ROOT", "data"))

app = SubcommandApp()
pretrain = SubcommandApp()
app.command(pretrain, name="pretrain", help="Make what is shipped in the folder pretrained/.")


@app.command(name="train")
def train(
    *,
    out: Path,
    config: Path | None = None,
    data_root: Path = DATA_ROOT,
    device: str = "auto",
    options: Annotated[RunOptions, tyro.conf.arg(name="")],
) -> None:
    """Train a system and keep the run in a folder; the same command again goes on where it was stopped.

    Args:
        out: The folder of the run.
        config: A JSON file of settings, such as config.json of a run; options that are given count more.
        data_root: The folder that holds cifar-10-batches-py/ or cifar10/, and cifar10n/ and cifar10h/ for humans.
        device: auto, cpu, cuda, cuda:1, mps, ...
        options: The settings themselves.
    """
    from l2d_core.run_table import markdown_table

    run = _train(make_config(options, config), data_root, device, out)
    print(f"\n{markdown_table([run], 'test')}")


@app.command(name="evaluate")
def evaluate(runs: Annotated[tuple[Path, ...], tyro.conf.Positional], /) -> None:
    """Print the measures of runs side by side, on their test and validation cases, as Markdown.

    Args:
        runs: Folders of runs.
    """
    from l2d_core.run_table import markdown_table
    from l2d_core.runs import verify_run

    if not runs:
        raise ValueError("name at least one folder of a run")
    opened = [verify_run(folder) for folder in runs]
    print("\n\n".join(markdown_table(opened, split) for split in ("test", "validation")))


@app.command(name="doctor")
def doctor(*, data_root: Path = DATA_ROOT, device: str = "auto") -> None:
    """Say what there is to work with: versions, device, bfloat16, threads, data sets, free disk.

    Args:
        data_root: The folder of the data sets.
        device: auto, cpu, cuda, cuda:1, mps, ...
    """
    from l2d_core.doctor import examine
    from l2d_core.environment import pick_device

    found = examine(pick_device(device), data_root)
    width = max(len(name) for name, _ in found)
    for name, text in found:
        print(f"{name:<{width}}  {text}")


@pretrain.command(name="features")
def pretrain_features(
    *,
    data_root: Path,
    dataset: Literal["cifar10", "ham10000", "all"] = "all",
    out: Path = Path("pretrained/features"),
    weights: Path | None = None,
) -> None:
    """Make feature banks: images through a frozen network, onto 128 principal components.

    Args:
        data_root: The folder that holds cifar10/ and ham10000/.
        dataset: Which bank to make.
        out: The folder to write the .npz files to.
        weights: A .safetensors file with timm's weights, where neither their package nor the hub is at hand.
    """
    from l2d_core.models.backbones import efficientnet_lite0
    from l2d_core.pretrain import RECIPES, make_bank

    network = efficientnet_lite0(weights)
    for name in RECIPES if dataset == "all" else [dataset]:
        bank = make_bank(name, data_root, network=network, on_progress=_progress_line(name))
        path = out / f"{name}.npz"
        bank.save(path)
        print(f"{path}: {bank.features.shape[0]:,} x {bank.features.shape[1]}, {path.stat().st_size:,} bytes")


@pretrain.command(name="runs")
def pretrain_runs(
    *, data_root: Path = DATA_ROOT, device: str = "auto", work: Path = Path("runs"), out: Path = Path("pretrained/runs")
) -> None:
    """Train the paper's first experiment on CIFAR-10 with three surrogates, and copy the runs without checkpoints.

    Args:
        data_root: The folder that holds cifar-10-batches-py/ or cifar10/.
        device: auto, cpu, cuda, cuda:1, mps, ...
        work: The folder to train in, for a run folder each; runs that are done there are taken as they are.
        out: The folder to copy them to.
    """
    from l2d_core.runs import copy_results

    for surrogate in ("softmax", "one_vs_all", "asymmetric_softmax"):
        name = f"cifar10-{surrogate}"
        _train(make_config({"dataset": "cifar10", "surrogate": surrogate}), data_root, device, work / name)
        copy_results(work / name, out / name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code. Wrong input is told in one line on standard error, without a traceback."""
    try:
        app.cli(prog="python -m l2d_core", description="Learning to defer.", args=arguments)
    except (ValueError, OSError, ImportError) as problem:
        print(f"error: {' '.join(str(problem).split())}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def _train(config: RunConfig, data_root: Path, device: str, out: Path) -> "Run":
    """Run an experiment and say how it goes; Ctrl-C says what is kept."""
    from l2d_core.experiment import run_experiment
    from l2d_core.progress import training_progress
    from l2d_core.runs import read_environment

    print(f"{out}: {config.surrogate}, {config.model} on {config.dataset}, data from {data_root}", flush=True)
    on_step, on_epoch = training_progress(config, sys.stdout)
    try:
        run = run_experiment(config, data_root=data_root, device=device, folder=out, on_epoch=on_epoch, on_step=on_step)
    except KeyboardInterrupt:
        if out.is_dir() and read_environment(out)["state"] == "stopped":
            print(f"\n{out} has the best model so far, and its scores; the same command goes on from there")
        raise
    print(f"{out}: {len(run.history)} epochs, {run.environment['wall_seconds']:,.0f} s")
    return run


def _progress_line(name: str):
    """A function of (done, total) that keeps one line up to date with the speed, and ends it when all is done."""
    start = time.monotonic()

    def show(done: int, total: int) -> None:
        speed = done / max(time.monotonic() - start, 1e-9)
        end = "\n" if done == total else ""
        print(f"\r{name}: {done:,} of {total:,} images, {speed:.0f} images/s", end=end, flush=True)

    return show
