"""Weights of training cases by how common their class is: against a slow twin, in the loss, in old checkpoints."""

from dataclasses import replace

import pytest
import torch
from tiny_training import CONFIG, run, stop_after, tiny_model, tiny_splits

from l2d_core.config import CLASS_WEIGHTS
from l2d_core.models.prediction import predict
from l2d_core.surrogates import SURROGATES
from l2d_core.training.checkpoints import load_checkpoint
from l2d_core.training.setup import case_weights

LABELS = torch.tensor([0, 0, 0, 0, 2, 2, 2, 2, 2, 5])


def slow_weights(rule, labels):
    """One case after the other, as the words say."""
    raw = []
    for label in labels:
        count = labels.count(label)
        raw.append({"none": 1, "balanced": 1 / count, "sqrt": 1 / count**0.5}[rule])
    return [weight * len(raw) / sum(raw) for weight in raw]


@pytest.mark.parametrize("rule", CLASS_WEIGHTS)
def test_weights_are_those_of_a_slow_twin_with_a_mean_of_1(rule):
    weights = case_weights(rule, LABELS)
    assert weights.tolist() == pytest.approx(slow_weights(rule, LABELS.tolist()))
    assert float(weights.mean()) == pytest.approx(1)


def test_balanced_classes_weigh_the_same_together():
    weights = case_weights("balanced", LABELS)
    together = [float(weights[label == LABELS].sum()) for label in (0, 2, 5)]
    assert together == pytest.approx([10 / 3] * 3)


def test_an_unknown_rule_lists_the_known_ones():
    with pytest.raises(ValueError, match="class_weights must be one of 'none', 'balanced', 'sqrt'; got 'inverse'"):
        case_weights("inverse", LABELS)


def test_training_weighs_the_loss_of_each_case_and_validation_does_not():
    """A rate of nearly 0 in one batch: the loss is that of the first weights, by hand."""
    splits = tiny_splits()
    config = replace(CONFIG, class_weights="balanced", learning_rate=1e-12, epochs=1, batch_size=50, augment="none")
    _, (report,) = run(config, splits=splits)
    expected = {}
    for name, data in (("train", splits.train), ("validation", splits.validation)):
        model = tiny_model()
        if name == "train":
            logits = model(data.inputs)  # in training mode, as a batch
        else:
            model(splits.train.inputs)  # moves the running statistics
            logits = predict(model, data.inputs, batch_size=50, device="cpu")
        loss = SURROGATES["one_vs_all"].loss(logits, data.labels, data.expert_correct)
        weights = torch.tensor(slow_weights("balanced", data.labels.tolist()))
        expected[name] = (weights * loss).mean().item(), loss.mean().item()
    assert report.train_loss == pytest.approx(expected["train"][0], rel=1e-5)
    assert report.validation_loss == pytest.approx(expected["validation"][1], rel=1e-5)
    for weighted, plain in expected.values():
        assert abs(weighted - plain) > 1e-3  # or this test shows nothing


def test_without_weights_a_checkpoint_is_as_those_from_before_there_were_weights(tmp_path):
    run(CONFIG, checkpoint=tmp_path / "last.pt", on_epoch=stop_after(2))
    assert "class_weights" not in load_checkpoint(tmp_path / "last.pt").settings
