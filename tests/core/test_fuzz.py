"""Whatever comes in, parsers raise nothing but ValueError, and the arithmetic keeps its laws.

Each law is tried on a few dozen inputs in every run of the tests, and on thousands with `-m slow`.
"""

import io
import json
import math
import tempfile
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from l2d_core.calibration.binned import calibration_error, debiased_calibration_error, reliability_table
from l2d_core.comparison.author_logs import read_logged
from l2d_core.comparison.mapped_tables import Columns, guess_columns, read_predictions, to_scores
from l2d_core.config import AUGMENTATIONS, MAX_EPOCHS, OPTIMIZERS, SCHEDULES, ExpertConfig, RunConfig
from l2d_core.data import Scores
from l2d_core.datasets import ham10000
from l2d_core.datasets.ham10000.features import fit_age_scale, metadata_features
from l2d_core.datasets.ham10000.values import CLASS_NAMES
from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.curves import budget_curve, coverage_curve, curves_at
from l2d_core.evaluation.deferral import defer_by_argmax, defer_by_budget, deferral_order, num_within_budget
from l2d_core.evaluation.recalibration import RECALIBRATIONS, fit_recalibration
from l2d_core.images.opening import safe_name
from l2d_core.models.weights import load_weights
from l2d_core.runs.folder import read_environment, read_history
from l2d_core.sweeps.plan import plan_sweep

SHORT, LONG = 30, 1_500
LAWS = {}


def law(**inputs):
    """Notes a function as a law that holds for all such inputs."""

    def note(function):
        LAWS[function.__name__.replace("_", " ")] = (function, inputs)
        return function

    return note


def try_law(name, examples):
    function, inputs = LAWS[name]
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=checks)(
        given(**inputs)(function)
    )()


HEADERS = st.sampled_from(
    [
        "lesion_id,image_id,dx,dx_type,age,sex,localization",
        "image,MEL,NV,BCC,AKIEC,BKL,DF,VASC",
        "\ufeffImage_ID;Age;Sex",
        "isic_id\tdiagnosis\tage_approx",
        "image_id,age",
    ]
)
CELLS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["", "nv", "MEL", "1.0", "0", "-1", "45 years", "55,0", "unknown", "male", "back", '"', "nan", "\0"]
    ),
)
ROWS = st.lists(st.lists(CELLS, max_size=9), max_size=5)
MARKS = st.sampled_from([",", ";", "\t", "|"])


def as_bytes(header, rows, mark):
    lines = [header.replace(",", mark), *(mark.join(row) for row in rows)]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@law(header=HEADERS, rows=ROWS, mark=MARKS, labelled=st.booleans())
def metadata_are_a_table_of_known_values_or_a_value_error(header, rows, mark, labelled):
    with suppress(ValueError):
        table = ham10000.read_metadata(as_bytes(header, rows, mark), labelled=labelled)
        assert len(table) == table["image_id"].str.casefold().nunique() or len(table) <= len(rows)
        assert set(table["dx"]) <= {*CLASS_NAMES, *([] if labelled else [""])}
        assert not table.isna().any().any()
        assert np.isfinite(metadata_features(table, fit_age_scale(table))[0]).all()


@law(data=st.binary(max_size=300))
def any_bytes_are_metadata_or_a_value_error(data):
    with suppress(ValueError):
        ham10000.read_metadata(data)


COLUMNS = Columns("label", ("said",), ("a", "b"), ("ask",), "id")
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.integers(-3, 3).map(str),
    st.text(max_size=4),
    st.sampled_from(["", "a", "b", "1e999", "true", "NA", "0x10", "2020-01-01"]),
)


@law(
    rows=st.lists(st.lists(NUMBERS, min_size=5, max_size=7), min_size=1, max_size=6),
    mark=MARKS,
    surrogate=st.sampled_from(["softmax", "one_vs_all", "asymmetric_softmax"]),
    domain=st.sampled_from(["logits", "probabilities"]),
)
def predictions_are_finite_scores_or_a_value_error(rows, mark, surrogate, domain):
    with suppress(ValueError):
        table = read_predictions(as_bytes("id,label,said,a,b,ask", rows, mark))
        guess_columns(table)
        scores = to_scores(table, COLUMNS, surrogate=surrogate, domain=domain)
        assert len(scores) == len(table)
        assert np.isfinite(scores.logits).all()
        assert ((scores.labels >= 0) & (scores.labels < 2)).all()


