"""Checkpoint files: plain values only; damaged, foreign and unwritable ones are named, and nothing is lost."""

import os
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny_training import CONFIG, run, same_bits, stop_after, tiny_model, tiny_splits

from l2d_core.data import Splits
from l2d_core.models.weights import unwrap, without_compile_prefix
from l2d_core.training import checkpoints
from l2d_core.training.checkpoints import load_checkpoint, save_checkpoint


def saved(tmp_path):
    path = tmp_path / "last.pt"
    run(CONFIG, checkpoint=path, on_epoch=stop_after(2))
    return path


def test_a_checkpoint_holds_tensors_and_plain_values_only(tmp_path):
    path = saved(tmp_path)
    content = torch.load(path, weights_only=True)
    plain = (torch.Tensor, str, int, float, bool, type(None))

    def check(value):
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if isinstance(value, list | tuple):
            for item in value:
                check(item)
        else:
            assert isinstance(value, plain), type(value)

    check(content)
    assert not any(name.startswith("_orig_mod") for name in content["weights"])


def cut(path):
    path.write_bytes(path.read_bytes()[:-200])


def flip_a_byte(path):
    """In the weights, where torch itself would not notice."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
    content[largest.header_offset + len(largest.filename) + 200] ^= 0xFF
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


def other_file(path):
    path.write_text("epoch,loss\n1,0.5\n")


def other_tensors(path):
    torch.save([torch.zeros(3)], path)


DAMAGES = (cut, flip_a_byte, empty, other_file, other_tensors)


@pytest.mark.parametrize("damage", DAMAGES, ids=[damage.__name__ for damage in DAMAGES])
def test_a_damaged_checkpoint_is_named_with_what_to_do(tmp_path, damage):
    path = saved(tmp_path)
    damage(path)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=r"last.pt cannot be read .*: delete it to train from the start, or put back"):
        run(CONFIG, checkpoint=path)
    assert path.read_bytes() == content


def test_a_checkpoint_that_lacks_a_part_is_named(tmp_path):
    path = saved(tmp_path)
    content = torch.load(path, weights_only=True)
    del content["optimizer"]
    torch.save(content, path)
    with pytest.raises(ValueError, match=r"last.pt lacks a part \('optimizer'\)"):
        run(CONFIG, checkpoint=path)


def test_a_checkpoint_of_another_version_is_named(tmp_path):
    path = saved(tmp_path)
    torch.save({**torch.load(path, weights_only=True), "version": 99}, path)
    with pytest.raises(ValueError, match=r"last.pt has version 99, and this program reads version 1: delete it"):
        run(CONFIG, checkpoint=path)


class Trap:
    def __reduce__(self):
        return os.system, ("echo trapped > trapped.txt",)


@pytest.mark.parametrize(
    "write", [lambda path: path.write_bytes(pickle.dumps(Trap())), lambda p: torch.save(Trap(), p)]
)
def test_a_pickle_in_place_of_a_checkpoint_is_not_run(tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "last.pt"
    write(path)
    with pytest.raises(ValueError, match=r"last.pt cannot be read"):
        run(CONFIG, checkpoint=path)
    assert not (tmp_path / "trapped.txt").exists()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"learning_rate": 0.2, "seed": 3}, r"learning_rate \(0.05 there, 0.2 now\), seed \(0 there, 3 now\)"),
        ({"class_weights": "sqrt"}, r"class_weights \('nothing' there, 'sqrt' now\)"),
    ],
)
def test_other_settings_are_named_with_both_values(tmp_path, change, named):
    path = saved(tmp_path)
    with pytest.raises(ValueError, match=f"of another run: {named}"):
        run(replace(CONFIG, **change), checkpoint=path)


def test_other_data_are_refused(tmp_path):
    path, splits = saved(tmp_path), tiny_splits()
    other = replace(splits.train, answers=(splits.train.answers + 1) % 3)
    with pytest.raises(ValueError, match="of another run: data "):
        run(CONFIG, checkpoint=path, splits=Splits(other, splits.validation, splits.test))


def test_another_network_is_refused(tmp_path):
    path = saved(tmp_path)
    other = tiny_model()
    other[0] = torch.nn.Conv2d(3, 6, 5, padding=2, bias=False)
    with pytest.raises(ValueError, match=r"last.pt is of another network, use another folder: .*0\.weight"):
        run(CONFIG, checkpoint=path, model=other)


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_full_disk_is_named_and_costs_nothing_that_was_written(tmp_path, monkeypatch, where):
    path = saved(tmp_path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints.os if where == "fsync" else Path, where, full)
    model = tiny_model()
    with pytest.raises(OSError, match=r"last.pt cannot be written: No space left on device. What was stored before"):
        run(CONFIG, model=model, checkpoint=path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["last.pt"]
    whole, _ = run(CONFIG)
    assert same_bits(run(CONFIG, checkpoint=path)[0], whole)


def test_a_limit_of_the_system_is_named_like_a_full_disk(tmp_path):
    resource = pytest.importorskip("resource")
    path = saved(tmp_path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"last.pt cannot be written: File too large"):
            run(CONFIG, checkpoint=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before


def test_a_file_in_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(OSError, match="cannot be written"):
        run(CONFIG, checkpoint=tmp_path / "checkpoint" / "last.pt")


def test_a_rest_of_an_interrupted_write_is_written_over(tmp_path):
    path = saved(tmp_path)
    (tmp_path / "last.pt.part").write_bytes(b"half")
    run(CONFIG, checkpoint=path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["last.pt"]


def test_loading_and_saving_again_changes_nothing(tmp_path):
    path = saved(tmp_path)
    first = load_checkpoint(path)
    save_checkpoint(tmp_path / "copy.pt", first)
    again = load_checkpoint(tmp_path / "copy.pt")
    assert (again.settings, again.history) == (first.settings, first.history)
    assert all(torch.equal(first.weights[name], again.weights[name]) for name in first.weights)


def test_a_missing_checkpoint_is_no_damaged_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "none.pt")


def test_weights_of_a_compiled_model_load_into_a_plain_one():
    model = tiny_model(seed=4)
    compiled = torch.compile(model, backend="eager")
    assert unwrap(compiled) is model
    assert all(name.startswith("_orig_mod.") for name in compiled.state_dict())
    other = tiny_model()
    other.load_state_dict(without_compile_prefix(compiled.state_dict()))
    assert same_bits(other, model)
