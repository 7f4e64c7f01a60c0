"""What a process may use, by control groups of both versions, made for the test; and how many workers that is."""

import os

import pytest

from app.fits import workers
from l2d_core.common import machine, paths

GIB = 2**30


@pytest.fixture
def groups(monkeypatch, tmp_path):
    """A function that writes the membership and the files of control groups."""
    monkeypatch.setattr(machine, "GROUPS", tmp_path)
    monkeypatch.setattr(machine, "MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.delenv("L2D_WORKERS", raising=False)

    def write(membership, files):
        (tmp_path / "membership").write_text(membership)
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)

    return write


VERSION_2 = "0::/outer/inner\n"
VERSION_1 = "4:memory:/box\n1:cpu,cpuacct:/box\n0::/\n"


@pytest.mark.parametrize(
    ("membership", "files", "processors"),
    [
        ("", {}, 16),
        (VERSION_2, {"outer/inner/cpu.max": "150000 100000\n"}, 2),
        (VERSION_2, {"outer/inner/cpu.max": "max 100000\n", "outer/cpu.max": "100000 100000\n"}, 1),
        (VERSION_2, {"outer/inner/cpu.max": "max 100000\n"}, 16),
        (VERSION_2, {"outer/inner/cpu.max": "10000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "400000 100000\n"}, 4),
        (VERSION_1, {"cpu/box/cpu.cfs_quota_us": "300000", "cpu/box/cpu.cfs_period_us": "100000"}, 3),
        (VERSION_1, {"cpu/box/cpu.cfs_quota_us": "-1", "cpu/box/cpu.cfs_period_us": "100000"}, 16),
        (VERSION_2, {"outer/inner/cpu.max": "nonsense\n"}, 16),
    ],
)
def test_processors_are_those_of_the_affinity_and_no_more_than_the_quota(groups, membership, files, processors):
    groups(membership, files)
    assert machine.num_processors() == processors


@pytest.mark.parametrize(
    ("membership", "files", "limit"),
    [
        (VERSION_2, {"outer/inner/memory.max": f"{GIB}\n"}, GIB),
        (VERSION_2, {"outer/inner/memory.max": "max\n", "outer/memory.max": f"{GIB // 2}\n"}, GIB // 2),
        (VERSION_1, {"memory/box/memory.limit_in_bytes": f"{GIB}"}, GIB),
    ],
)
def test_memory_is_the_smallest_limit_of_the_control_groups(groups, membership, files, limit):
    groups(membership, files)
    assert machine.memory_bytes() == limit


@pytest.mark.parametrize("membership", [VERSION_1, VERSION_2, ""])
def test_without_a_limit_memory_is_that_of_the_machine(groups, membership):
    groups(membership, {"memory/box/memory.limit_in_bytes": str(2**63 - 4096), "outer/inner/memory.max": "max\n"})
    assert machine.memory_bytes() == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("processors", "gib", "count"), [(16, 64, 8), (2, 64, 2), (16, 1, 1), (16, 2.7, 3), (4, 0.5, 1)]
)
def test_the_lab_has_one_worker_per_processor_as_far_as_they_fit_into_memory(monkeypatch, processors, gib, count):
    monkeypatch.delenv("L2D_WORKERS", raising=False)
    monkeypatch.setattr(workers, "num_processors", lambda: processors)
    monkeypatch.setattr(workers, "memory_bytes", lambda: int(gib * GIB))
    assert workers.num_workers() == count


def test_the_number_of_workers_can_be_set(monkeypatch):
    monkeypatch.setenv("L2D_WORKERS", " 3 ")
    assert workers.num_workers() == 3
    for text in ("0", "many", "-1", "1.5"):
        monkeypatch.setenv("L2D_WORKERS", text)
        with pytest.raises(ValueError, match=r"L2D_WORKERS must be a whole number of at least 1, got "):
            workers.num_workers()


def test_training_is_offered_unless_it_is_off(monkeypatch):
    for text, is_offered in (("", True), ("on", True), ("off", False), (" OFF ", False)):
        monkeypatch.setenv("L2D_TRAINING", text)
        assert paths.offers_training() is is_offered
    monkeypatch.setenv("L2D_TRAINING", "no")
    with pytest.raises(ValueError, match="L2D_TRAINING must be on or off, got 'no'"):
        paths.offers_training()
