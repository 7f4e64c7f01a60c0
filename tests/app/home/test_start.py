"""The server started as the README says, but from another folder: what is promised holds there too."""

import os
import socket
import subprocess
import sys
import time

import psutil
import pytest

from l2d_core.common.paths import PROGRAM

HOME = PROGRAM / "app" / "Home.py"
START_SECONDS = 60
OPTIONS = """
import sys
from streamlit import config
from streamlit.web import bootstrap, cli
def show(*_):
    for name in ("browser.gatherUsageStats", "client.showErrorDetails", "server.maxUploadSize", "server.address"):
        print(config.get_option(name))
bootstrap.run = show
sys.argv = ["streamlit", "run", sys.argv[1]]
cli.main()
"""


@pytest.fixture
def elsewhere(tmp_path):
    """Where nothing is, not even in the home folder: keywords of `subprocess`."""
    return {"cwd": tmp_path, "env": {**os.environ, "HOME": str(tmp_path)}}


def test_from_another_folder_no_usage_statistics_go_out_and_errors_show_no_paths(elsewhere):
    done = subprocess.run([sys.executable, "-c", OPTIONS, HOME], capture_output=True, text=True, **elsewhere)
    assert done.stdout.split() == ["False", "none", "200", "127.0.0.1"], done.stderr


def test_without_an_address_only_this_machine_reaches_it(elsewhere):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", HOME, f"--server.port={port}"]
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **elsewhere)
    try:
        end, open_to = time.monotonic() + START_SECONDS, set()
        while not open_to and time.monotonic() < end and process.poll() is None:
            open_to = {one.laddr.ip for one in process.net_connections() if one.status == psutil.CONN_LISTEN}
            time.sleep(0.05)
        assert open_to == {"127.0.0.1"}
    finally:
        process.kill()
        process.wait()
