"""The methods that the paper compares with as losses of whole networks: the same mathematics as the heads'."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from made_runs import CONFIG, add_made
from tiny_training import run, tiny_splits

from l2d_core.baselines import case_numbers
from l2d_core.baselines.case_numbers import NUMBERS, find_numbers, load_numbers
from l2d_core.baselines.network_losses import LOSSES, NETWORK_LOSSES
from l2d_core.baselines.triage import expert_loss
from l2d_core.common.array_files import save_arrays
from l2d_core.config import ExpertConfig
from l2d_core.experiment import run_experiment
from l2d_core.models.prediction import predict
from l2d_core.runs import cases
from l2d_core.runs.cases import expert_probability, load_splits
from l2d_core.runs.folder import CHECKPOINT, open_run
from l2d_core.runs.table import markdown_table
from l2d_core.surrogates import SURROGATES
from l2d_core.sweeps.results import measures_of
from l2d_core.training.loop import train
from l2d_core.training.setup import CaseNumbers

CPU = torch.device("cpu")
BUDGETS = (0, 0.3, 0.5, 1)
TAKE_BUDGET = ("confidence", "triage")


def batch(seed=0, num_cases=11):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(num_cases, 4, generator=generator, dtype=torch.float64)
    labels = torch.randint(3, (num_cases,), generator=generator)
    return logits, labels, torch.rand(num_cases, 1, generator=generator) < 0.6


def told(name, num_cases=11):
    """What else the loss gets for each case."""
    drawn = torch.rand(num_cases, generator=torch.Generator().manual_seed(5))
    numbers = {"confidence": torch.full_like(drawn, 0.7), "triage": -drawn.log(), "triage_network": drawn.round()}
    return {"number": numbers[name]} if name in numbers else {}


CASES = [(name, budget) for name in NETWORK_LOSSES for budget in (BUDGETS if name in TAKE_BUDGET else (None,))]


def options(budget):
    return {} if budget is None else {"budget": budget}


@pytest.mark.parametrize(("name", "budget"), CASES)
def test_the_slope_of_each_loss_is_the_closed_gradient_of_the_heads(name, budget):
    for seed in range(5):
        logits, labels, correct = batch(seed)
        given = {**told(name), **options(budget)}
        leaf = logits.clone().requires_grad_()
        slope = torch.autograd.grad(NETWORK_LOSSES[name].loss(leaf, labels, correct, **given).sum(), leaf)[0]
        expected = NETWORK_LOSSES[name].gradient(logits, labels, correct, **given)
        torch.testing.assert_close(slope, expected, atol=1e-6, rtol=1e-6, check_dtype=False)


def slow_entropy(row, label):
    return -math.log(math.exp(row[label]) / sum(map(math.exp, row[:-1])))


def slow_binary(score, target):
    p = 1 / (1 + math.exp(-score))
    return -math.log(p if target else 1 - p)


def slow_kept_mean(losses, gains, budget):
    """The mean loss of what is left when those of the largest positive gains are sent away, one after another."""
    left = list(range(len(losses)))
    for _ in range(math.floor(budget * len(losses) + 1e-9)):
        best = max(left, key=lambda place: gains[place], default=None)
        if best is not None and gains[best] > 0:
            left.remove(best)
    return sum(losses[place] for place in left) / max(len(left), 1)


@pytest.mark.parametrize(("name", "budget"), CASES)
def test_each_loss_is_what_its_rule_says_case_by_case(name, budget):
    logits, labels, correct = batch()
    rows, truth = logits.tolist(), labels.tolist()
    entropy = [slow_entropy(row, label) for row, label in zip(rows, truth, strict=True)]
    number = told(name).get("number", torch.zeros(11)).tolist()
    top = [max(math.exp(value) for value in row[:-1]) / sum(map(math.exp, row[:-1])) for row in rows]
    right = [slow_binary(row[-1], flag) for row, flag in zip(rows, correct[:, 0].tolist(), strict=True)]
    expected = {
        "score": lambda: np.mean(entropy),
        "compare_confidence": lambda: np.mean(entropy) + np.mean(right),
        "confidence": lambda: slow_kept_mean(entropy, [0.7 - p for p in top], budget),
        "triage": lambda: slow_kept_mean(entropy, [e - n for e, n in zip(entropy, number, strict=True)], budget),
        "triage_network": lambda: np.mean([slow_binary(r[-1], n) for r, n in zip(rows, number, strict=True)]),
    }[name]()
    found = NETWORK_LOSSES[name].loss(logits, labels, correct, **told(name), **options(budget))
    assert found.shape == (11,)
    assert float(found.mean()) == pytest.approx(expected, abs=1e-6)


def validation_loss(name):
    found = NETWORK_LOSSES[name].validation_loss
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "budget"), [case for case in CASES if case[0] in TAKE_BUDGET])
def test_a_validation_loss_is_that_of_who_decides_each_case(name, budget):
    logits, labels, correct = batch()
    rows, number = logits.tolist(), told(name)["number"].tolist()
    own = [slow_entropy(row, label) for row, label in zip(rows, labels.tolist(), strict=True)]
    if name == "triage":
        gains, expert = [o - n for o, n in zip(own, number, strict=True)], number
    else:
        gains = [0.7 - max(math.exp(value) for value in row[:-1]) / sum(map(math.exp, row[:-1])) for row in rows]
        expert = [-math.log(0.7 if flag else 0.3) for flag in correct[:, 0].tolist()]
    order = sorted(range(11), key=lambda place: -gains[place])
    away = [place for place in order[: math.floor(budget * 11 + 1e-9)] if gains[place] > 0]
    found = validation_loss(name)(logits, labels, correct, **told(name), budget=budget)
    assert found.tolist() == pytest.approx([expert[i] if i in away else own[i] for i in range(11)], abs=1e-6)
    assert bool(away) == (budget > 0)


@pytest.mark.parametrize("name", TAKE_BUDGET)
def test_a_network_that_knows_nothing_and_sends_all_away_has_the_experts_loss_and_not_none(name):
    _, labels, correct = batch()
    number = {"confidence": torch.full((11,), 0.7), "triage": torch.linspace(0.1, 0.9, 11)}[name]
    given = (torch.zeros(11, 4), labels, correct)
    assert not NETWORK_LOSSES[name].loss(*given, number=number, budget=1).any()
    right = float(correct.float().mean())
    expected = {"confidence": -right * math.log(0.7) - (1 - right) * math.log(0.3), "triage": 0.5}[name]
    found = validation_loss(name)(*given, number=number, budget=1).mean()
    assert float(found) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_an_expert_who_is_never_or_always_right_has_a_finite_loss(right):
    logits, labels, correct = batch()
    for flags in (correct, ~correct):
        given = (0 * logits, labels, flags)
        found = validation_loss("confidence")(*given, number=torch.full((11,), right), budget=1)
        assert found.isfinite().all()


@pytest.mark.parametrize("name", TAKE_BUDGET)
def test_epochs_are_compared_by_the_validation_loss(name):
    config = replace(CONFIG, surrogate=name, surrogate_options={"budget": 0.5}, epochs=1)
    splits, told_cases = tiny_splits(), CaseNumbers(torch.full((50,), 0.6), torch.full((30,), 0.6))
    model, _ = run(replace(CONFIG, epochs=1))
    (report,) = train(model, LOSSES[name], splits, config, device="cpu", numbers=told_cases)
    data = splits.validation
    given = (predict(model, data.inputs, batch_size=30, device=CPU), data.labels, data.expert_correct)
    found = validation_loss(name)(*given, number=told_cases.validation, budget=0.5).mean()
    assert report.validation_loss == pytest.approx(float(found), abs=1e-6)
    kept = LOSSES[name].loss(*given, number=told_cases.validation, budget=0.5).mean()
    assert report.validation_loss != pytest.approx(float(kept), abs=1e-3)


@pytest.mark.parametrize("name", TAKE_BUDGET)
def test_without_a_budget_a_method_that_knows_it_is_the_ordinary_classifier(name):
    logits, labels, correct = batch()
    plain = NETWORK_LOSSES["score"].loss(logits, labels, correct)
    assert torch.equal(NETWORK_LOSSES[name].loss(logits, labels, correct, **told(name), budget=0), plain)


def test_where_the_expert_does_better_in_every_case_there_is_nothing_to_train_on():
    logits, labels, correct = batch()
    found = NETWORK_LOSSES["triage"].loss(logits, labels, correct, number=torch.zeros(11), budget=1)
    assert not found.any()


def test_no_loss_has_the_name_of_a_surrogate_and_all_are_found_by_their_own():
    assert not NETWORK_LOSSES.keys() & SURROGATES.keys()
    assert LOSSES.keys() == NETWORK_LOSSES.keys() | SURROGATES.keys()
    assert all(name == one.name for name, one in LOSSES.items())


TRIAGE = replace(CONFIG, surrogate="triage", surrogate_options={"budget": 0.5})
NETWORK = replace(TRIAGE, surrogate="triage_network", surrogate_options={"budget": 0.5, "classifier": "classifier"})


def numbers(num_train=50):
    return CaseNumbers(torch.rand(num_train), torch.rand(30))


@pytest.mark.parametrize(
    ("surrogate", "given", "message"),
    [
        ("triage", None, "-ln P"),
        ("score", numbers(), "none"),
        ("triage", numbers(49), "each of the 50 cases"),
        ("triage", CaseNumbers(torch.rand(50), torch.rand(30).double()), "finite float32"),
        ("triage", CaseNumbers(torch.full((50,), math.inf), torch.rand(30)), "finite float32"),
    ],
)
def test_numbers_that_do_not_fit_the_loss_or_the_cases_are_refused(surrogate, given, message):
    config = replace(CONFIG, surrogate=surrogate)
    model, _ = run(replace(CONFIG, epochs=1))
    with pytest.raises(ValueError, match=message):
        train(model, LOSSES[surrogate], tiny_splits(), config, device="cpu", numbers=given)


@pytest.fixture
def made(monkeypatch):
    add_made(monkeypatch)


def start(config, folder, **how):
    return run_experiment(config, data_root="", device="cpu", folder=folder, **how)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("name", ["score", "compare_confidence", "confidence"])
def test_a_method_is_trained_and_kept_as_a_surrogate_is_and_is_not_taken_for_one(name, tmp_path):
    config = replace(CONFIG, surrogate=name, epochs=2)
    made = start(config, tmp_path / "run")
    assert made.is_done
    assert made.test.surrogate == name
    assert made.history["train_loss"].notna().all()
    assert made.history["system_accuracy"].isna().all()
    assert "Machine alone" in markdown_table([made], "test")
    assert measures_of(made)["epochs_done"] == 2
    np.testing.assert_array_equal(open_run(tmp_path / "run", LOSSES).test.logits, made.test.logits)
    with pytest.raises(ValueError, match="surrogate must be one of 'softmax'"):
        open_run(tmp_path / "run")


@pytest.mark.usefixtures("made")
def test_with_no_budget_triage_trains_the_same_network_as_the_score(tmp_path):
    triage = start(replace(TRIAGE, surrogate_options={"budget": 0.0}), tmp_path / "triage")
    score = start(replace(CONFIG, surrogate="score"), tmp_path / "score")
    np.testing.assert_array_equal(triage.test.logits, score.test.logits)


@pytest.mark.usefixtures("made")
def test_a_triage_network_is_told_the_best_triage_of_each_part_by_its_classifiers_losses(tmp_path):
    classifier = start(TRIAGE, tmp_path / "classifier").load_model()
    splits = load_splits(NETWORK, "")
    found = find_numbers(NETWORK, splits, "", tmp_path / "network", CPU)
    assert found is not None
    for data, own in ((splits.train, found.train), (splits.validation, found.validation)):
        with torch.no_grad():
            rows = classifier(data.inputs).double().tolist()
        accuracy = [CONFIG.expert.accuracy[label] for label in data.labels.tolist()]
        gains = [
            slow_entropy(row, label) + math.log(p)
            for row, label, p in zip(rows, data.labels.tolist(), accuracy, strict=True)
        ]
        order = sorted(range(len(gains)), key=lambda place: -gains[place])
        chosen = {place for place in order[: len(gains) // 2] if gains[place] > 0}
        assert own.tolist() == [float(place in chosen) for place in range(len(gains))]
        assert 0 < len(chosen) < len(gains)


@pytest.mark.usefixtures("made")
def test_a_triage_network_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    start(TRIAGE, tmp_path / "classifier")
    whole = start(NETWORK, tmp_path / "whole")
    stopped = start(NETWORK, tmp_path / "stopped", on_epoch=lambda report: report.epoch < 1)
    assert not stopped.is_done
    again = start(NETWORK, tmp_path / "stopped")
    np.testing.assert_array_equal(again.test.logits, whole.test.logits)
    assert len(again.history) == len(whole.history) == CONFIG.epochs


def stopped_network(tmp_path):
    start(TRIAGE, tmp_path / "classifier")
    start(NETWORK, tmp_path / "network", on_epoch=lambda report: report.epoch < 1)
    return tmp_path / "network"


def kept_in(folder):
    found = load_numbers(folder)
    assert found is not None
    return found


@pytest.mark.usefixtures("made")
def test_a_triage_that_would_come_out_another_way_now_does_not_keep_its_network_from_going_on(tmp_path, monkeypatch):
    folder = stopped_network(tmp_path)
    before = kept_in(folder)
    monkeypatch.setattr(case_numbers, "best_triage", lambda machine, *_: np.arange(len(machine)) % 2 == 0)
    assert start(NETWORK, folder).is_done
    assert torch.equal(kept_in(folder).train, before.train)
    assert [path.name for path in (folder / "checkpoint").iterdir() if path.suffix == ".part"] == []


KEPT = {"train": np.zeros(40, np.float32), "validation": np.zeros(20, np.float32)}
BAD = {
    "too few": {**KEPT, "train": np.zeros(39, np.float32)},
    "not finite": {**KEPT, "train": np.full(40, np.nan, np.float32)},
    "of other numbers": {**KEPT, "validation": np.zeros(20)},
    "a part missing": {"train": KEPT["train"]},
    "no arrays": None,
}


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("arrays", [KEPT, *BAD.values()], ids=["good", *BAD])
def test_kept_numbers_are_taken_where_they_fit_and_there_is_a_checkpoint(arrays, tmp_path):
    folder, splits = stopped_network(tmp_path), load_splits(NETWORK, "")
    whole = kept_in(folder)
    (folder / NUMBERS).write_bytes(b"no archive")
    if arrays is not None:
        save_arrays(folder / NUMBERS, arrays)
    found = find_numbers(NETWORK, splits, "", folder, CPU)
    assert found is not None
    assert torch.equal(found.train, torch.zeros(40) if arrays is KEPT else whole.train)
    (folder / CHECKPOINT).unlink()
    anew = find_numbers(NETWORK, splits, "", folder, CPU)
    assert anew is not None
    assert torch.equal(anew.train, whole.train)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("name", ["", "..", "../classifier", "elsewhere/classifier"])
def test_a_classifier_must_be_named_by_a_folder_beside(tmp_path, name):
    config = replace(NETWORK, surrogate_options={"budget": 0.5, "classifier": name})
    with pytest.raises(ValueError, match="classifier must name the folder"):
        start(config, tmp_path / "network")


@pytest.mark.usefixtures("made")
def test_a_classifier_that_is_not_done_or_another_one_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not done: train it before"):
        start(NETWORK, tmp_path / "network")
    start(replace(TRIAGE, surrogate_options={"budget": 0.25}, epochs=1), tmp_path / "classifier")
    with pytest.raises(ValueError, match="holds a run with other settings"):
        start(NETWORK, tmp_path / "network")


@pytest.mark.usefixtures("made")
def test_the_experts_loss_is_that_of_what_its_answers_are_drawn_from():
    splits = load_splits(TRIAGE, "")
    found = find_numbers(TRIAGE, splits, "", "network", CPU)
    assert found is not None
    expected = [-math.log((0.9, 0.5, 0.2)[label]) for label in splits.train.labels.tolist()]
    np.testing.assert_allclose(found.train, expected, rtol=1e-6)
    np.testing.assert_allclose(found.train, expert_loss(expert_probability(TRIAGE, splits.train, "")), rtol=1e-6)
    assert find_numbers(CONFIG, splits, "", "network", CPU) is None


@pytest.mark.usefixtures("made")
def test_confidence_is_told_how_often_the_expert_is_right_in_training():
    config = replace(CONFIG, surrogate="confidence")
    splits = load_splits(config, "")
    found = find_numbers(config, splits, "", "network", CPU)
    assert found is not None
    share = splits.train.expert_correct.float().mean()
    assert torch.allclose(found.train, share.expand(40))
    assert torch.allclose(found.validation, share.expand(20))


def test_triage_is_refused_for_an_expert_of_whom_only_answers_are_known():
    expert = ExpertConfig("human", name="worse_label")
    config = replace(TRIAGE, dataset="cifar10", expert=expert)
    assert "cifar10" not in cases.VOTERS
    with pytest.raises(ValueError, match="known of simulated experts"):
        expert_probability(config, tiny_splits().train, "")
