"""The figures and tables of the paper on small data: what they hold, and what is said of them."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from made_runs import CONFIG, add_made
from tiny_training import NAMES

from l2d_core.common.environment import package_version
from l2d_core.config import ExpertConfig, RunConfig
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import Statistic
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.experiment import run_experiment
from l2d_core.experts.simulated import PRESETS
from l2d_core.reproductions import REPRODUCTIONS, answer_draws, request, trained
from l2d_core.reproductions.accuracy import COVERAGES, KS, accuracy_as_plotted
from l2d_core.reproductions.experiment import BOTH_RANDOM, FOUR_SETTINGS, HALF, LOGGED, first_k, sure_of
from l2d_core.reproductions.findings import NOT_SIGNIFICANT, ONE_SEED, Difference, Finding, say_level, say_order
from l2d_core.reproductions.reproduce import as_markdown, design_of, reproduce_all
from l2d_core.reproductions.request import Request
from l2d_core.reproductions.stored import read_reproduction
from l2d_core.reproductions.temperature_scaling import Scaling, authors_scaling, log_odds_temperature, scaled_deferral
from l2d_core.runs import cases
from l2d_core.sweeps import cluster

DIGITS = Request((0, 1), dataset="digits")
ON_DIGITS = ["figure1", "figure2", "table1", "classifier_ece", "k", "coverage", "temperature"]


@pytest.fixture(scope="module")
def results():
    return {name: REPRODUCTIONS[name](DIGITS) for name in ON_DIGITS}


@pytest.fixture(scope="module")
def numbers(results):
    """Result -> {(setting, surrogate, estimator, measure): row}."""
    keys = ("setting", "surrogate", "estimator", "measure")
    return {
        name: {tuple(one[key] for key in keys): one for one in result.table.to_dict("records")}
        for name, result in results.items()
    }


def test_every_row_of_every_result_has_its_n_its_interval_and_its_number(results):
    for result in results.values():
        table = result.table
        assert (table["n"] > 0).all()
        assert (table["seeds"] == 2).all()
        assert table["mean"].notna().all()
        # t_{0.975, 1} = 12.706
        np.testing.assert_allclose(
            table["half_width"].astype(float), 12.7062 * table["standard_error"].astype(float), rtol=1e-4
        )
        assert result.findings
        assert result.notes
        assert as_markdown(result).count("\n## ") == table["setting"].nunique() + 1


def test_the_papers_numbers_stand_beside_ours(numbers):
    def papers(name):
        return {key: one["paper"] for key, one in numbers[name].items() if not pd.isna(one["paper"])}

    by_text_and_logs = ("75/20 expert", "the authors' logged expert")
    assert papers("figure1") == {(one, "softmax", "odds", "above_one_of_deferred"): 0.394 for one in by_text_and_logs}
    odds = {(one, "softmax", "odds", "ece"): 0.0758 for one in by_text_and_logs}
    assert papers("figure2") == odds | {(one, "one_vs_all", "sigmoid", "ece"): 0.0301 for one in by_text_and_logs}
    logged = papers("k")
    assert logged["k = 8", "one_vs_all", "sigmoid", "machine_on_kept"] == 0.9443
    assert logged["k = 8", "softmax", "odds", "coverage"] == papers("coverage")["k = 8", "softmax", "odds", "coverage"]
    assert len(logged) == 4 * 2 * 3
    assert not [key for key in logged if "70 %" in key[0]]  # ours has no number of the paper's beside it
    assert sorted(papers("table1").values()) == sorted(
        [0.0053, 0.0097, 0.0004, 0.0068, 0.0372, 0.0283, 0.0205, 0.0207, 0.3906, 0.0168, 0.0332, 0.3715]
    )
    assert papers("table1")["useful expert", "softmax", "proxy", "ece"] == 0.3715
    assert papers("classifier_ece")["random expert", "one_vs_all", "", "classifier_ece"] == 0.0647
    assert len(papers("classifier_ece")) == 8


def test_the_histogram_of_figure_1_holds_all_cases_and_as_many_above_1_as_the_table_says(results, numbers):
    histogram = results["figure1"].details["histogram"].query("setting == '75/20 expert'")
    np.testing.assert_allclose(histogram.groupby("estimator")["share"].sum(), 1)
    above = histogram[histogram["low"] >= 1].groupby("estimator")["share"].sum()
    assert above["odds"] == pytest.approx(numbers["figure1"]["75/20 expert", "softmax", "odds", "above_one"]["mean"])
    assert above["odds"] > 0
    assert above["sigmoid"] == above["proxy"] == 0


def test_the_reliability_diagrams_of_figure_2_weigh_as_their_ece(results, numbers):
    tables = results["figure2"].details["reliability"]
    for _, own in tables.groupby(["setting", "estimator"]):
        assert own["cases"].sum() == pytest.approx(359)
    risks = results["figure2"].details["risk_histograms"].query("setting == '75/20 expert'")
    assert set(risks["estimator"]) == {"odds", "proxy", "sigmoid", "true"}
    true = risks[(risks["estimator"] == "true") & (risks["share"] > 0)]
    assert true["low"].tolist() == [0.25, 0.8]
    near_zero = numbers["figure2"]["75/20 expert", "softmax", "odds", "risk_near_zero"]["mean"]
    assert near_zero >= numbers["figure1"]["75/20 expert", "softmax", "odds", "above_one"]["mean"]


def test_the_proxy_of_a_random_expert_is_near_its_optimum(results):
    table = results["table1"].details["proxy_at_optimum"].set_index("setting")
    useful = table.loc["useful expert"]
    assert useful["expert_alone"] == pytest.approx(0.73, abs=0.05)
    assert useful["proxy_ece_at_optimum"] == pytest.approx(
        useful["expert_alone"] - useful["expert_alone"] / (1 + useful["expert_alone"])
    )


def test_with_random_data_the_machine_knows_nothing(numbers):
    for one in FOUR_SETTINGS:
        system = numbers["table1"][one.title, "one_vs_all", "sigmoid", "expert_alone"]["mean"]
        assert system == pytest.approx(0.73 if one.preset == "useful" else 0.1, abs=0.06)
    assert numbers["table1"]["random data, random expert", "softmax", "odds", "system"]["mean"] < 0.25


def test_accuracy_against_k_and_coverage_has_a_point_for_each(results):
    for table in (results["k"].details["curve"], results["k"].details["ours"], results["coverage"].details["points"]):
        assert sorted(table["k"]) == sorted([*KS, *KS])
    curves = results["coverage"].details["curves"]
    assert sorted(curves["coverage"].unique()) == pytest.approx(COVERAGES.tolist())
    all_kept = curves[curves["coverage"] == 1]
    # The machine keeps all and is the system, in whichever order.
    assert all_kept.groupby("surrogate")["mean"].nunique().max() == 1
    assert set(curves["order"]) == {"probabilities", "logits"}


def test_answers_drawn_once_are_learned_by_heart_and_cost_calibration(monkeypatch):
    monkeypatch.setattr(answer_draws, "EPOCHS", 60)
    result = REPRODUCTIONS["answers"](Request((11, 12)))  # seeds of no other test: fits are cached
    found = result.table.set_index(["setting", "estimator", "measure"])["mean"]
    once, anew = answer_draws.DRAWN.values()
    assert found[once, "sigmoid", "answers_by_heart"] > 0.25
    assert abs(found[anew, "sigmoid", "answers_by_heart"]) < 0.08
    assert found[once, "sigmoid", "ece"] > found[anew, "sigmoid", "ece"]
    with pytest.raises(ValueError, match="only the scale quick"):
        REPRODUCTIONS["answers"](Request((0, 1), "cpu", folder=Path("x")))


def test_a_classifier_is_too_sure_where_it_says_more_than_comes_true(results):
    table = results["classifier_ece"].details["confidence"]
    for one in table.to_dict("records"):
        words = "too sure" if one["confidence"] > one["accuracy"] else "not sure enough"
        name = {"one_vs_all": "one-vs-all"}.get(one["surrogate"], one["surrogate"])
        start = f"{one['setting']}, the classifier of {name} is {words}"
        assert any(finding.text.startswith(start) for finding in results["classifier_ece"].findings)


def test_accuracy_as_the_authors_plot_it_leaves_out_what_their_code_leaves_out():
    logits = [
        [1.0, -1, -1, -1],  # right, counted
        [-1.0, -1, -1, -2],  # no score above 0
        [2.0, 1, -1, -1],  # exactly two classes above 0
        [2.0, 1, 1, 3],  # deferred to an expert who is wrong, counted
    ]
    scores = Scores.from_arrays(np.array(logits), np.zeros(4, int), np.array([0, 0, 0, 1]), surrogate="one_vs_all")
    assert accuracy_as_plotted(scores) == Statistic(0.5, 2)


def test_every_paper_expert_is_a_setting_of_one_configuration():
    names = [str(digit) for digit in range(10)]
    assert HALF.accuracy(names) == (0.75,) * 5 + (0.2,) * 5
    assert first_k(2).accuracy(names) == (0.7,) * 2 + (0.1,) * 8
    assert sure_of(2).accuracy(names) == (1.0,) * 3 + (0.1,) * 7
    assert LOGGED.accuracy(names) == pytest.approx((0.73,) * 6 + (0.1,) * 4)
    for one in (HALF, LOGGED, sure_of(8), *FOUR_SETTINGS):
        assert one.preset in PRESETS
        expert = one.expert(names)
        assert cases.expert_confusion(expert, 10).tolist() == one.confusion(names).tolist()


def test_as_the_authors_ran_it_networks_have_the_logged_expert():
    asked = Request((0, 1), "cpu", folder=Path("x"), reference=True, epochs=3)
    assert (asked.network.reference, asked.network.epochs) == (True, 3)
    with pytest.raises(ValueError, match="whole networks"):
        _ = DIGITS.network


def assert_finding(finding, kind, part):
    assert finding.kind == kind
    assert part in finding.text


def test_a_level_is_compared_with_the_interval():
    # mean 0.2, half width 12.706 * 0.0141421 / sqrt 2 = 0.12706
    assert_finding(say_level("x", [0.19, 0.21], 0.3), "agrees", "agree")
    assert_finding(say_level("x", [0.19, 0.21], 0.07), "differs", "ours is higher")
    assert_finding(say_level("x", [0.19, 0.21], 0.33), "differs", "ours is lower")
    assert_finding(say_level("x", [0.2], 0.3), "open", "one seed")
    assert_finding(say_level("x", [None], 0.3), "open", "no number of ours")


def test_an_order_is_decided_by_paired_differences():
    def say(first, other, **paper):
        return say_order("x", ("a", "b"), (first, other), **{"paper": None, **paper})

    noisy = [0.1, 0.5, 0.9]
    lower = [value - shift for value, shift in zip(noisy, (0.10, 0.11, 0.09), strict=True)]
    agreed = "a is lower, as in the paper; they differ by 10.00 ± 2.48 points"
    assert_finding(say(lower, noisy, paper=(0.1, 0.2)), "agrees", agreed)
    assert_finding(say(lower, noisy, paper_sign=1), "differs", "a is lower, unlike in the paper")
    assert_finding(say(noisy, lower), "beside", "a is higher; they differ")
    assert_finding(
        say([0.1, 0.3], [0.2, 0.1], paper=(0.1, 0.2)),
        "open",
        "the two are not significantly different over these seeds",
    )
    assert_finding(say([None], [0.1]), "open", "nothing to compare")
    assert_finding(say([0.1], [0.2], paper=(0.1, 0.2)), "open", "a is lower, as in the paper (one seed")
    assert [Difference(mean, half).sign for mean, half in ((0.0, None), (0.2, 0.1), (-0.2, None), (0.1, 0.2))] == [
        *(0, 1, -1, 0)
    ]
    with pytest.raises(ValueError, match="kind"):
        Finding("told", "x")


def test_a_temperature_is_fitted_and_applied_on_one_scale_and_moves_no_class():
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(800, 4))
    logits[:, -1] += 1
    right = generator.random(800) < 1 / (1 + np.exp(-logits[:, -1] / 2))
    labels = generator.integers(0, 3, 800)
    scores = Scores.from_arrays(logits, labels, np.where(right, labels, (labels + 1) % 3), surrogate="one_vs_all")
    z = logits[:, -1]
    found = log_odds_temperature(scores).temperature

    def loss(temperature, values, shift=0.0):
        p = 1 / (1 + np.exp(-(values - shift) / temperature))
        return -np.where(right, np.log(p), np.log1p(-p)).mean()

    assert found == pytest.approx(2, rel=0.25)
    assert loss(found, z) <= min(loss(found * 1.05, z), loss(found / 1.05, z))
    assert (scaled_deferral(scores, Scaling()) == defer_by_argmax(scores.logits)).all()
    by_hand = [row[-1] / found >= max(row[:-1]) for row in scores.logits]
    assert scaled_deferral(scores, Scaling(found)).tolist() == by_hand
    theirs, squashed = authors_scaling(scores), 1 / (1 + np.exp(-z))
    best = loss(1 / theirs.temperature, squashed, theirs.shift)
    for factor, moved in ((1.05, 0), (1 / 1.05, 0), (1, 0.02), (1, -0.02)):
        assert best <= loss(1 / (theirs.temperature * factor), squashed, theirs.shift + moved)
    by_hand = [theirs.temperature * (row[-1] - theirs.shift) >= max(row[:-1]) for row in scores.logits]
    assert scaled_deferral(scores, theirs).tolist() == by_hand


@pytest.fixture
def small_networks(monkeypatch):
    """Networks of seconds in place of those of CIFAR-10, one after another in this process."""
    add_made(monkeypatch)
    monkeypatch.setattr(trained, "CLASS_NAMES", NAMES)
    monkeypatch.setitem(request.NETWORKS, "cpu", replace(CONFIG, epochs=1))
    called = []

    def run_many(configs, *, data_root, out, **_where):
        called.append(list(configs))
        for name, config in configs.items():
            run_experiment(config, data_root=data_root, device="cpu", folder=out / name)
        return pd.DataFrame({"run": list(configs), "state": "done"})

    monkeypatch.setattr(cluster, "run_many", run_many)
    return called


def test_whole_networks_are_trained_in_folders_and_measured_as_heads_are(small_networks, tmp_path):
    asked = Request((0, 3), "cpu", folder=tmp_path)
    result = REPRODUCTIONS["figure1"](asked)
    assert small_networks == [[f"half-{name}-seed={seed}" for name in ("softmax", "one_vs_all") for seed in (0, 3)]]
    config = RunConfig.load(tmp_path / "runs-cpu" / "half-softmax-seed=3" / "config.json")
    assert (config.seed, config.surrogate, config.random_labels) == (3, "softmax", False)
    assert config.expert == ExpertConfig(accuracy=(0.75, 0.75, 0.2))
    assert (result.table["seeds"] <= 2).all()
    assert any("small_resnet" in note for note in result.notes)
    runs = result.details["trainings"]
    assert list(zip(runs["surrogate"], runs["seed"], strict=True)) == [
        (name, seed) for name in ("softmax", "one_vs_all") for seed in (0, 3)
    ]
    assert set(runs["epochs"]) == {1}
    assert (runs["seconds"] > 0).all()
    assert "4 networks, each trained for 1 epoch in " in as_markdown(result).splitlines()[-1]
    assert "networks" not in as_markdown(replace(result, details={})).splitlines()[-1]


def test_networks_that_are_not_done_are_named(small_networks, monkeypatch, tmp_path):
    monkeypatch.setattr(
        cluster, "run_many", lambda configs, **_: pd.DataFrame({"run": [*configs], "state": "failed", "message": "why"})
    )
    with pytest.raises(ValueError, match=r"4 of 4 runs in .* half-softmax-seed=0"):
        trained.train_systems(Request((0, 1), "cpu", folder=tmp_path), [HALF])
    assert not small_networks


def test_random_data_is_a_setting_of_a_run(monkeypatch):
    add_made(monkeypatch)
    plain = replace(CONFIG, expert=ExpertConfig(accuracy=(1.0, 1.0, 1.0)))
    random, again = (cases.load_splits(replace(plain, random_labels=True), "") for _ in range(2))
    true = cases.load_splits(plain, "")
    assert not torch.equal(random.train.labels, true.train.labels)
    assert not torch.equal(random.validation.labels, true.validation.labels)
    assert torch.equal(random.test.labels, true.test.labels)
    assert torch.equal(random.train.labels, again.train.labels)
    assert random.train.expert_correct.all()  # who is always right names the drawn label
    with pytest.raises(ValueError, match="random_labels need a simulated expert"):
        replace(plain, expert=ExpertConfig("human", name="worse_label"), random_labels=True)


def test_the_papers_network_has_the_papers_settings():
    wide = request.NETWORKS["paper"]
    assert (wide.model, wide.model_options) == ("wide_resnet", {"depth": 28, "width": 4})
    assert (wide.optimizer, wide.momentum, wide.weight_decay, wide.learning_rate) == ("sgd", 0.9, 5e-4, 0.1)
    assert (wide.batch_size, wide.patience, wide.augment, wide.schedule) == (128, 20, "none", "cosine_warmup")
    asked = Request((4, 5, 6), "paper", folder=Path("x"))
    assert (asked.as_authors, asked.network.reference, asked.network.batch_size) == (True, True, 128)
    assert not Request((0,), "cpu", folder=Path("x")).as_authors
    ours = trained.network_configs(asked, BOTH_RANDOM)
    assert ours["one_vs_all", 6].random_labels
    assert ours["one_vs_all", 6].expert.accuracy == pytest.approx((0.1,) * 10)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seeds": (0,)}, "at least 2"),
        ({"seeds": (), "scale": "cpu", "folder": Path("x")}, "at least 1"),
        ({"seeds": (0, 1), "scale": "paper", "folder": Path("x")}, "at least 3"),
        ({"seeds": (1, 1)}, "differ"),
        ({"scale": "fast"}, "'quick', 'cpu', 'paper'"),
        ({"dataset": "mnist"}, "digits"),
        ({"scale": "cpu"}, "--out"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Request(**{"seeds": (0, 1), **settings})


@pytest.fixture(scope="module")
def written(results, tmp_path_factory):
    """A folder with all of these results."""
    folder = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        for name in set(REPRODUCTIONS) - set(results):
            patch.delitem(REPRODUCTIONS, name)
        for name, result in results.items():
            patch.setitem(REPRODUCTIONS, name, lambda _request, result=result: result)
        assert [name for name, _ in reproduce_all(DIGITS, folder)] == [*REPRODUCTIONS]
    return folder


@pytest.fixture
def kept(written, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(written, tmp_path / "kept"))


def test_what_was_kept_is_read_as_it_was(results, kept):
    for name, result in results.items():
        found = read_reproduction(kept / name)
        assert (found.manifest.name, found.manifest.scale, found.manifest.seeds) == (name, "quick", (0, 1))
        assert found.manifest.versions["torch"] == package_version("torch")
        page = (kept / name / "page.md").read_text()
        assert (
            as_markdown(found.result, design_of(name, DIGITS)) == as_markdown(result, design_of(name, DIGITS)) == page
        )
        assert "The design is the paper's: " in page
        assert found.result.details.keys() == result.details.keys()
        for detail, table in result.details.items():
            pd.testing.assert_frame_equal(found.result.details[detail], table, check_dtype=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-5], "manifest.json"),
        (lambda text: text.replace('"version": 2', '"version": 3'), "version 3"),
        (lambda text: text.replace('"seconds"', '"minutes"'), "minutes"),
        (lambda text: text.replace('"histogram"', '"../histogram"'), "tables"),
        (lambda text: text.replace('"seeds": [', '"seeds": ["a",'), "seeds"),
        (lambda text: text.replace('"table"', '"tables"'), "tables"),
        (lambda text: text.replace('"beside"', '"sideways"'), "'open', 'agrees', 'differs', 'beside'"),
        (lambda text: json.dumps([text]), "object"),
        (lambda _: "[" * 100_000, "manifest.json"),
    ],
)
def test_a_manifest_that_is_off_is_refused(kept, change, message):
    path = kept / "figure1" / "manifest.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(ValueError, match=message):
        read_reproduction(kept / "figure1")


def in_words_of_version_1(text):
    """The sentence as it was written when manifests held sentences alone."""
    return text.replace(NOT_SIGNIFICANT, "not told apart by these seeds").replace(ONE_SEED, "chance is not told apart")


def test_a_manifest_of_version_1_which_has_sentences_alone_opens_with_the_kinds_of_its_findings(kept, results):
    for name, result in results.items():
        path = kept / name / "manifest.json"
        sentences = [in_words_of_version_1(finding.text) for finding in result.findings]
        path.write_text(json.dumps({**json.loads(path.read_text()), "version": 1, "findings": sentences}))
        found = read_reproduction(kept / name).result.findings
        assert found == tuple(replace(one, text=text) for one, text in zip(result.findings, sentences, strict=True))
    path.write_text(json.dumps({**json.loads(path.read_text()), "findings": [7]}))
    with pytest.raises(ValueError, match="text"):
        read_reproduction(path.parent)


def test_a_table_that_is_not_the_manifests_is_refused(kept):
    path = kept / "figure1" / "table.csv"
    path.write_text(path.read_text().replace("0.394", "0.494"))
    with pytest.raises(ValueError, match=r"table.csv is not the file"):
        read_reproduction(kept / "figure1")
    (kept / "figure1" / "histogram.csv").unlink()
    with pytest.raises((ValueError, FileNotFoundError)):
        read_reproduction(kept / "figure1")


def test_numbers_survive_to_the_last_digit(kept, results):
    found = read_reproduction(kept / "table1").result.table
    assert found["mean"].tolist() == results["table1"].table["mean"].tolist()
    assert math.isfinite(found["n"].sum())
