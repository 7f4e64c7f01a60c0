"""How long a training will take, and how much memory: a few real steps on made images, in a process of their own."""

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from l2d_core.common.environment import pick_device
from l2d_core.config import RunConfig
from l2d_core.data import DeferralData, Splits
from l2d_core.models.prediction import batch_sizes, predict
from l2d_core.models.weights import Network
from l2d_core.surrogates import SURROGATES
from l2d_core.training.loop import train

STEPS, MAX_SECONDS, FEW = 6, 12.0, 128
MORE_NICE = 5  # above what its process has: as trainings are


@dataclass(frozen=True)
class Estimate:
    """seconds: of all epochs, with validation, without reading the data; bytes: of the process with all the data."""

    seconds: float
    bytes: int
    images_per_second: float
    threads: int
    device: str


def measure(
    config_json: str,
    image_shape: tuple[int, ...],
    sizes: tuple[int, int, int],
    class_names: Sequence[str],
    bytes_a_number: int,
    threads: int,
    *,
    on_progress: Callable[[float], bool],
) -> Estimate:
    """Time a few steps of a training on images of noise.

    sizes: cases in training, validation and test; bytes_a_number: of the inputs. Errors as in `train`; TimeoutError
    where on_progress returns False.
    """
    os.nice(MORE_NICE)
    torch.set_num_threads(threads)
    config = replace(RunConfig.from_json(config_json), learning_rate=1e-6, compile=False)  # made images teach nothing
    device = pick_device()
    options = {name: value for name, value in config.model_options.items() if name != "pretrained"}
    model = Network(config.model, image_shape, tuple(class_names), ("expert",), options).build()
    cases = [_made_cases(size, image_shape, class_names) for size in sizes]
    step = _seconds_a_step(model, Splits(*cases), config, device, on_progress)
    few = cases[1].inputs[: min(config.batch_size, FEW)]
    start = time.perf_counter()
    predict(model, few, batch_size=config.batch_size, device=device, channels_last=config.channels_last)
    look = (time.perf_counter() - start) / len(few)
    steps = len(batch_sizes(sizes[0], config.batch_size))
    seconds = config.epochs * (steps * step + sizes[1] * look) + (sizes[1] + sizes[2]) * look
    data_bytes = sum(sizes) * int(np.prod(image_shape)) * bytes_a_number
    speed = min(config.batch_size, sizes[0]) / step
    return Estimate(seconds, _peak_bytes() + data_bytes, speed, threads, device.type)


def _made_cases(size: int, image_shape: Sequence[int], class_names: Sequence[str]) -> DeferralData:
    """Cases that share one image, so that they take no room."""
    image = torch.randn(1, *image_shape, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(size) % len(class_names)
    ids = np.arange(size).astype(str)
    return DeferralData(image.expand(size, *image_shape), labels, labels[:, None], ids, tuple(class_names))


def _seconds_a_step(
    model: torch.nn.Module,
    splits: Splits,
    config: RunConfig,
    device: torch.device,
    on_progress: Callable[[float], bool],
) -> float:
    """The median of a few steps after the first; of one where they are long."""
    times = [time.perf_counter()]

    def on_step(done: int, _total: int) -> bool:
        times.append(time.perf_counter())
        if not on_progress(min(done, STEPS) / STEPS):
            raise TimeoutError
        return done < STEPS and times[-1] - times[0] < MAX_SECONDS

    repeated = replace(config, epochs=max(config.epochs, STEPS))
    train(model, SURROGATES[config.surrogate], splits, repeated, device=device, on_step=on_step)
    steps = np.diff(times)
    return float(statistics.median(steps[1:] if len(steps) > 1 else steps))


def _peak_bytes() -> int:
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
