"""Many runs at once, on Dask: each trains in its own folder, so that a worker that dies costs one epoch.

Run folders and data have to be at the same paths on every worker and here. Dask's processes send pickles to each
other, and execute them: only trusted machines may reach the port of a scheduler or worker. The embedded cluster listens
on 127.0.0.1 alone and speaks TLS, with a certificate made at its start that every client has to present: other accounts
of the machine can reach its ports, and get no answer.
"""

import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.config
import pandas as pd
from dask.system import CPU_COUNT
from distributed import CancelledError, Client, Future, Nanny, Scheduler, SpecCluster, wait
from distributed.security import Security

from l2d_core.baselines.network_losses import LOSSES
from l2d_core.common.files import write_whole
from l2d_core.config import RunConfig
from l2d_core.runs.folder import is_done, open_run
from l2d_core.runs.lock import hold
from l2d_core.sweeps.machine import plan_workers, require_counts, visible_gpus
from l2d_core.sweeps.results import Outcome, measures_of, sweep_table
from l2d_core.sweeps.worker import first_cause, keys_in_hand, reason, train_run

RESULTS_TABLE = "results.csv"
LOOK_SECONDS, STOP_SECONDS = 0.5, 60.0
LOST = "the scheduler gave it up, or was lost; started again it goes on from its last epoch"
# A terminal sends Ctrl-C to the workers as well, SLURM and systemd SIGTERM; they stop when the scheduler says so, with
# their results kept.
IGNORE_SIGNALS = "from signal import *\nfor number in (SIGINT, SIGTERM):\n    signal(number, SIG_IGN)\n"

OnChange = Callable[[str, Mapping[str, Outcome]], None]


@dataclass(frozen=True)
class SubmittedRun:
    """A run that was handed to a cluster. future: gives its `Outcome` when it has ended."""

    folder: Path
    config: RunConfig
    future: Future


def run_many(
    configs: Mapping[str, RunConfig],
    *,
    data_root: str | os.PathLike,
    out: str | os.PathLike,
    device: str = "auto",
    scheduler: str | None = None,
    workers: int | None = None,
    threads: int | None = None,
    problems: Mapping[str, str] | None = None,
    on_change: OnChange | None = None,
) -> pd.DataFrame:
    """Train each config in the folder out/name, and return `sweep_table`, which out/results.csv holds too as runs end.

    Runs that are done are taken as they are, others go on after their last epoch. A run that fails, or has ended
    several workers, has its message in the table. At KeyboardInterrupt running ones first keep their best so far.

    device: as in `pick_device`, on the worker. scheduler: a Dask scheduler's address; None for an embedded cluster of
    `workers` processes, by default as in `plan_workers`; a script that asks for one needs `if __name__ == "__main__"`.
    threads: of torch in a training, on which the last bits of its numbers depend; None leaves those of a scheduler's
    workers. problems: names without a config, and why. on_change gets a name whose outcome changed, and all outcomes.
    ValueError on a device that is not here; OSError on a scheduler, processes or a folder that cannot be had.
    """
    outcomes: dict[str, Outcome] = {}
    out, measures = Path(out).resolve(), {}

    def change(name: str, outcome: Outcome) -> None:
        if outcome.state == "done":
            outcome, measures[name] = _measure(out / name)
        outcomes[name] = outcome
        if on_change is not None:
            on_change(name, outcomes)

    def save() -> pd.DataFrame:
        table = sweep_table(configs, outcomes, measures)
        with hold(out / RESULTS_TABLE):
            write_whole(out / RESULTS_TABLE, table.to_csv(index=False).encode())
        return table

    found = {name: Outcome("failed", problem) for name, problem in (problems or {}).items()}
    for name, outcome in (found | {name: _initial_outcome(out, name, one) for name, one in configs.items()}).items():
        change(name, outcome)
    queued = [name for name in configs if outcomes[name].state == "queued"]
    require_counts(workers, threads)
    if queued and scheduler is None:
        needed = workers and min(workers, len(queued))
        workers, threads = plan_workers(device, len(queued), needed, threads)
    save()  # a folder that cannot be written ends it before processes are started
    if queued:
        with open_cluster(scheduler, workers=workers, device=device) as client:
            runs = {name: submit(client, configs[name], out / name, data_root, device, threads) for name in queued}
            _see_through(client, runs, change, save)
    return save()


def _see_through(
    client: Client, runs: Mapping[str, SubmittedRun], change: Callable[[str, Outcome], None], save: Callable[[], Any]
) -> None:
    """Report runs that start and end, and save the table, until all have ended or an interrupt ends them."""
    running = set()
    try:
        for name, outcome in _follow(client, runs):
            change(name, outcome)
            if outcome.state == "running":
                running.add(name)
            else:
                running.discard(name)
                save()
    finally:
        stop(client, list(runs.values()))
        for name in running:
            change(name, Outcome("stopped"))
        save()


