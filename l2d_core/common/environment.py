"""The device that a program runs on, and what to record of machine and software beside results."""

import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from l2d_core.common.paths import PROGRAM

PACKAGES = ("l2d-core", "torch", "torchvision", "timm", "numpy", "scikit-learn")


def pick_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" prefers a CUDA GPU, then Apple's, then the CPU.

    ValueError lists the available kinds of device if this one is not among them.
    """
    available = ["cpu"]
    if torch.backends.mps.is_available():
        available.insert(0, "mps")
    if torch.cuda.is_available():
        available.insert(0, "cuda")
    if name == "auto":
        return torch.device(available[0])
    kind, _, number = name.partition(":")
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if kind not in available or (number and not (number.isdecimal() and int(number) < count)):
        raise ValueError(f"device must be auto, or one that is here: {', '.join(available)}; got {name!r}")
    return torch.device(name)


def describe_environment(device: torch.device) -> dict[str, Any]:
    """What decides the speed of a run and its last digits: versions, device, threads and, if known, the commit."""
    return {
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := package_version(name))},
        "platform": platform.platform(),
        "device": str(device),
        "device_name": device_name(device),
        "threads": torch.get_num_threads(),
        "commit": commit(),
    }


def has_fast_bfloat16() -> bool:
    """Whether the CPU multiplies bfloat16 in hardware, so that products take less than half the time of float32."""
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # torch has no public name for these
    return any(getattr(torch.cpu, name, bool)() for name in checks)


def package_version(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def device_name(device: torch.device) -> str:
    """The device's product name, as far as the system reports it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def commit() -> str | None:
    """The commit of the checkout that this program runs from, with "-dirty" if files differ; None without one."""
    if not (PROGRAM / ".git").exists():
        return None
    command = ["git", "-C", str(PROGRAM), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
