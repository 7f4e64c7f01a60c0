"""The command line: each command is one function, which imports what it needs when it runs."""

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
from l2d_core.common.names import printable
from l2d_core.common.paths import DATA_ROOT

if TYPE_CHECKING:
    from l2d_core.sweeps.plan import Sweep

NOT_ALL_DONE = 1  # the exit code of a sweep in which a run failed or was stopped
WRONG_INPUT = 2  # the exit code, also of an unknown command or option
# The exit codes that shells report for a program that a signal ends: Ctrl-C, a closed pipe, SIGTERM.
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143
MAX_SEEDS = 10_000

app = SubcommandApp()
app.command(pretrain, name="pretrain", help="Create the contents of the folder pretrained/.")
data = SubcommandApp()
app.command(data, name="data", help="Describe the folder of a data set.")


@app.command(name="train")
def train(
    *,
    out: Path,
    config: Path | None = None,
    data_root: Path = DATA_ROOT,
    device: str = "auto",
    options: Annotated[RunOptions, tyro.conf.arg(name="")],
) -> None:
    """Train a system and save the run in a folder. The same command resumes a run that was stopped.

    Args:
        out: The folder of the run.
        config: A JSON file of settings, such as config.json of a run. Options override it.
        data_root: The folder of the data sets: cifar-10-batches-py/ or cifar10/, cifar10n/ and cifar10h/, ham10000/.
        device: auto, cpu, cuda, cuda:1, mps, ...
        options: The settings.
    """
    from l2d_core.runs.table import markdown_table

    run = train_with_progress(make_config(options, config), data_root, device, out)
    print(f"\n{markdown_table([run], 'test')}")


