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
    from l2d_core.expert_training import ExpertEpoch
    from l2d_core.runs import Run

NOT_ALL_DONE = 1  # the exit code of a sweep with a run that failed or was stopped
WRONG_INPUT = 2  # the exit code, also that of an unknown command or option
DATA_ROOT = Path(os.environ.get("L2D_DATA_ROOT", "data"))

app = SubcommandApp()
pretrain = SubcommandApp()
app.command(pretrain, name="pretrain", help="Make what is shipped in the folder pretrained/.")
data = SubcommandApp()
app.command(data, name="data", help="Say what the folder of a data set holds.")


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
        data_root: The folder of the data sets: cifar-10-batches-py/ or cifar10/, cifar10n/ and cifar10h/, ham10000/.
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


@app.command(name="sweep")
def sweep(
    file: Annotated[Path | None, tyro.conf.Positional] = None,
    /,
    *,
    out: Path,
    config: Path | None = None,
    surrogates: tuple[str, ...] = (),
    seeds: int = 1,
    data_root: Path = DATA_ROOT,
    device: str = "auto",
    scheduler: str | None = None,
    workers: int | None = None,
    threads: int | None = None,
    options: Annotated[RunOptions, tyro.conf.arg(name="")],
) -> None:
    """Train many systems at once, on this machine or a Dask cluster, each into its own folder, and print one table.

    The same command again takes runs that are done as they are, and goes on with the others after their last epoch.

    Args:
        file: A JSON file, {"base": {settings}, "grid": {"surrogate": ["softmax", ...], "seed": [0, 1]}} or {"base":
            {settings}, "runs": [{settings}, ...]}; or none, and the runs are of all surrogates and seeds.
        out: The folder of the sweep, for a run folder each and results.csv; each worker needs it at the same path.
        config: Without a file: a JSON file of settings for all runs; options that are given count more.
        surrogates: Without a file: softmax, one_vs_all, asymmetric_softmax.
        seeds: Without a file: how many, from --seed on.
        data_root: The folder of the data sets; each worker needs it at the same path.
        device: auto, cpu, cuda, mps, ..., on the worker.
        scheduler: Of a Dask cluster, as tcp://HOST:8786; without one, worker processes on this machine.
        workers: How many processes on this machine; a GPU each, or on the CPU a core each.
        threads: Of torch in each training; the last bits of its numbers depend on it.
        options: The settings themselves, without a file.
    """
    from l2d_core.cluster import run_many
    from l2d_core.sweep import read_sweep, vary
    from l2d_core.sweep_table import markdown, tell

    if file is not None and (options or config or surrogates or seeds != 1):
        raise ValueError(f"settings come from {file} or from options, not both: put them into its base or grid")
    found = read_sweep(file) if file else vary(make_config(options, config), surrogates, seeds)
    print(f"{out}: {len(found.configs)} runs; Ctrl-C stops them, with the best so far kept", flush=True)
    where = {"data_root": data_root, "out": out, "device": device, "scheduler": scheduler}
    try:
        table = run_many(
            found.configs,
            **where,
            workers=workers,
            threads=threads,
            problems=found.problems,
            on_change=tell(sys.stdout),
        )
    except KeyboardInterrupt:
        print(f"\n{out} keeps what is done; the same command goes on from there")
        raise
    print(f"\n{markdown(table)}")
    if set(table["state"]) != {"done"}:
        raise SystemExit(NOT_ALL_DONE)


@app.command(name="import")
def import_predictions(
    file: Annotated[Path, tyro.conf.Positional],
    /,
    *,
    out: Path,
    surrogate: Literal["softmax", "one_vs_all", "asymmetric_softmax"],
    domain: Literal["logits", "probabilities"],
    label: str,
    answers: tuple[str, ...],
    scores: tuple[str, ...],
    defer: tuple[str, ...],
    id: str = "",
    class_names: tuple[str, ...] = (),
) -> None:
    """Make scores of another program's predictions, a CSV or Parquet file with a row a case.

    Args:
        file: The table.
        out: The .npz file to write.
        surrogate: In whose way the scores are read.
        domain: What the scores are.
        label: The column of the true class, by name or number from 0.
        answers: The columns of what each expert said; empty or -1: not asked.
        scores: The columns of the classes' scores, in order.
        defer: The columns of the deferral scores, in the order of answers.
        id: The column of the cases' names; the row's number, if left out.
        class_names: Of the classes, in the order of scores; the names of those columns, if left out.
    """
    from l2d_core.predictions import Columns, read_predictions, to_scores

    columns = Columns(label, answers, scores, defer, id)
    made = to_scores(
        read_predictions(file), columns, surrogate=surrogate, domain=domain, class_names=class_names or None
    )
    made.save(out)
    print(f"{out}: {len(made):,} cases, {made.num_classes} classes, {made.num_experts} experts")


