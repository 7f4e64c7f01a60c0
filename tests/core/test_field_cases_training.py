"""Cases from the field on training with torch (D); field_cases.py lists all rows."""

import ast
import os
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from field_cases import tried
from made_cifar10 import shrink, write_people
from made_runs import NETWORK
from safetensors import safe_open
from small_scores import scores_from_lists
from tiny_training import CONFIG, run, same_bits, stop_after, tiny_data, tiny_model, tiny_splits, without_times
from torch import nn

from l2d_core.common.seeds import numpy_generator, torch_generator
from l2d_core.config import RunConfig
from l2d_core.datasets.human_answers import recorded_answers
from l2d_core.evaluation.curves import budget_curve, coverage_curve
from l2d_core.evaluation.margins import margin_of_scores
from l2d_core.experts.simulated import per_class, sample_answers
from l2d_core.models.prediction import autocast, predict
from l2d_core.models.weights import copy_weights, encode_weights, load_weights, without_compile_prefix
from l2d_core.surrogates import SURROGATES
from l2d_core.training.checkpoints import load_checkpoint
from l2d_core.training.loop import TrainingDiverged

LIBRARY = Path(__file__).parents[2] / "l2d_core"


class Trap:
    def __reduce__(self):
        return os.system, ("echo sprung > sprung.txt",)


@tried("D1", adamw="adamw", sgd="sgd", adam="adam")
def test_a_checkpoint_loads_without_a_full_unpickling(given, tmp_path):
    path = tmp_path / "last.pt"
    run(replace(CONFIG, epochs=1, optimizer=given, learning_rate=0.01), checkpoint=path)
    content = torch.load(path, weights_only=True)
    assert content["version"] == 1
    assert load_checkpoint(path).history


@tried("D1", pickle=pickle.dumps(Trap()), archive=None)
def test_a_pickle_in_its_place_is_not_run(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "last.pt"
    if given is None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", pickle.dumps({"version": 1, "x": Trap()}, protocol=2))
            archive.writestr("archive/version", "3")
    else:
        path.write_bytes(given)
    with pytest.raises(ValueError, match=r"last\.pt cannot be read"):
        run(CONFIG, checkpoint=path)
    assert not (tmp_path / "sprung.txt").exists()


@tried("D2", checkpoint="checkpoints.py")
def test_tensors_come_to_the_cpu_wherever_they_were(given):
    calls = [node for path in LIBRARY.rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    calls = [node for node in calls if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load"]
    assert calls
    for call in calls:
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert options["map_location"] == "'cpu'"
        assert options["weights_only"] == "True"
    assert given in {path.name for path in LIBRARY.rglob("*.py") if "torch.load(" in path.read_text(encoding="utf-8")}


@tried("D4", last_epoch_worse=None, stopped=3, patience=1)
def test_the_best_weights_come_back_on_every_way_out(given):
    # A rate that grows: from some epoch on it gets worse.
    config = replace(CONFIG, epochs=6, learning_rate=0.3, schedule="constant", patience=given if given == 1 else None)
    splits = tiny_splits()
    model, history = run(config, splits=splits, on_epoch=stop_after(3) if given == 3 else None)
    best = min(report.validation_loss for report in history)
    logits = predict(model, splits.validation.inputs, batch_size=64, device="cpu")
    loss = SURROGATES[config.surrogate].loss(logits, splits.validation.labels, splits.validation.expert_correct).mean()
    assert loss.item() == pytest.approx(best, rel=1e-5)


@tried("D4", added=1.0, taken_away=-1.0)
def test_kept_weights_are_a_copy(given):
    model = tiny_model()
    kept = copy_weights(model)
    before = {name: tensor.clone() for name, tensor in kept.items()}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(given)
    assert all(torch.equal(kept[name], before[name]) for name in kept)
    assert not all(torch.equal(kept[name], tensor) for name, tensor in model.state_dict().items())


@tried("D5", two_and_two=2, one_and_three=1, three_and_one=3)
def test_four_epochs_are_some_and_the_rest_resumed(given, tmp_path):
    config = replace(CONFIG, optimizer="adamw", learning_rate=0.01)
    whole, history = run(config)
    run(config, checkpoint=tmp_path / "last.pt", on_epoch=stop_after(given))
    resumed, again = run(config, checkpoint=tmp_path / "last.pt")
    assert same_bits(whole, resumed)
    assert without_times(history) == without_times(again)


@tried("D6", library="l2d_core", app="app")
def test_no_loader_has_workers_that_would_have_to_be_pickled(given):
    for path in (LIBRARY.parent / given).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "DataLoader(" not in text, path
        assert "num_workers=" not in text, path


@tried("D7", softmax="softmax", one_vs_all="one_vs_all")
def test_the_same_seed_gives_the_same_numbers(given):
    config = replace(CONFIG, surrogate=given, augment="crop_flip", epochs=2)
    torch.manual_seed(1)
    one, history = run(config)
    torch.manual_seed(2)
    np.random.seed(3)  # noqa: NPY002, as other code in the process may
    other, again = run(config)
    assert same_bits(one, other)
    assert without_times(history) == without_times(again)


@tried("D7", more_epochs=5, fewer_epochs=1)
def test_the_experts_answers_do_not_depend_on_the_training(given):
    labels = torch.arange(30) % 3
    before = sample_answers(per_class((0.5, 0.5, 0.5)), labels, generator=torch_generator(0, "expert"))
    run(replace(CONFIG, epochs=given))
    after = sample_answers(per_class((0.5, 0.5, 0.5)), labels, generator=torch_generator(0, "expert"))
    assert torch.equal(before, after)


@tried("D8", bfloat16=torch.bfloat16, float16=torch.float16)
def test_losses_of_huge_logits_are_finite_under_autocast(given):
    logits = (torch.randn(40, 4, generator=torch.Generator().manual_seed(0)) * 1e4).to(given).requires_grad_()
    for surrogate in SURROGATES.values():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = surrogate.loss(logits, torch.arange(40) % 3, torch.arange(40)[:, None] % 2 == 0)
        assert loss.dtype == torch.float32
        assert torch.isfinite(loss).all()
    assert autocast(torch.device("cpu"), "bfloat16").fast_dtype == torch.bfloat16


class Breaks(nn.Module):
    """Gives NaN from the third step on."""

    def __init__(self):
        super().__init__()
        self.inner, self.steps = tiny_model(), 0

    def forward(self, images):
        self.steps += self.training
        return self.inner(images) * (float("nan") if self.steps > 2 else 1.0)


@tried("D8", nan=Breaks)
def test_a_loss_that_is_not_finite_stops_the_run_with_its_step(given):
    with pytest.raises(TrainingDiverged, match="step 3"):
        run(replace(CONFIG, epochs=50), model=given())


@tried("D9", train="train", validation="validation", test="test")
def test_what_goes_to_a_device_is_float32_at_most(given):
    seen = []
    model = tiny_model()
    model.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0].dtype))
    splits = tiny_splits()
    run(replace(CONFIG, epochs=1), model=model, splits=splits)
    predict(model, getattr(splits, given).inputs, batch_size=8, device="cpu")
    assert set(seen) == {torch.float32}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@tried("D10", prefixed="_orig_mod.", plain="")
