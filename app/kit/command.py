"""The console command `l2d-lab`: starts the app from any folder."""

import sys
from pathlib import Path


def main() -> None:
    """Start Streamlit on the app; arguments are passed on, as in `l2d-lab --server.port 8600`."""
    from streamlit.web import cli

    sys.argv = ["streamlit", "run", str(Path(__file__).parents[1] / "Home.py"), *sys.argv[1:]]
    sys.exit(cli.main())
