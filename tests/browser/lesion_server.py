"""The app as it is served, but with networks for skin lesions that were made for tests; arguments are Streamlit's."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "core"))

from made_lesion_system import made_system  # noqa: E402
from streamlit.web import cli  # noqa: E402

from l2d_core.lesions import system  # noqa: E402

system.missing_commands = list
system.load_system = made_system

if __name__ == "__main__":
    sys.argv = ["streamlit", "run", "app/Home.py", *sys.argv[1:]]
    cli.main()
