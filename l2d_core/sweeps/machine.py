"""What a machine offers to worker processes: its cores, its memory and its GPUs."""

import os

import torch
from dask.system import CPU_COUNT
from distributed.system import MEMORY_LIMIT

from l2d_core.common.checks import brief
from l2d_core.common.environment import pick_device

BYTES_PER_WORKER = 5 << 29  # 2.5 GiB: a training on CIFAR-10 needs less
MAX_COUNT = 1_024  # of workers, and of threads in each


def plan_workers(device: str, runs: int, workers: int | None = None, threads: int | None = None) -> tuple[int, int]:
    """The number of workers of an embedded cluster, and of torch's threads in each; numbers that are given stay.

    One worker per GPU; on the CPU one per core, limited by memory and by the number of runs; together they have no
    more threads than there are cores. ValueError as in `require_counts`, or where the device is not here.
    """
    require_counts(workers, threads)
    is_cpu = pick_device(device).type == "cpu"
    if workers is None:
        most = min(CPU_COUNT, MEMORY_LIMIT // BYTES_PER_WORKER) if is_cpu else len(visible_gpus(device))
        workers = max(1, min(most, runs))
    return workers, threads or max(1, CPU_COUNT // workers)


def require_counts(workers: int | None, threads: int | None) -> None:
    """ValueError where a number is below 1, or so high that processes would end for lack of threads."""
    for name, number in (("workers", workers), ("threads", threads)):
        if number is not None and not 1 <= number <= MAX_COUNT:
            raise ValueError(f"{name} must be at least 1 and at most {MAX_COUNT:,}, got {brief(number)}")


def visible_gpus(device: str) -> list[str]:
    """The GPUs to share out among workers, as CUDA_VISIBLE_DEVICES names them; none if the device names one."""
    if device not in ("auto", "cuda") or pick_device(device).type != "cuda":
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",") if named else [str(place) for place in range(torch.cuda.device_count())]