@law(data=st.one_of(st.binary(max_size=300), st.binary(max_size=200).map(lambda data: b"PAR1" + data + b"PAR1")))
def any_bytes_are_predictions_or_a_value_error(data):
    with suppress(ValueError):
        guess_columns(read_predictions(data))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@law(one=JSON, other=JSON, surrogate=st.sampled_from(["softmax", "one_vs_all"]))
def any_json_is_logged_outputs_or_a_value_error(one, other, surrogate):
    with suppress(ValueError):
        read_logged(json.dumps(one).encode(), json.dumps(other).encode(), surrogate=surrogate)


SETTINGS = st.sampled_from([field.name for field in fields(RunConfig)] + ["version"])


@law(
    values=st.dictionaries(SETTINGS, JSON, max_size=4),
    expert=st.dictionaries(st.sampled_from([field.name for field in fields(ExpertConfig)]), JSON, max_size=3),
)
def any_json_is_a_config_that_comes_back_or_a_value_error(values, expert):
    with suppress(ValueError):
        config = RunConfig.from_json(json.dumps({**values, **({"expert": expert} if expert else {})}))
        text = config.to_json()
        assert RunConfig.from_json(text).to_json() == text


@law(content=JSON | st.fixed_dictionaries({"grid": st.dictionaries(SETTINGS, JSON, max_size=2)}))
def any_json_is_a_sweep_or_a_value_error(content):
    with suppress(ValueError):
        plan_sweep(content)


@law(
    epochs=st.integers(1, MAX_EPOCHS),
    rate=st.floats(1e-300, 1e300),
    momentum=st.floats(0, 0.999),
    seed=st.integers(0, 2**64),
    optimizer=st.sampled_from(OPTIMIZERS),
    schedule=st.sampled_from(SCHEDULES),
    augment=st.sampled_from(AUGMENTATIONS),
    accuracy=st.lists(st.floats(0, 1), min_size=1, max_size=10),
    options=st.dictionaries(
        st.text(max_size=5), st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    ),
)
def a_config_comes_back_from_json_as_it_was(accuracy, rate, options, **settings):
    config = RunConfig(
        learning_rate=rate, expert=ExpertConfig(accuracy=tuple(accuracy)), model_options=options, **settings
    )
    assert RunConfig.from_json(config.to_json()) == config


