"""Makes the API reference, as HTML, from the docstrings: python docs/make_reference.py [FOLDER]. Warnings fail."""

import sys
import warnings
from pathlib import Path

import pdoc

import l2d_core

# The public interface: what `from l2d_core import ...` gives, and the modules that README and docs name.
MODULES = (
    "l2d_core",
    "l2d_core.comparison.mapped_tables",
    "l2d_core.datasets.ham10000",
    "l2d_core.images.opening",
    "l2d_core.runs.folder",
)


def make(folder: Path) -> None:
    """Write the pages into a folder. pdoc's warnings are raised as UserWarning."""
    for name in l2d_core.__all__:  # pdoc sees what is imported, and these names are imported on first use
        setattr(l2d_core, name, getattr(l2d_core, name))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=UserWarning)
        pdoc.pdoc(*MODULES, output_directory=folder)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "reference")
    make(target)
    print(f"{target / 'index.html'}")