@contextmanager
def open_cluster(
    scheduler: str | None = None,
    *,
    credentials: Mapping[str, str] | None = None,
    workers: int | None = None,
    device: str = "auto",
) -> Iterator[Client]:
    """A client of the scheduler at that address, or of an embedded cluster, which ends with it.

    The embedded cluster has its workers in processes, with one training each, and one GPU each in turn where device
    leaves it open which. Dask restarts a worker that dies. credentials: `credentials_of` a client of the same cluster.
    OSError where the scheduler cannot be reached, or the processes cannot be started.
    """
    if scheduler is not None:
        security = Security(**credentials, require_encryption=True) if credentials else None
        with Client(scheduler, security=security, set_as_default=False) as client:
            yield client
        return
    settings = {
        "distributed.scheduler.worker-saturation": 1.0,  # a run waits at the scheduler, not behind a long one
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with dask.config.set(settings), ExitStack() as stack:
        yield _start_cluster(stack, workers or plan_workers(device, CPU_COUNT)[0], device)


def _start_cluster(stack: ExitStack, count: int, device: str) -> Client:
    """A client of a new embedded cluster, which ends with the stack. OSError where it cannot be started."""
    security = Security.temporary()
    local = {
        "host": "127.0.0.1",
        "protocol": "tls",
        "security": security,
        "dashboard_address": "127.0.0.1:0",
        "dashboard": False,
    }
    gpus = visible_gpus(device)
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)  # a start that fails ends in one message, without Dask's tracebacks
    try:
        cluster = SpecCluster(
            scheduler={"cls": Scheduler, "options": local},
            workers={place: _worker(place, local, gpus) for place in range(count)},
            security=security,
            silence_logs=logging.CRITICAL,  # pyright: ignore[reportArgumentType]
        )
        return stack.enter_context(Client(stack.enter_context(cluster), security=security, set_as_default=False))
    except Exception as problem:
        raise OSError(f"the worker processes could not be started: {first_cause(problem)}") from problem
    finally:
        log.setLevel(level)


def credentials_of(client: Client) -> dict[str, str]:
    """The certificates and the key with which another process can be a client too: whoever has them can run code."""
    return {name: getattr(client.security, name) for name in ("tls_ca_file", "tls_client_cert", "tls_client_key")}


def _worker(place: int, local: dict[str, Any], gpus: list[str]) -> dict[str, Any]:
    """How Dask starts one worker process."""
    env = {"CUDA_VISIBLE_DEVICES": gpus[place % len(gpus)]} if gpus else {}
    options = {
        "nthreads": 1,
        "memory_limit": 0,
        "silence_logs": logging.ERROR,
        "preload": [IGNORE_SIGNALS],
        "env": env,
    }
    return {"cls": Nanny, "options": {**local, **options}}


def submit(
    client: Client,
    config: RunConfig,
    folder: str | os.PathLike,
    data_root: str | os.PathLike,
    device: str = "auto",
    threads: int | None = None,
) -> SubmittedRun:
    """Hand a run to the cluster; it trains as long as its future is kept and this program lives."""
    folder = Path(folder).resolve()
    key = f"{folder.name}-{uuid.uuid4().hex}"
    arguments = (config.to_json(), str(folder), str(Path(data_root).resolve()), device, threads, _topic(client))
    # Whatever goes wrong in a run is its result; Dask itself tries again where a worker has died.
    return SubmittedRun(folder, config, client.submit(train_run, *arguments, key=key, pure=False, retries=0))


def _topic(client: Client) -> str:
    return f"runs of {client.id}"


def outcomes_of(client: Client, runs: Sequence[SubmittedRun]) -> list[Outcome]:
    """How far each run is at this moment."""
    events: Any = ()
    with suppress(OSError):  # the scheduler is lost; the futures know it a moment later
        events = client.get_events(_topic(client))
    begun = {key for _, key in events}
    return [_outcome(run, run.future.key in begun) for run in runs]


def _outcome(run: SubmittedRun, has_begun: bool) -> Outcome:
    status = run.future.status
    if status == "pending":
        return Outcome("running" if has_begun else "queued")
    if status == "finished":
        return run.future.result()
    if status == "error":
        problem: Any = run.future.exception()
        return Outcome("failed", reason(problem))
    return Outcome("stopped", LOST)


def stop(client: Client, runs: Sequence[SubmittedRun], seconds: float = STOP_SECONDS) -> None:
    """Take runs back: those that train keep their best so far, for which they are given at most these seconds."""
    pending = {run.future.key for run in runs if run.future.status == "pending"}
    if not pending or client.status != "running":
        return
    client.cancel([run.future for run in runs if run.future.key in pending])
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.1)  # until the workers know
        in_hand: Any = client.run(keys_in_hand, on_error="return")
        # One that gave no answer is too busy to: it may still train.
        if not any(isinstance(keys, Exception) or pending & keys for keys in in_hand.values()):
            return


def _follow(client: Client, runs: Mapping[str, SubmittedRun]) -> Iterator[tuple[str, Outcome]]:
    """Yield (name, outcome) whenever a run starts or ends, until all have ended."""
    pending, running = dict(runs), set()
    while pending:
        with suppress(TimeoutError, CancelledError), client.as_current():
            wait([run.future for run in pending.values()], timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED")
        outcomes = outcomes_of(client, list(pending.values()))
        for name, outcome in zip(list(pending), outcomes, strict=True):
            if outcome.state not in ("queued", "running"):
                del pending[name]
                yield name, outcome
            elif outcome.state == "running" and name not in running:
                running.add(name)
                yield name, outcome


def _initial_outcome(out: Path, name: str, config: RunConfig) -> Outcome:
    """Whether a run is done, or still has to be trained, or cannot be in its folder."""
    if Path(name).name != name or name in ("", "..", RESULTS_TABLE):
        return Outcome("failed", f"a name must be that of a folder, without a path, got {name!r}")
    try:
        return Outcome("done" if is_done(out / name, config) else "queued")
    except (ValueError, OSError) as problem:
        return Outcome("failed", reason(problem))


def _measure(folder: Path) -> tuple[Outcome, dict[str, Any]]:
    try:
        return Outcome("done"), measures_of(open_run(folder, LOSSES))
    except (ValueError, OSError) as problem:
        return Outcome("failed", reason(problem)), {}
