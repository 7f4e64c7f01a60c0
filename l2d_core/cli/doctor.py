"""What is available: versions, the device and its bfloat16, the data sets found, and free disk space."""

import os
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from l2d_core.common.environment import PACKAGES, describe_environment, package_version
from l2d_core.common.machine import memory_bytes, num_processors
from l2d_core.datasets import cifar10, galaxy_zoo, hate_speech, human_answers
from l2d_core.datasets.ham10000 import files as ham10000_files
from l2d_core.models import make_model
from l2d_core.models.prediction import autocast

TRIES, CASES = 3, 32


def examine(device: torch.device, data_root: str | os.PathLike) -> list[tuple[str, str]]:
    """(name, text) pairs on the machine, the software, the data sets and the disk."""
    environment = describe_environment(device)
    versions = [(name, package_version(name) or "not installed") for name in PACKAGES]
    return [
        ("python", f"{environment['python']} on {environment['platform']}"),
        *versions,
        ("commit", environment["commit"] or "not a git checkout"),
        ("device", f"{device} ({environment['device_name']})"),
        ("bfloat16", describe_bfloat16(device)),
        ("threads", f"{environment['threads']}; {num_processors()} of {os.cpu_count()} processors may be used"),
        ("memory", f"{memory_bytes() / 2**30:.1f} GB may be used"),
        *((name, find(Path(data_root))) for name, find in DATA_SETS.items()),
        ("free disk", _free_disk(Path(data_root))),
    ]


def describe_bfloat16(device: torch.device) -> str:
    """Whether a small network trains in bfloat16 on the device, and its measured speed relative to float32."""
    model = make_model("small_resnet", 11, (3, 32, 32), seed=0).to(device, memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    images = torch.zeros(CASES, 3, 32, 32, device=device).contiguous(memory_format=torch.channels_last)

    def step(precision: str) -> None:
        with autocast(device, precision):
            loss = model(images).sum()
        loss.backward()
        loss.item()  # waits for an accelerator

    try:
        gain = _seconds(lambda: step("float32")) / _seconds(lambda: step("bfloat16"))
    except RuntimeError as problem:
        return f"no: {str(problem).splitlines()[0]}"
    advice = "" if gain > 1 else "; --precision float32 is the faster here"
    return f"yes, small_resnet trains at {gain:.1f} times the speed of float32{advice}"


def _seconds(work: Callable[[], None]) -> float:
    """The shortest of a few runs, after a warm-up."""
    times = []
    for _ in range(TRIES + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _find_cifar10(data_root: Path) -> str:
    folder = cifar10.find_layout(data_root)
    if folder is None:
        return f"not in {data_root}. {cifar10.THREE_WAYS}"
    if folder.name != "cifar10":
        batches = [name for names in cifar10.BATCHES.values() for name in names]
        return f"{folder}: {_count(folder / name for name in batches)} of {len(batches)} batches"
    wanted = sum(cifar10.IMAGES_A_CLASS.values()) * len(cifar10.CLASS_NAMES)
    found = sum(1 for path in folder.glob("*/*/*") if path.suffix.lower() in cifar10.SUFFIXES)
    return f"{folder}: {found:,} of {wanted:,} images"


def _find_cifar10n(data_root: Path) -> str:
    return _describe_files(data_root, human_answers.TRAINING_FILE)


def _find_cifar10h(data_root: Path) -> str:
    return _describe_files(data_root, human_answers.COUNTS_FILE)


def _find_ham10000(data_root: Path) -> str:
    folder = ham10000_files.find_folder(data_root)
    if folder is None:
        return f"not in {data_root}"
    files = ham10000_files.find_files(folder)
    return f"{folder}: {len(files.images):,} of 10,015 images; python -m l2d_core data ham10000 {data_root} tells more"


def _find_hate_speech(data_root: Path) -> str:
    return _describe_files(data_root, hate_speech.FILE)


def _find_galaxy_zoo(data_root: Path) -> str:
    found = galaxy_zoo.find_layout(data_root)
    return f"no votes in {data_root / 'galaxy_zoo'}" if found is None else str(found[1])


def _describe_files(data_root: Path, name: str) -> str:
    return f"{data_root / name}" if (data_root / name).is_file() else f"no {data_root / name}"


def _count(paths: Iterable[Path]) -> int:
    return sum(path.is_file() for path in paths)


def _free_disk(folder: Path) -> str:
    """The free space of the disk that the folder is on, or would be."""
    there = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.is_dir())
    return f"{shutil.disk_usage(there).free / 1e9:.1f} GB in {there}"


DATA_SETS: dict[str, Callable[[Path], str]] = {
    "CIFAR-10": _find_cifar10,
    "CIFAR-10N": _find_cifar10n,
    "CIFAR-10H": _find_cifar10h,
    "HAM10000": _find_ham10000,
    "HateSpeech": _find_hate_speech,
    "Galaxy Zoo": _find_galaxy_zoo,
}
