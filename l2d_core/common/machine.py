"""What this process may use of its machine: processors and memory, by affinity and by the limits of a container."""

import math
import os
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
UNLIMITED = 1 << 60  # version 1 states no limit as a number near 2 ** 63


def num_processors() -> int:
    """The processors that this process may use, at least 1: those it may run on, and no more than its quota of time."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([count, *map(math.ceil, _quotas())]))


def memory_bytes() -> int:
    """The memory that this process may use: that of the machine, or the limit of its control groups."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    texts = [*_texts("memory", "memory.max"), *_texts("memory", "memory.limit_in_bytes")]
    limits = [int(text) for text in texts if text.isdecimal()]
    return min([whole, *(limit for limit in limits if limit < UNLIMITED)])


def _quotas() -> list[float]:
    """Processors' worth of time for each control group of this process that limits it."""
    found = [text.split() for text in _texts("cpu", "cpu.max")]
    quotas = _texts("cpu", "cpu.cfs_quota_us"), _texts("cpu", "cpu.cfs_period_us")
    found += [list(pair) for pair in zip(*quotas, strict=False)]
    pairs = [pair for pair in found if len(pair) == 2 and all(map(str.isdecimal, pair))]  # "max" and -1: no limit
    return [int(quota) / int(period) for quota, period in pairs if int(quota) > 0 and int(period) > 0]


def _texts(controller: str, name: str) -> list[str]:
    """The content of a file in each control group of this process, from its own up to the root, that has it."""
    return [text for group in _groups(controller) if (text := _read(group / name))]


def _groups(controller: str) -> list[Path]:
    """The folders of this process's control group and those above it, in version 2 or of a controller of version 1."""
    found = []
    for line in _read(MEMBERSHIP).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        top = GROUPS / controller if controllers else GROUPS
        inside = Path(path.lstrip("/"))
        found += [top / inside, *(top / parent for parent in inside.parents)]
    return list(dict.fromkeys(found))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
