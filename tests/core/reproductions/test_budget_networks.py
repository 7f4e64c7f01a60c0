"""Error against budget with whole networks, on small galaxies: what is trained, and what comes of it."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_galaxies import save_galaxies

from l2d_core.baselines import METHODS
from l2d_core.baselines.budget_errors import RULES, BudgetPoint
from l2d_core.baselines.network_losses import LOSSES
from l2d_core.cli import commands
from l2d_core.common.json_fields import check_options
from l2d_core.experiment import run_experiment
from l2d_core.models import MODELS
from l2d_core.reproductions import budget_networks, error_against_budget
from l2d_core.reproductions.budget_networks import PlannedRun, networks_of, plan_runs
from l2d_core.reproductions.error_against_budget import budgets
from l2d_core.reproductions.reproduce import names_at, reproduce, reproduce_all
from l2d_core.reproductions.request import Request
from l2d_core.reproductions.stored import read_reproduction
from l2d_core.runs.cases import DATASETS, load_splits
from l2d_core.runs.folder import open_run
from l2d_core.sweeps import cluster

BUDGETS = (0.0, 0.5, 1.0)
SMALL = replace(
    budget_networks.NETWORKS["cpu"]["galaxy_zoo"],
    dataset_options={"size": 16},
    epochs=1,
    warmup_epochs=0,
    batch_size=8,
    precision="float32",
)


def run_many(configs, *, data_root, out, **_where):
    """One after another in this process."""
    trained.extend(configs)
    for name, config in configs.items():
        run_experiment(config, data_root=data_root, device="cpu", folder=out / name)
    return pd.DataFrame({"run": list(configs), "state": "done", "message": ""})


trained: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(budget_networks.NETWORKS, "cpu", {"galaxy_zoo": SMALL})
        patch.setattr(budget_networks, "BUDGETS", BUDGETS)
        patch.setattr(error_against_budget, "SHOWN", (0.5,))
        patch.setattr(cluster, "run_many", run_many)
        yield


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    root = tmp_path_factory.mktemp("budgets")
    return Request((3,), "cpu", folder=root / "out", data_root=save_galaxies(root / "data", 60))


@pytest.fixture(scope="module")
def result(asked):
    return reproduce("budgets", asked, asked.folder)


def opened(asked, loss, budget=None):
    return open_run(asked.folder / "runs-cpu-budgets" / PlannedRun("galaxy_zoo", loss, budget, 3).name, LOSSES)


@pytest.fixture(scope="module")
def curves(result):
    """(method, rule, budget) -> row."""
    return {(one["method"], one["rule"], one["budget"]): one for one in result.details["curves"].to_dict("records")}


def test_every_method_but_one_is_there_for_each_rule_and_budget(curves):
    methods = set(METHODS) - {"confidence_as_written"}
    assert set(curves) == {(method, rule, budget) for method in methods for rule in RULES for budget in BUDGETS}


def test_a_budget_of_0_is_the_machine_alone_and_a_forced_one_of_1_the_expert_alone(curves, asked):
    classifiers = {"confidence": "score", "triage": "score", "selective": "score"}
    for (method, rule, budget), one in curves.items():
        test = opened(asked, classifiers.get(method, method) if budget == 0 else "score").test
        machine = test.logits[:, :-1].argmax(axis=1)
        if budget == 0:
            assert (one["error"], one["deferred"]) == (pytest.approx((machine != test.labels).mean()), 0)
        if budget == 1 and rule == "forced":
            assert (one["error"], one["deferred"]) == (pytest.approx(1 - test.expert_correct.mean()), 1)
        assert one["deferred"] <= budget
        assert (one["n"], one["seeds"]) == (12, 1)


def slow_error(machine, margin, budget, *, forced):
    """Of a system that defers one case after another, each time the one of the largest margin."""
    left = list(range(len(margin)))
    for _ in range(int(budget * len(margin))):
        best = max(left, key=lambda place: margin[place])
        if forced or margin[best] > 0:
            left.remove(best)
    wrong = (machine.logits[:, :-1].argmax(axis=1) != machine.labels, ~machine.expert_correct[:, 0])
    return np.mean([wrong[0][place] if place in left else wrong[1][place] for place in range(len(margin))])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("budget", BUDGETS[1:])
def test_triage_is_decided_by_its_own_network_and_confidence_by_the_experts_share(curves, asked, rule, budget):
    network = opened(asked, "triage_network", budget).test
    found = slow_error(opened(asked, "triage", budget).test, network.logits[:, -1], budget, forced=rule == "forced")
    assert curves["triage", rule, budget]["error"] == pytest.approx(found)
    run = opened(asked, "confidence", budget)
    scores = np.exp(run.test.logits[:, :-1].astype(np.float64))
    train = load_splits(run.config, asked.data_root).train
    margin = float(train.expert_correct.double().mean()) - (scores / scores.sum(axis=1, keepdims=True)).max(axis=1)
    found = slow_error(run.test, margin, budget, forced=rule == "forced")
    assert curves["confidence", rule, budget]["error"] == pytest.approx(found)


def test_each_network_is_trained_once_the_classifiers_of_triage_first_and_all_share_answers(result, asked):
    table = result.details["trainings"]
    assert len(table) == len(plan_runs("galaxy_zoo", (3,))) == 4 + 3 * 2
    assert set(table["setting"]) == {"Galaxy Zoo", "Galaxy Zoo, budget 50%", "Galaxy Zoo, budget 100%"}
    assert (table["epochs"] == 1).all()
    for budget in BUDGETS[1:]:
        names = [PlannedRun("galaxy_zoo", loss, budget, 3).name for loss in ("triage", "triage_network")]
        assert trained.index(names[0]) < trained.index(names[1])
    softmax, score = (opened(asked, loss).test.answers for loss in ("softmax", "score"))
    np.testing.assert_array_equal(softmax, score)


def test_asked_again_it_trains_nothing_and_needs_no_data(result, asked, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a run that is done is trained again")

    monkeypatch.setattr("l2d_core.experiment.train", refuse)
    again = budgets(replace(asked, data_root=Path("nowhere")))
    pd.testing.assert_frame_equal(again.details["curves"], result.details["curves"])


def test_without_checkpoints_the_experts_share_comes_from_the_data(result, asked, tmp_path):
    shutil.copytree(asked.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("checkpoint"))
    again = budgets(replace(asked, folder=tmp_path / "copy"))
    pd.testing.assert_frame_equal(again.details["curves"], result.details["curves"])


def test_as_the_authors_ran_it_there_are_none_which_is_said_at_once(tmp_path):
    before = len(trained)
    asked = Request((0,), "cpu", folder=tmp_path, reference=True)
    with pytest.raises(ValueError, match="voters of HateSpeech and Galaxy Zoo have answered once"):
        reproduce("budgets", asked)
    assert len(trained) == before
    assert not list(tmp_path.iterdir())
    assert "budgets" not in names_at("cpu", reference=True)
    assert "budgets" in names_at("cpu")
    assert "budgets" in names_at("quick", reference=True)


@pytest.mark.parametrize("reference", [False, True])
def test_all_results_look_for_all_their_data_before_the_first_training(tmp_path, monkeypatch, reference):
    small = {name: replace(SMALL, dataset=name, dataset_options={}) for name in ("galaxy_zoo", "hate_speech")}
    monkeypatch.setattr(budget_networks, "NETWORKS", {"cpu": small})
    before, asked = len(trained), Request((0,), "cpu", folder=tmp_path, data_root=tmp_path / "x", reference=reference)
    with pytest.raises(FileNotFoundError) as caught:
        next(reproduce_all(asked))
    named = [word in str(caught.value) for word in ("CIFAR-10", "gz2_votes.csv", "labeled_data.csv")]
    assert named == [True, not reference, not reference]
    assert len(trained) == before


def test_notes_say_the_experts_and_the_papers_settings_of_the_data_sets_that_are_there():
    points = {
        name: [BudgetPoint("score", "forced", 0.5, 0, 0.1, 0.5, 100)] for name in budget_networks.NETWORKS["paper"]
    }
    notes = error_against_budget._notes(Request((0, 1, 2), "paper", folder=Path("x")), points)
    (lesions,) = [note for note in notes if note.startswith("HAM10000: resnet34")]
    assert "batches of 256, sgd" in lesions
    assert "The paper: resnet34, fine-tuned, stopped after 20 epochs" in lesions
    assert any("recalls in each class. The paper: split by image; the expert is an MLP-Mixer" in note for note in notes)
    small = " ".join(
        error_against_budget._notes(Request((0,), "cpu", folder=Path("x")), {"galaxy_zoo": points["galaxy_zoo"]})
    )
    assert "MLP-Mixer" not in small
    assert "the expert is one voter" in small
    assert "The paper: resnet50, 10,000 images" in small


def test_a_result_that_broke_off_goes_on_with_what_is_left(result, asked, tmp_path, monkeypatch):
    class Stopped(Exception):
        pass

    def stop_at_triage_networks(configs, **how):
        if any(config.surrogate == "triage_network" for config in configs.values()):
            raise Stopped
        return run_many(configs, **how)

    fresh = replace(asked, folder=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "run_many", stop_at_triage_networks)
        with pytest.raises(Stopped):
            budgets(fresh)
    begun = {path.parent: path.stat().st_mtime_ns for path in tmp_path.glob("*/*/environment.json")}
    assert len(begun) == 4 + 2 * 2
    pd.testing.assert_frame_equal(budgets(fresh).details["curves"], result.details["curves"])
    assert all((folder / "environment.json").stat().st_mtime_ns == time for folder, time in begun.items())


def test_findings_of_one_seed_say_so_and_notes_say_what_is_trained(result):
    assert result.findings
    for finding in result.findings:
        assert finding.kind == "open"
        assert "one seed" in finding.text or "not significantly different" in finding.text
        assert "budgets 50% to 50%" in finding.text
    notes = " ".join(result.notes)
    assert "small_resnet, epochs at most 1" in notes
    assert "heads on fixed features" not in notes
    assert "Cases to test on: Galaxy Zoo 12." in notes


def test_it_is_kept_and_read_as_others_are(result, asked):
    stored = read_reproduction(asked.folder / "budgets")
    assert (stored.manifest.scale, stored.manifest.seeds) == ("cpu", (3,))
    pd.testing.assert_frame_equal(stored.result.details["curves"], result.details["curves"], check_dtype=False)


@pytest.mark.parametrize(("dataset", "words"), [("galaxy_zoo", "gz2_votes.csv"), ("hate_speech", "labeled_data.csv")])
def test_data_that_are_missing_are_said_before_anything_is_trained(dataset, words, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(budget_networks.NETWORKS, "cpu", {dataset: replace(SMALL, dataset=dataset)})
    before = len(trained)
    command = ["reproduce", "budgets", "--scale", "cpu", "--seeds", "1", "--out", str(tmp_path / "out")]
    assert commands.main([*command, "--data-root", str(tmp_path / "data")]) == commands.WRONG_INPUT
    assert words in capsys.readouterr().err
    assert len(trained) == before


def test_settings_of_every_scale_are_those_of_data_sets_and_networks_that_there_are():
    for scale, settings in budget_networks.NETWORKS.items():
        for name, config in settings.items():
            assert name == config.dataset
            check_options(name, DATASETS[name], config.dataset_options)
            check_options(config.model, MODELS[config.model], config.model_options)
        one = networks_of(Request((0, 1, 2), scale, folder=Path("x"), epochs=1))
        assert all((config.epochs, config.warmup_epochs) == (1, 0) for config in one.values())
    with pytest.raises(ValueError, match="scale, of whole networks"):
        networks_of(Request((0, 1)))
