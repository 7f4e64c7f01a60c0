"""Tables that unpack to gigabytes: each is refused in words before it takes the memory of a small server."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_tables import EXPANDING

MOST_MB = 200
MAKE = """
import os, sys
from hostile_tables import EXPANDING
for name, make, _ in EXPANDING:
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(make())
"""
READ = """
import json, os, sys
from hostile_tables import COLUMNS, EXPANDING, parquet, predictions
from l2d_core.comparison.mapped_tables import Columns, read_predictions, to_scores

def say(data, name):
    try:
        to_scores(read_predictions(data, name), Columns(**COLUMNS), surrogate="softmax", domain="logits")
    except ValueError as problem:
        return str(problem)
    return ""

def memory(kind):
    return int(next(line for line in open("/proc/self/status") if line.startswith(kind)).split()[1]) / 1024

assert not say(parquet(), "") and not say(predictions("x,0,0,2,0,0"), "")  # what is imported on the way takes memory
start = memory("VmRSS")
for name, *_ in EXPANDING:
    data = open(os.path.join(sys.argv[1], name), "rb").read()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is counted anew
    said = say(data, name)
    print(name, json.dumps([memory("VmHWM") - start - len(data) / 2**20, said]), sep="\\t", flush=True)
"""


def run(script, folder):
    path = {"PYTHONPATH": f"{Path(__file__).parents[1]}:{Path(__file__).parents[3]}"}
    command = [sys.executable, "-c", script, str(folder)]
    found = subprocess.run(command, env=path, capture_output=True, text=True, timeout=240)
    assert found.returncode == 0, found.stderr[-3000:]
    return found.stdout


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """Name -> how many MB above the start the peak was, but for the file itself, and what was said."""
    if not Path("/proc/self/clear_refs").is_file():
        pytest.skip("needs Linux")
    folder = tmp_path_factory.mktemp("tables")
    run(MAKE, folder)
    rows = [line.split("\t") for line in run(READ, folder).splitlines()]
    return {name: json.loads(said) for name, said in rows}


@pytest.mark.parametrize(("name", "message"), [row[::2] for row in EXPANDING], ids=[row[0] for row in EXPANDING])
def test_a_file_that_unpacks_to_much_is_refused_in_words_and_takes_little_memory(tried, name, message):
    grown, said = tried[name]
    assert re.search(message, said), said
    assert grown < MOST_MB
