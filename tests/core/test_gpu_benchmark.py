"""The GPU script, run whole on the CPU: it must not fail for the first time on a machine that is paid by the hour."""

import subprocess
import sys

import pytest

from l2d_core.common.paths import PROGRAM
from l2d_core.runs.folder import verify_run

SCRIPT = [sys.executable, "benchmarks/gpu.py"]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    out = tmp_path_factory.mktemp("gpu")
    done = subprocess.run([*SCRIPT, "--smoke", "--out", out], cwd=PROGRAM, capture_output=True, text=True, timeout=110)
    return out, done


def test_smoke_reaches_its_targets_and_writes_what_it_prints(smoke):
    out, done = smoke
    assert done.returncode == 0, done.stdout + done.stderr
    written = (out / "gpu.md").read_text()
    for part in ("SMOKE", "loss of a case, one_vs_all", "after a step", "plain loop", "System accuracy", "- reached:"):
        assert part in written
        assert part in done.stdout
    assert "MISSED" not in written


def test_smoke_leaves_a_whole_run_of_each_loss(smoke):
    out, _ = smoke
    for name in ("softmax", "one_vs_all"):
        run = verify_run(
            out / "runs-paper-reference" / f"logged-{name}-seed=0"
        )  # where `reproduce --scale paper` looks for them
        assert run.is_done
        assert run.config.surrogate == name
        assert run.config.augment == "none"


def test_without_a_gpu_it_says_so_at_once(tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    done = subprocess.run([*SCRIPT, "--out", tmp_path], cwd=PROGRAM, capture_output=True, text=True, timeout=110)
    assert done.returncode == 1
    assert "there is no CUDA device; --smoke" in done.stderr
