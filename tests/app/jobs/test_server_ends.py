"""A server that ends does so at once, whatever it or its processes are in the middle of starting."""

import os
import subprocess
import sys

from l2d_core.common.paths import PROGRAM

LOAD = """
import threading, time
begun = threading.Event()

def load_system():
    begun.set()
    time.sleep(600)

from app.lesions import systems
systems.lesions.load_system = load_system
assert not systems.load_in_background().done()
begun.wait(20)
print("loads", flush=True)
"""


def test_networks_that_are_being_loaded_are_not_waited_for():
    with subprocess.Popen([sys.executable, "-c", LOAD], cwd=PROGRAM, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"loads\n"
        assert server.wait(120) == 0


def test_the_process_of_trainings_ends_in_silence_where_its_server_has_ended_before_it_was_up():
    nobody_reads, its_output = os.pipe()
    command = [sys.executable, "-m", "app.jobs.cluster_process", "1", "cpu"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=its_output, stderr=subprocess.PIPE) as host:
        for pipe in (nobody_reads, its_output):
            os.close(pipe)
        _, log = host.communicate(timeout=60)
    assert host.returncode == 0
    assert b"Traceback" not in log
