"""The app as it is served, but with networks made for tests, and with metrics; closed tabs are freed at once."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "core"))

from made_lesion_system import made_system  # noqa: E402
from streamlit.web import cli  # noqa: E402

from app.kit import memory, server  # noqa: E402
from l2d_core.lesions import system  # noqa: E402

system.missing_commands = list
system.load_system = made_system
server.switch_off_metrics = lambda _stats: None  # by which a test sees how much the server holds
memory.SWEEP_SECONDS = 1.0

if __name__ == "__main__":
    sys.argv = ["streamlit", "run", "app/Home.py", "--server.disconnectedSessionTTL=5", *sys.argv[1:]]
    cli.main()