@law(data=st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")))
def any_bytes_in_the_folder_of_a_run_are_read_or_a_value_error(data):
    with tempfile.TemporaryDirectory() as folder:
        for name, read in (("history.csv", read_history), ("environment.json", read_environment)):
            Path(folder, name).write_bytes(data)
            with suppress(ValueError):
                read(folder)
        Path(folder, "model.safetensors").write_bytes(data)
        for start in (b"", len(data).to_bytes(8, "little")):
            Path(folder, "model.safetensors").write_bytes(start + data)
            with pytest.raises(ValueError, match="cannot be read"):
                load_weights(Path(folder, "model.safetensors"))


@law(name=st.text(max_size=120))
def a_name_is_shown_in_one_safe_line(name):
    shown = safe_name(name)
    assert 0 < len(shown) <= 80
    assert shown == safe_name(shown)
    assert shown.isprintable() or "\ufffd" in shown
    assert not {"/", "\\", "\n", "\r", "\0", "\u202e"} & set(shown)


COUNT = st.integers(1, 40)


@st.composite
def pairs(draw):
    """Probabilities, with ends and ties among them, and what came true."""
    values = st.sampled_from([0.0, 1.0, 0.5, 1 / 15, 0.2]) | st.floats(0, 1)
    probability = draw(st.lists(values, min_size=1, max_size=40))
    correct = draw(st.lists(st.booleans(), min_size=len(probability), max_size=len(probability)))
    return np.array(probability), np.array(correct)


STRATEGIES = st.sampled_from(["equal_width", "equal_mass"])


@law(pair=pairs(), bins=st.integers(1, 30), strategy=STRATEGIES, order=st.randoms(use_true_random=False))
def calibration_counts_every_case_once_in_any_order(pair, bins, strategy, order):
    probability, correct = pair
    table = reliability_table(probability, correct, bins=bins, strategy=strategy)
    assert table["n"].sum() == len(probability)
    filled = table[table["n"] > 0]
    assert (filled["n"] * filled["mean_probability"]).sum() == pytest.approx(probability.sum())
    assert (filled["n"] * filled["share_correct"]).sum() == pytest.approx(correct.sum())
    assert filled["mean_probability"].between(filled["low"] - 1e-12, filled["high"] + 1e-12).all()
    assert filled["share_correct"].between(filled["interval_low"], filled["interval_high"]).all()
    edges = filled[["interval_low", "interval_high", "band_low", "band_high"]].to_numpy()
    assert ((edges >= 0) & (edges <= 1)).all()
    assert table[table["n"] == 0]["gap"].isna().all()
    rows = order.sample(range(len(probability)), len(probability))
    again = reliability_table(probability[rows], correct[rows], bins=bins, strategy=strategy)
    pd.testing.assert_frame_equal(table, again)


@law(pair=pairs(), bins=st.integers(1, 30), strategy=STRATEGIES)
def calibration_errors_are_between_the_gap_of_the_means_and_1(pair, bins, strategy):
    probability, correct = pair
    error = calibration_error(probability, correct, bins=bins, strategy=strategy)
    assert abs(correct.mean() - probability.mean()) - 1e-9 <= error <= 1
    assert error == pytest.approx(calibration_error(1 - probability, ~correct, bins=1, strategy=strategy)) or bins > 1
    assert 0 <= debiased_calibration_error(probability, correct, bins=bins, strategy=strategy) <= 1


MARGINS = st.lists(st.sampled_from([0.0, 0.5, -0.5]) | st.floats(-1e6, 1e6), min_size=1, max_size=40).map(np.array)
BUDGETS = st.floats(0, 1)


@law(margin=MARGINS, budget=BUDGETS, more=BUDGETS, forced=st.booleans())
def a_budget_is_never_exceeded_and_a_larger_one_defers_all_that_a_smaller_one_does(margin, budget, more, forced):
    low, high = sorted((budget, more))
    few, many = (defer_by_budget(margin, b, forced=forced) for b in (low, high))
    for b, deferred in ((low, few), (high, many)):
        allowed = num_within_budget(b, len(margin))
        assert allowed <= math.floor(b * len(margin) + 1e-6)
        assert deferred.sum() == allowed if forced else deferred.sum() <= allowed
    assert not (few & ~many).any()
    assert forced or not (many & (margin <= 0)).any()
    assert not few.any() or margin[few].min() >= margin[~few].max(initial=-np.inf)


@law(margin=MARGINS, order=st.randoms(use_true_random=False))
def the_order_of_deferral_is_a_permutation_by_falling_margin(margin, order):
    rows = deferral_order(margin)
    assert sorted(rows) == list(range(len(margin)))
    assert (np.diff(margin[rows]) <= 0).all()
    shuffled = order.sample(range(len(margin)), len(margin))
    np.testing.assert_array_equal(margin[shuffled][deferral_order(margin[shuffled])], margin[rows])


# Classes, experts, cases, seed, scale (small ones tie), surrogate.
RECIPES = st.tuples(
    st.integers(2, 4),
    st.integers(1, 2),
    st.integers(1, 30),
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 50, 1e307]),
    st.sampled_from(["softmax", "one_vs_all"]),
)


def make_scores(classes, experts, count, seed, scale, surrogate):
    """Scores, all of whose experts were asked, with ids that are not their rows."""
    generator = np.random.default_rng(seed)
    return Scores.from_arrays(
        np.round(generator.normal(size=(count, classes + experts)) * 4) / 4 * scale,
        generator.integers(0, classes, count),
        generator.integers(0, classes, (count, experts)),
        surrogate=surrogate,
        ids=[str(number) for number in generator.permutation(count)],
    )