@app.command(name="reproduce")
def reproduce_result(
    name: Annotated[Literal["ham10000"], tyro.conf.Positional], /, *, seeds: int = 6, out: Path | None = None
) -> None:
    """Reproduce a result of the paper from what is shipped, our numbers beside the paper's.

    Args:
        name: ham10000, the risk of asking the expert.
        seeds: How many.
        out: A folder for the tables as CSV and this page as Markdown.
    """
    from l2d_core.reproduce import as_markdown, reproduce

    print(as_markdown(reproduce(name, range(seeds), out)))


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
    *,
    dataset: Literal["cifar10", "ham10000"] = "cifar10",
    data_root: Path = DATA_ROOT,
    device: str = "auto",
    work: Path = Path("runs"),
    out: Path | None = None,
) -> None:
    """Train what is shipped of a data set, a run a surrogate, and copy the runs without checkpoints.

    Args:
        dataset: cifar10, the paper's first experiment, or ham10000, fine-tuned on images of 150 x 200.
        data_root: The folder of the data sets.
        device: auto, cpu, cuda, cuda:1, mps, ...
        work: The folder to train in, for a run folder each; runs that are done there are taken as they are.
        out: The folder to copy them to; pretrained/runs, or pretrained/ham10000, if it is left out.
    """
    from l2d_core.experiment import copy_in_eight_bits
    from l2d_core.runs import copy_results
    from l2d_core.shipped_runs import IN_EIGHT_BITS, SHIPPED

    out = out or Path("pretrained") / {"cifar10": "runs", "ham10000": "ham10000"}[dataset]
    for name, config in SHIPPED[dataset].items():
        _train(config, data_root, device, work / name)
        if dataset in IN_EIGHT_BITS:
            copy_in_eight_bits(work / name, out / name, data_root=data_root, device=device)
        else:
            copy_results(work / name, out / name)


@data.command(name="ham10000")
def data_ham10000(root: Annotated[Path, tyro.conf.Positional] = DATA_ROOT, /) -> None:
    """Say what a folder of HAM10000 holds: what was joined, left over, doubled and odd.

    Args:
        root: The folder that holds ham10000/, or the data set's own.
    """
    from l2d_core.datasets import ham10000

    print(ham10000.examine(root))


@pretrain.command(name="expert")
def pretrain_expert(
    *,
    data_root: Path = DATA_ROOT,
    device: str = "auto",
    reference: bool = False,
    out: Path = Path("pretrained/ham10000/expert"),
) -> None:
    """Train the paper's expert for HAM10000, an MLP-Mixer that sees age, sex and site, and keep its answers.

    Args:
        data_root: The folder that holds ham10000/.
        device: auto, cpu, cuda, cuda:1, mps, ...
        reference: The expert sees dx_type too, as in the authors' code; it leaks the answer.
        out: The folder to write the network, its answers and its measures to.
    """
    from l2d_core.environment import pick_device
    from l2d_core.learned_expert import SETTINGS, class_table, save_expert, train_expert

    def show(report: "ExpertEpoch") -> None:
        print(
            f"epoch {report.epoch} of {SETTINGS.epochs}: loss {report.train_loss:.3f} nats, on validation "
            f"{report.validation_loss:.3f}; accuracy {100 * report.validation_accuracy:.1f} %; {report.seconds:.0f} s",
            flush=True,
        )

    trained = train_expert(data_root, SETTINGS, reference=reference, device=pick_device(device), on_epoch=show)
    save_expert(out, trained)
    test = trained.answers.parts == "test"
    print(f"{out}: on the test images\n{class_table(trained.answers.answers[test], trained.labels[test]).round(3)}")


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
