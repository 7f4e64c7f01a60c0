"""The command line: each command is one function, and imports what it needs only when it runs."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tyro.extras import SubcommandApp

WRONG_INPUT = 2  # the exit code, also that of an unknown command or option

app = SubcommandApp()
pretrain = SubcommandApp()
app.command(pretrain, name="pretrain", help="Make what is shipped in the folder pretrained/.")


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


def _progress_line(name: str):
    """A function of (done, total) that keeps one line up to date with the speed, and ends it when all is done."""
    start = time.monotonic()

    def show(done: int, total: int) -> None:
        speed = done / max(time.monotonic() - start, 1e-9)
        end = "\n" if done == total else ""
        print(f"\r{name}: {done:,} of {total:,} images, {speed:.0f} images/s", end=end, flush=True)

    return show
