"""The paper's results, one file each, by the name that the command line takes."""

from collections.abc import Callable, Sequence

from l2d_core.reproductions.ham10000 import ham10000
from l2d_core.reproductions.reproduction import Reproduction

# Each is called with the seeds.
REPRODUCTIONS: dict[str, Callable[[Sequence[int]], Reproduction]] = {"ham10000": ham10000}
