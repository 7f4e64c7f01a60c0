"""How fast networks train here: the engine beside a plain loop, what is spent around the steps, and peak memory.

    python benchmarks/training.py [--steps 3] [--epochs 3]

Made images of CIFAR-10's size; nothing is downloaded. Prints tables in Markdown; exits 1 where a target of the
project is missed.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from loops import IMAGE_SHAPE, NUM_OUTPUTS, engine_speed, made_splits, plain_speed
from report import Targets, machine, markdown_table

from l2d_core.config import RunConfig
from l2d_core.data import Splits
from l2d_core.datasets.cifar10 import CLASS_NAMES
from l2d_core.models import make_model
from l2d_core.models.prediction import autocast, predict, to_device
from l2d_core.surrogates import SURROGATES
from l2d_core.training.augment import draw_moves, move_images
from l2d_core.training.loop import train
from l2d_core.training.optimizers import make_optimizer

CPU = torch.device("cpu")
WIDE = RunConfig(model="wide_resnet", augment="none", learning_rate=0.1)
SMALL = RunConfig()
NUM_TRAIN, NUM_VALIDATION = 45_000, 5_000
MIN_GAIN = 3.0
MAX_OVERHEAD = 0.05
MAX_MEMORY_GB = 2.5


def engine_epochs(splits: Splits, epochs: int, folder: Path) -> float:
    """Seconds for `epochs` of the small net as a run trains it: answers, augmentation, validation, checkpoints."""
    config = RunConfig(epochs=epochs)
    model = make_model(config.model, NUM_OUTPUTS, IMAGE_SHAPE, seed=0)
    start = time.perf_counter()
    train(model, SURROGATES[config.surrogate], splits, config, device=CPU, checkpoint=folder / "training.pt")
    return time.perf_counter() - start


def bare_epochs(splits: Splits, epochs: int) -> float:
    """Seconds for the same forward passes, backward passes, steps and validations on one resident batch."""
    config = SMALL
    model = make_model(config.model, NUM_OUTPUTS, IMAGE_SHAPE, seed=0).to(memory_format=torch.channels_last).train()
    optimizer, loss = make_optimizer(config, model.parameters()), SURROGATES[config.surrogate].loss
    size = config.batch_size
    labels, correct = splits.train.labels[:size], splits.train.expert_correct[:size]
    moves = draw_moves(config.augment, size, generator=torch.Generator().manual_seed(0))
    images = to_device(move_images(splits.train.inputs[:size], moves), CPU, channels_last=True)
    start = time.perf_counter()
    for _ in range(epochs):
        for _ in range(-(-NUM_TRAIN // size)):
            with autocast(CPU, config.precision):
                logits = model(images)
            optimizer.zero_grad(set_to_none=True)
            loss(logits.float(), labels, correct).mean().backward()
            optimizer.step()
        predict(model, splits.validation.inputs, batch_size=size, device=CPU, precision=config.precision)
        model.train()
    return time.perf_counter() - start


def write_folder_of_images(root: Path) -> None:
    """60,000 noisy images where CIFAR-10 would be, so that a run reads as much as it does of the real ones."""
    from PIL import Image

    generator = torch.Generator().manual_seed(0)
    for part, count in (("train", 5_000), ("test", 1_000)):
        for name in CLASS_NAMES:
            folder = root / "cifar10" / part / name
            folder.mkdir(parents=True)
            pixels = torch.randint(256, (count, 32, 32, 3), dtype=torch.uint8, generator=generator).numpy()
            for row in range(count):
                Image.fromarray(pixels[row]).save(folder / f"{row:04}.jpg")


def peak_memory_gb(root: Path) -> float:
    """Peak resident memory of `python -m l2d_core train` on 60,000 images, one epoch of the small net."""
    write_folder_of_images(root)
    command = [sys.executable, "-m", "l2d_core", "train", "--dataset", "cifar10", "--epochs", "1"]
    folders = ["--data-root", str(root), "--out", str(root / "run")]
    process = subprocess.Popen([*command, *folders], stdout=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, _peak_so_far_gb(process.pid))
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"the training ended with status {process.returncode}")
    return peak


def _peak_so_far_gb(pid: int) -> float:
    """What the kernel keeps of the program itself; what it keeps of a child counts the parent's memory too."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found.group(1)) * 1024 / 1e9 if found else 0.0


def measure_gain(steps: int) -> tuple[float, float]:
    """Images per second of WRN-28-4 in batches of 256: the plain loop, and the engine."""
    splits = made_splits(WIDE, WIDE.batch_size * (steps + 2), 10)
    plain = plain_speed(WIDE, splits, CPU, warm_up=1, steps=steps)
    return plain, engine_speed(WIDE, splits, CPU, warm_up=1, steps=steps)


def measure_overhead(epochs: int) -> list[tuple[float, float]]:
    """Seconds with all around, and bare, of several repeats, one after the other."""
    splits = made_splits(SMALL, NUM_TRAIN, NUM_VALIDATION)
    with tempfile.TemporaryDirectory() as folder:
        pairs = []
        for repeat in range(epochs):
            place = Path(folder) / str(repeat)
            place.mkdir()
            pairs.append((engine_epochs(splits, 1, place), bare_epochs(splits, 1)))
    return pairs


def main() -> None:
    """Measure, print the tables, and check the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3, help="measured steps of WRN-28-4")
    parser.add_argument("--epochs", type=int, default=3, help="measured epochs of the small net")
    arguments = parser.parse_args()
    print(machine("torch", "numpy"), f"{torch.get_num_threads()} threads", sep=", ", flush=True)
    targets = Targets()

    plain, engine = measure_gain(arguments.steps)
    rows = [["plain loop", f"{plain:.1f}"], ["engine", f"{engine:.1f}"], ["**gain**", f"{engine / plain:.2f}"]]
    print(f"\n{markdown_table(['WRN-28-4, batches of 256', 'images/s'], rows)}", flush=True)
    targets.check(engine >= MIN_GAIN * plain, f"WRN-28-4 {engine / plain:.2f} times the plain loop, {MIN_GAIN} wanted")

    pairs = measure_overhead(arguments.epochs)
    rows = [[f"{whole:.2f}", f"{bare:.2f}", f"{1 - bare / whole:.1%}"] for whole, bare in pairs]
    print(f"\n{markdown_table(['small net, an epoch, s', 'bare steps, s', 'share around them'], rows)}", flush=True)
    overhead = 1 - sum(bare for _, bare in pairs) / sum(whole for whole, _ in pairs)
    targets.check(overhead < MAX_OVERHEAD, f"{overhead:.1%} of an epoch around the steps, under {MAX_OVERHEAD:.0%}")

    with tempfile.TemporaryDirectory() as root:
        memory = peak_memory_gb(Path(root))
    targets.check(memory < MAX_MEMORY_GB, f"peak memory of a CIFAR-10 training {memory:.2f} GB, under {MAX_MEMORY_GB}")
    targets.exit()


if __name__ == "__main__":
    main()
