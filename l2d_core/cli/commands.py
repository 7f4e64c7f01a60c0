"""The command line: each command is one function, which imports what it needs only when it runs."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.extras import SubcommandApp

from l2d_core.cli.pretrain import pretrain, train_with_progress
from l2d_core.cli.run_options import RunOptions, make_config
from l2d_core.cli.signals import Terminated, sigterm_as_interrupt
from l2d_core.common.checks import brief
from l2d_core.common.paths import DATA_ROOT

if TYPE_CHECKING:
    from l2d_core.sweeps.plan import Sweep

NOT_ALL_DONE = 1  # the exit code of a sweep in which a run failed or was stopped
WRONG_INPUT = 2  # the exit code, also of an unknown command or option
# The exit codes that shells report for a program that a signal ends: Ctrl-C, a closed pipe, SIGTERM.
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143
MAX_SEEDS = 10_000

app = SubcommandApp()
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
    from l2d_core.runs.table import markdown_table

    run = train_with_progress(make_config(options, config), data_root, device, out)
    print(f"\n{markdown_table([run], 'test')}")


@app.command(name="evaluate")
def evaluate(runs: Annotated[tuple[Path, ...], tyro.conf.Positional], /) -> None:
    """Print the measures of runs side by side, on their test and validation cases, as Markdown.

    Args:
        runs: Folders of runs.
    """
    from l2d_core.runs.folder import verify_run
    from l2d_core.runs.table import markdown_table

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
    from l2d_core.sweeps.plan import read_sweep, vary

    if file is not None and (options or config or surrogates or seeds != 1):
        raise ValueError(f"settings come from {file} or from options, not both: put them into its base or grid")
    planned = read_sweep(file) if file else vary(make_config(options, config), surrogates, seeds)
    where = {"device": device, "scheduler": scheduler, "workers": workers, "threads": threads}
    _run_sweep(planned, out, data_root=data_root, **where)


def _run_sweep(planned: "Sweep", out: Path, **where: Any) -> None:
    """Run what is planned and print its table; SystemExit where a run failed or was stopped."""
    from l2d_core.sweeps.cluster import run_many
    from l2d_core.sweeps.results import markdown, tell

    print(f"{out}: {len(planned.configs)} runs; Ctrl-C stops them, with the best so far kept", flush=True)
    try:
        table = run_many(planned.configs, out=out, problems=planned.problems, on_change=tell(sys.stdout), **where)
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
    from l2d_core.comparison.mapped_tables import Columns, read_predictions, to_scores
    from l2d_core.comparison.systems import confidence_note

    if out.resolve() == file.resolve():
        raise ValueError(f"--out must be another file than the table, got {out} twice")
    columns = Columns(label, answers, scores, defer, id)
    made = to_scores(
        read_predictions(file), columns, surrogate=surrogate, domain=domain, class_names=class_names or None
    )
    note = confidence_note(made)
    made.save(out)
    print(f"{out}: {len(made):,} cases, {made.num_classes} classes, {made.num_experts} experts")
    if note:
        print(f"note: {note}")


Result = Literal[
    "all",
    "figure1",
    "figure2",
    "table1",
    "classifier_ece",
    "k",
    "coverage",
    "ham10000",
    "budgets",
    "temperature",
    "answers",
]


@app.command(name="reproduce")
def reproduce_result(
    name: Annotated[Result, tyro.conf.Positional],
    /,
    *,
    seeds: int = 6,
    scale: Literal["quick", "cpu", "paper"] = "quick",
    out: Path | None = None,
    epochs: int | None = None,
    reference: bool = False,
    data_root: Path = DATA_ROOT,
    device: str = "auto",
    scheduler: str | None = None,
    workers: int | None = None,
    threads: int | None = None,
) -> None:
    """Reproduce a result of the paper, our numbers beside the paper's, or all of them.

    Args:
        name: A figure or table; k and coverage, accuracy against the classes the expert knows, and against coverage;
            ham10000, the risk of asking; budgets, error against how many may be deferred; temperature of the rejector;
            answers, drawn once or anew in each epoch.
        seeds: How many.
        scale: quick, heads on shipped features, in seconds; cpu, whole small networks, some minutes each; paper, wide
            residual networks as the authors ran them, at least 3 seeds, for a GPU. The last two need --out, and go on
            where they were.
        out: A folder for the tables as CSV, a manifest and a page as Markdown, and the runs of whole networks.
        epochs: Of whole networks, in place of the scale's.
        reference: As the paper's authors ran it, where their code and logs differ from what the paper says; of whole
            networks there are no budgets so. The scale paper always is.
        data_root: The folder of the data sets, for whole networks.
        device: auto, cpu, cuda, mps, ..., for whole networks.
        scheduler: Of a Dask cluster, as tcp://HOST:8786; without one, worker processes on this machine.
        workers: How many processes on this machine.
        threads: Of torch in each training.
    """
    from l2d_core.reproductions.reproduce import as_markdown, design_of, reproduce, reproduce_all
    from l2d_core.reproductions.request import Request
    from l2d_core.sweeps.results import tell

    if not 1 <= seeds <= MAX_SEEDS:
        raise ValueError(f"--seeds must be in 1..{MAX_SEEDS:,}, got {brief(seeds)}")
    where: dict[str, Any] = {"device": device, "scheduler": scheduler, "workers": workers, "threads": threads}
    if scale == "quick":
        _note_unused({"epochs": epochs, **where, "device": None if device == "auto" else device})
    where["on_change"] = tell(sys.stdout)
    made = {"epochs": epochs, "reference": reference, "folder": out, "data_root": data_root, "where": where}
    request = Request(tuple(range(seeds)), scale, **made)
    if name != "all":
        print(as_markdown(reproduce(name, request, out), design_of(name, request)))
        return
    for each, result in reproduce_all(request, out):
        print(as_markdown(result, design_of(each, request)), flush=True)


def _note_unused(options: dict[str, object]) -> None:
    if unused := ", ".join(f"--{name}" for name, value in options.items() if value is not None):
        print(f"note: no whole network is trained at the scale quick, so {unused} has no effect", file=sys.stderr)


@app.command(name="doctor")
def doctor(*, data_root: Path = DATA_ROOT, device: str = "auto") -> None:
    """Say what there is to work with: versions, device, bfloat16, threads, data sets, free disk.

    Args:
        data_root: The folder of the data sets.
        device: auto, cpu, cuda, cuda:1, mps, ...
    """
    from l2d_core.cli.doctor import examine
    from l2d_core.common.environment import pick_device

    found = examine(pick_device(device), data_root)
    width = max(len(name) for name, _ in found)
    for name, text in found:
        print(f"{name:<{width}}  {text}")


@data.command(name="ham10000")
def data_ham10000(root: Annotated[Path, tyro.conf.Positional] = DATA_ROOT, /) -> None:
    """Say what a folder of HAM10000 holds: what was joined, left over, doubled and odd.

    Args:
        root: The folder that holds ham10000/, or the data set's own.
    """
    from l2d_core.datasets import ham10000

    print(ham10000.examine(root))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. Wrong input ends in one line on standard error, without a traceback."""
    try:
        with sigterm_as_interrupt():
            app.cli(prog="python -m l2d_core", description="Learning to defer.", args=arguments)
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (ValueError, OSError, ImportError) as problem:
        print(f"error: {' '.join(str(problem).split())}", file=sys.stderr)
        return WRONG_INPUT
    except Terminated:
        print("terminated", file=sys.stderr)
        return TERMINATED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except MemoryError:
        print("error: this takes more memory than there is", file=sys.stderr)
        return WRONG_INPUT
    return 0
