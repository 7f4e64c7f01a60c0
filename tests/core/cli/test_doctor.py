"""What there is to work with: found where it is, and told in words where it is not."""

import subprocess

import pytest
import torch
from made_cifar10 import shrink, write_batches, write_folder, write_people

from l2d_core.cli import doctor
from l2d_core.cli.doctor import describe_bfloat16, examine
from l2d_core.common import environment
from l2d_core.common.environment import commit, describe_environment, device_name, package_version, pick_device

CPU = torch.device("cpu")


def found(data_root):
    return dict(examine(CPU, data_root))


def test_versions_device_threads_and_disk_are_told(tmp_path):
    told = found(tmp_path)
    assert told["torch"] == package_version("torch")
    assert told["device"].startswith("cpu (")
    assert told["threads"].startswith(f"{torch.get_num_threads()}; ")
    assert told["bfloat16"].startswith("yes, small_resnet trains at ")
    assert told["free disk"].endswith(f" GB in {tmp_path}")


def test_the_disk_of_a_folder_that_is_not_there_yet_is_that_of_its_parent(tmp_path):
    assert found(tmp_path / "not" / "yet")["free disk"].endswith(f" GB in {tmp_path}")


def test_missing_data_sets_are_told_with_how_to_get_cifar10(tmp_path):
    told = found(tmp_path)
    assert told["CIFAR-10"].startswith(f"not in {tmp_path}. Three ways to get it: (1)")
    assert told["CIFAR-10N"] == f"no {tmp_path / 'cifar10n' / 'CIFAR-10_human.pt'}"
    assert told["HAM10000"] == f"not in {tmp_path}"
    assert told["HateSpeech"] == f"no {tmp_path / 'hate_speech' / 'labeled_data.csv'}"
    assert told["Galaxy Zoo"] == f"no votes in {tmp_path / 'galaxy_zoo'}"


def test_data_sets_that_are_there_are_counted(tmp_path, monkeypatch):
    shrink(monkeypatch)
    write_people(write_folder(tmp_path))
    told = found(tmp_path)
    assert told["CIFAR-10"] == f"{tmp_path / 'cifar10'}: 150 of 150 images"
    assert told["CIFAR-10H"] == str(tmp_path / "cifar10h" / "cifar10h-counts.npy")
    batches = write_batches(tmp_path)
    (batches / "test_batch").unlink()
    assert found(tmp_path)["CIFAR-10"] == f"{batches}: 2 of 3 batches"


def test_a_device_without_bfloat16_is_told(monkeypatch):
    def refuse(_, precision):
        if precision == "bfloat16":
            raise RuntimeError("no bfloat16 here\nat all")
        return torch.autocast("cpu", enabled=False)

    monkeypatch.setattr(doctor, "autocast", refuse)
    assert describe_bfloat16(CPU) == "no: no bfloat16 here"


@pytest.mark.parametrize(
    ("times", "told"), [((2.0, 1.0), "2.0 times the speed of float32"), ((1.0, 2.0), "float32 is the faster")]
)
def test_the_speed_of_bfloat16_is_told_with_advice(monkeypatch, times, told):
    left = list(times)
    monkeypatch.setattr(doctor, "_seconds", lambda work: left.pop(0))
    assert told in describe_bfloat16(CPU)


def test_auto_is_a_device_that_is_here():
    assert pick_device("auto").type in ("cpu", "cuda", "mps")
    assert pick_device("cpu") == CPU


def test_an_environment_is_plain_values():
    told = describe_environment(CPU)
    assert set(told) == {"python", "packages", "platform", "device", "device_name", "threads", "commit"}
    assert device_name(CPU)
    assert package_version("no-such-package-at-all") is None
    assert "no-such-package-at-all" not in told["packages"]


def test_without_git_there_is_no_commit(monkeypatch, tmp_path):
    def missing(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(environment.subprocess, "run", missing)
    assert commit() is None
    monkeypatch.setattr(environment, "PROGRAM", tmp_path)
    assert commit() is None


def test_the_commit_is_that_of_the_checkout():
    told = commit()
    if told is None:
        pytest.skip("this is no git checkout")
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=environment.PROGRAM, capture_output=True, text=True
    ).stdout.strip()
    assert told.removesuffix("-dirty") == head
