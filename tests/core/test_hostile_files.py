"""Files made to do harm: each is refused by name, in words, within the memory of a small server, and writes nothing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_files import FILES, LISTS

from l2d_core.common.paths import PROGRAM

MOST_MB = 200
FOLDERS = {"made", "run", "ham10000", "expert", "in", "cache"}


# Where a message need not have the name of the file that came: it has the safe name, the member of the zip, the
# column and row of the table, or the file in the run's folder.
NAMED = {"name": r"^.+: not an image", "zip": r"^[^:]+(:/[^:]+)?: ", "predictions": r"^in/|at row|the columns"}
NAMED["expert"] = "expert/model"
NAMED |= {door: re.escape(f"run/{door}") for door in LISTS if "." in door}


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """What was said of each file, in a process of its own, and what there is around its working folder after it."""
    around = tmp_path_factory.mktemp("hostile")
    for name in ("work", "home", "temporary"):
        (around / name).mkdir()
    own = {"HOME": around / "home", "TMPDIR": around / "temporary", "PYTHONPATH": PROGRAM, "OMP_NUM_THREADS": 1}
    own["TORCHINDUCTOR_CACHE_DIR"] = around / "work" / "cache"  # which torch makes when it is imported
    process = subprocess.run(
        [sys.executable, "-B", Path(__file__).with_name("hostile_files.py"), around / "work"],
        env={**os.environ, **{name: str(value) for name, value in own.items()}},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    assert "unpickled" not in process.stdout
    return around, json.loads(process.stdout)


def of_door(door):
    return [file for file in FILES if file.door == door]


def result(tried, file):
    return tried[1][str(FILES.index(file))]


@pytest.mark.parametrize("door", LISTS)
def test_a_hostile_file_is_refused_by_name_and_in_words(tried, door):
    for file in of_door(door):
        said = result(tried, file)["said"]
        if file.message is None:
            assert said == "", file.id
            continue
        assert re.search(file.message, said), (file.id, said)
        assert re.search(NAMED[door], said) if door in NAMED else file.name in said, (file.id, said)
        assert len(said) < 2_000, file.id
        assert "Traceback" not in said, file.id


WITH_COMMAND = [door for door in LISTS if door in ("metadata", "predictions", "sweep") or "." in door]


@pytest.mark.parametrize("door", WITH_COMMAND)
def test_a_command_says_so_in_one_line_and_exits_with_2(tried, door):
    for file in of_door(door):
        found = result(tried, file)
        assert found["code"] == 2, (file.id, found)
        assert re.fullmatch(r"error: [^\n]+\n", found["error"]), (file.id, found["error"])
        assert len(found["error"]) < 3_000, file.id


def test_no_file_takes_much_memory(tried):
    grown = [(tried[1][str(number)]["peak"], file.id) for number, file in enumerate(FILES)]
    steps = [(now[0] - before[0], now[1]) for before, now in zip([(0, ""), *grown], grown, strict=False)]
    assert max(grown)[0] < MOST_MB, sorted(steps)[-5:]


def test_nothing_is_written_outside_of_the_working_folder(tried):
    around, _ = tried
    assert {path.split("/")[0] for path in tree(around)} == {"work", "home", "temporary"}
    assert tree(around / "home") == tree(around / "temporary") == []
    assert {path.split("/")[0] for path in tree(around / "work")} <= FOLDERS


def test_a_name_in_a_message_cannot_mislead(tried):
    for file in of_door("name"):
        shown = result(tried, file)["said"].partition(": not an image")[0]
        assert 0 < len(shown) <= 80, file.id
        assert not re.search(r"[\x00-\x1f\x7f/\\\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown), shown


def test_each_kind_has_several_files_and_each_file_a_name_of_its_own():
    assert min(len(rows) for rows in LISTS.values()) >= 5
    assert len({file.id for file in FILES}) == len(FILES)