def shuffled(scores, order):
    rows = order.sample(range(len(scores)), len(scores))
    parts = {name: getattr(scores, name)[rows] for name in ("logits", "labels", "answers")}
    names = {"class_names": scores.class_names, "expert_names": scores.expert_names}
    return Scores.from_arrays(**parts, surrogate=scores.surrogate, ids=scores.ids[rows], **names), rows


@law(recipe=RECIPES, order=st.randoms(use_true_random=False))
def accuracies_do_not_depend_on_the_order_and_their_counts_add_up(recipe, order):
    scores = make_scores(*recipe)
    deferred = defer_by_argmax(scores.logits, scores.num_experts)
    found = accuracies(scores, deferred)
    kept, asked = found["machine_on_kept"], found["expert_on_deferred"]
    assert kept.n + asked.n == found["system"].n == found["coverage"].n == len(scores)
    right = sum(part.n * part.value for part in (kept, asked) if part.n)
    assert found["system"].value == pytest.approx(right / len(scores))
    other, rows = shuffled(scores, order)
    again = accuracies(other, deferred[rows])
    assert {name: share.n for name, share in found.items()} == {name: share.n for name, share in again.items()}
    values = [(share.value, again[name].value) for name, share in found.items()]
    assert all(one is other or one == pytest.approx(other) for one, other in values)


@law(recipe=RECIPES, margins=st.randoms(use_true_random=False), forced=st.booleans())
def curves_end_at_expert_and_machine_alone_and_budgets_rise(recipe, margins, forced):
    scores = make_scores(*recipe)
    margin = np.array([round(margins.uniform(-2, 2)) / 2 for _ in range(len(scores))])
    curve = coverage_curve(scores, margin)
    alone = accuracies(scores, np.zeros(len(scores), dtype=bool))["machine_alone"].value
    all_asked = accuracies(scores, np.ones(len(scores), dtype=bool))["expert_on_deferred"].value
    assert (curve["coverage"].iloc[0], curve["coverage"].iloc[-1]) == (0, 1)
    assert (np.diff(curve["coverage"]) > 0).all()
    assert curve["system_accuracy"].iloc[0] == pytest.approx(all_asked)
    assert curve["system_accuracy"].iloc[-1] == pytest.approx(alone)
    best = curves_at(scores, margin, curve["coverage"])["optimal"]
    assert (curve["system_accuracy"] <= best + 1e-9).all()
    budgets = np.linspace(0, 1, 11)
    by_budget = budget_curve(scores, margin, budgets, forced=forced)
    assert (np.diff(by_budget["n_kept"]) <= 0).all()
    assert (len(scores) - by_budget["n_kept"] <= np.floor(budgets * len(scores) + 1e-6)).all()
    assert by_budget["system_accuracy"].iloc[0] == pytest.approx(alone)


@law(recipe=RECIPES, method=st.sampled_from(sorted(RECALIBRATIONS)))
def a_recalibration_gives_finite_estimates(recipe, method):
    scores = make_scores(*recipe)
    found = fit_recalibration(method, scores).apply(scores.logits, scores.num_experts)
    assert np.isfinite(found).all()
    assert (found >= 0).all()


IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
NAMES = IDS.filter(bool)


@law(recipe=RECIPES, ids=st.lists(IDS, min_size=30, max_size=30), names=st.lists(NAMES, min_size=6, max_size=6))
def scores_come_back_from_a_file_as_they_were(recipe, ids, names):
    scores = make_scores(*recipe)
    known = {"class_names": names[: scores.num_classes], "expert_names": names[4 : 4 + scores.num_experts]}
    named = Scores.from_arrays(
        scores.logits, scores.labels, scores.answers, surrogate=scores.surrogate, ids=ids[: len(scores)], **known
    )
    with tempfile.TemporaryDirectory() as folder:
        named.save(Path(folder, "scores.npz"))
        data = Path(folder, "scores.npz").read_bytes()
    again = Scores.load(io.BytesIO(data))
    for field in fields(Scores):
        one, other = getattr(named, field.name), getattr(again, field.name)
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other


@pytest.mark.parametrize("name", LAWS)
def test_law(name):
    try_law(name, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_law_for_thousands_of_inputs(name):
    try_law(name, LONG)