@app.command(name="evaluate")
def evaluate(runs: Annotated[tuple[Path, ...], tyro.conf.Positional], /) -> None:
    """Print the measures of runs on their test and validation cases, side by side, as Markdown.

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
    """Train many systems at once, on this machine or a Dask cluster, each in its own folder, and print one table.

    The same command again skips runs that are done and resumes the others after their last epoch.

    Args:
        file: A JSON file, {"base": {settings}, "grid": {"surrogate": ["softmax", ...], "seed": [0, 1]}} or {"base":
            {settings}, "runs": [{settings}, ...]}. Without it, there is one run per surrogate and seed.
        out: The folder for the run folders and results.csv. All workers need it at the same path.
        config: Without a file: a JSON file of settings for all runs. Options override it.
        surrogates: Without a file: any of softmax, one_vs_all, asymmetric_softmax.
        seeds: Without a file: the number of seeds, starting at --seed.
        data_root: The folder of the data sets. All workers need it at the same path.
        device: auto, cpu, cuda, mps, ..., of the workers.
        scheduler: Address of a Dask scheduler, as in tcp://HOST:8786. Without it, worker processes on this machine.
        workers: Number of processes on this machine; by default one per GPU or, on the CPU, one per core.
        threads: Threads of torch per training. The last bits of the results depend on it.
        options: The settings, without a file.
    """
    from l2d_core.sweeps.plan import read_sweep, vary

    if file is not None and (options or config or surrogates or seeds != 1):
        raise ValueError(f"settings come either from {file} or from options: put them all into its base or grid")
    planned = read_sweep(file) if file else vary(make_config(options, config), surrogates, seeds)
    where = {"device": device, "scheduler": scheduler, "workers": workers, "threads": threads}
    _run_sweep(planned, out, data_root=data_root, **where)


def _run_sweep(planned: "Sweep", out: Path, **where: Any) -> None:
    """Run what is planned and print its table; SystemExit where a run failed or was stopped."""
    from l2d_core.sweeps.cluster import run_many
    from l2d_core.sweeps.results import markdown, tell

    print(f"{out}: {len(planned.configs)} runs. Ctrl-C stops them and saves the best so far", flush=True)
    try:
        table = run_many(planned.configs, out=out, problems=planned.problems, on_change=tell(sys.stdout), **where)
    except KeyboardInterrupt:
        print(f"\n{out} holds what is done; the same command resumes the rest")
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
    domain: Literal["logits", "probabilities"],
    label: str,
    scores: tuple[str, ...],
    surrogate: Literal["softmax", "one_vs_all", "asymmetric_softmax"] | None = None,
    answers: tuple[str, ...] = (),
    defer: tuple[str, ...] = (),
    answers_are: Literal["classes", "correct"] = "classes",
    expert_accuracy: tuple[float, ...] = (),
    id: str = "",
    class_names: tuple[str, ...] = (),
) -> None:
    """Convert the predictions of another program, delimited text or Parquet with one row per case, to scores.

    Args:
        file: The table: CSV, with semicolons, tabs or bars too, or Parquet.
        out: The .npz file to write.
        domain: Whether the scores are logits or probabilities.
        label: The column of the true class, by name or number from 0.
        scores: The columns of the class scores, in order.
        surrogate: The surrogate that the scores come from. Needed unless the table has no expert.
        answers: The columns of the experts' answers. Empty, -1, or a word such as NA: not asked.
        defer: The columns of the deferral scores, in the order of answers.
        answers_are: classes: each answer is a class. correct: it only says whether the expert was right.
        expert_accuracy: For a plain classifier, without answers: the accuracy of a simulated expert, one number or one
            per class. Cases are deferred by the classifier's confidence.
        id: The column of the case ids. By default, the row number.
        class_names: The class names, in the order of scores. By default, the names of those columns.
    """
    from l2d_core.cli.importing import import_file
    from l2d_core.comparison.mapped_tables import Columns

    options = {"domain": domain, "surrogate": surrogate, "class_names": class_names or None}
    options |= {"answers_are": answers_are, "expert_accuracy": expert_accuracy or None}
    import_file(file, out, Columns(label, answers, scores, defer, id), options)


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
    """Reproduce one result of the paper, or all: our numbers beside the published ones.

    Args:
        name: A figure or table; k and coverage, accuracy against the classes the expert knows, and against coverage;
            ham10000, the risk of asking; budgets, error against how many may be deferred; temperature of the rejector;
            answers, drawn once or anew in each epoch.
        seeds: Number of seeds.
        scale: quick: heads on shipped features, in seconds. cpu: small whole networks, some minutes each. paper: wide
            residual networks as the authors ran them, at least 3 seeds, for a GPU. The last two need --out, and can be
            resumed.
        out: A folder for the tables (CSV), a manifest, a page (Markdown), and the runs of whole networks.
        epochs: Epochs of whole networks, instead of the default of the scale.
        reference: Follow the authors' code and logs where they differ from the paper. Not available for the budgets of
            whole networks. Always on at the scale paper.
        data_root: The folder of the data sets, for whole networks.
        device: auto, cpu, cuda, mps, ..., for whole networks.
        scheduler: Address of a Dask scheduler, as in tcp://HOST:8786. Without it, worker processes on this machine.
        workers: Number of processes on this machine.
        threads: Threads of torch per training.
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
    for each, result in reproduce_all(request, out) if name == "all" else [(name, reproduce(name, request, out))]:
        print(as_markdown(result, design_of(each, request)), flush=True)


def _note_unused(options: dict[str, object]) -> None:
    if unused := ", ".join(f"--{name}" for name, value in options.items() if value is not None):
        print(f"note: the scale quick trains no whole networks, so {unused} has no effect", file=sys.stderr)


@app.command(name="doctor")
def doctor(*, data_root: Path = DATA_ROOT, device: str = "auto") -> None:
    """Print what is available here: versions, device, bfloat16, threads, data sets, free disk space.

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
    """Describe a folder of HAM10000: what was joined, left over, duplicated or unusual.

    Args:
        root: The folder that contains ham10000/, or that folder itself.
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
        print(f"error: {printable(' '.join(str(problem).split()))}", file=sys.stderr)
        return WRONG_INPUT
    except Terminated:
        print("terminated", file=sys.stderr)
        return TERMINATED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except MemoryError:
        print("error: not enough memory", file=sys.stderr)
        return WRONG_INPUT
    return 0