def test_weights_of_a_compiled_model_load(given):
    weights = {given + name: tensor for name, tensor in tiny_model(seed=3).state_dict().items()}
    model = tiny_model()
    model.load_state_dict(without_compile_prefix(weights))
    assert same_bits(model, tiny_model(seed=3))
    assert not RunConfig().compile  # opt-in


@tried("D10", prefixed="_orig_mod.", plain="")
def test_a_file_of_a_compiled_models_weights_loads(given, tmp_path):
    model, path = NETWORK.build(seed=3), tmp_path / "model.safetensors"
    content = encode_weights(model, NETWORK)
    path.write_bytes(content)
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    tensors = {given + name: tensor for name, tensor in safetensors.torch.load(content).items()}
    path.write_bytes(safetensors.torch.save(tensors, metadata))
    assert same_bits(load_weights(path)[0], model)
    name = given + next(iter(model.state_dict()))
    path.write_bytes(safetensors.torch.save({**tensors, "other." + name: tensors[name].clone()}, metadata))
    with pytest.raises(ValueError, match="its tensors are not those of its network"):
        load_weights(path)


def shuffle(labels):
    return np.random.default_rng(0).permutation(labels)


@tried("D11", shuffled=shuffle, short=lambda labels: labels[:-1], other=lambda labels: (labels + 1) % 10)
def test_peoples_labels_in_another_order_are_refused(given, tmp_path, monkeypatch):
    shrink(monkeypatch)
    root = write_people(tmp_path)
    path = next(root.rglob("CIFAR-10_human*"))
    content = torch.load(path, weights_only=False)  # ours, of a line above
    torch.save({**content, "clean_label": given(content["clean_label"])}, path)
    with pytest.raises(ValueError, match=r"clean_label|published order|must have shape"):
        recorded_answers(root, ["train/cat/0000"], "random_label1", generator=numpy_generator(0, "test"))


@tried("D11", empty=b"", page=b"<html>", pickle=pickle.dumps(Trap()))
def test_a_file_of_labels_that_is_none_is_refused(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shrink(monkeypatch)
    root = write_people(tmp_path)
    next(root.rglob("CIFAR-10_human*")).write_bytes(given)
    with pytest.raises((ValueError, FileNotFoundError), match="CIFAR-10_human"):
        recorded_answers(root, ["train/cat/0000"], "random_label1", generator=numpy_generator(0, "test"))
    assert not (tmp_path / "sprung.txt").exists()


@tried("D12", never_right=1, always_right=0)
def test_where_asking_never_or_always_helps_the_curve_ends_there(given):
    data = tiny_data(60)
    logits = np.random.default_rng(0).normal(size=(60, 4))
    answers = (data.labels + given) % 3
    scores = scores_from_lists(logits.tolist(), data.labels.tolist(), answers.tolist())
    curve = coverage_curve(scores, margin_of_scores(scores))
    ends = dict(zip(curve["coverage"], curve["system_accuracy"], strict=True))
    assert ends[float(given)] == curve["system_accuracy"].max() > ends[1.0 - given]
    budgets = budget_curve(scores, margin_of_scores(scores), [0, 0.5, 1], forced=True)["system_accuracy"]
    assert budgets.is_monotonic_decreasing if given else budgets.is_monotonic_increasing
