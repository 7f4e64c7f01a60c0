"""Cases from the field on the arithmetic of calibration and deferral (C); field_cases.py lists all rows."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from field_cases import tried
from scipy import special
from small_scores import random_scores, scores_from_lists

from l2d_core.calibration.binned import calibration_error, reliability_table
from l2d_core.cli.commands import main
from l2d_core.comparison.author_logs import read_logged
from l2d_core.comparison.mapped_tables import Columns, read_predictions, to_scores
from l2d_core.comparison.systems import System, align, confidence_note
from l2d_core.evaluation.accuracy import accuracies, averages, class_table
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.probabilities import classifier_pairs, expert_pairs
from l2d_core.evaluation.recalibration import TEMPERATURES, fit_recalibration
from l2d_core.surrogates import SURROGATES

COLUMNS = Columns("label", ("said",), ("a", "b"), ("ask",), "id")


def table(*rows):
    return read_predictions("\n".join(["id,label,said,a,b,ask", *rows]).encode())


@tried("C2", two_points=([0.1, 0.95], [0, 1]), one_point=([0.5], [1]), both_ends=([0.0, 1.0], [0, 1]))
def test_empty_bins_are_gaps_and_weigh_nothing(given):
    found = reliability_table(*given, bins=15)
    empty = found["n"] == 0
    assert len(found) == 15
    assert empty.sum() == 15 - len(given[0])
    assert found[empty].drop(columns=["low", "high", "n"]).isna().all().all()
    assert not found[~empty].isna().any().any()
    assert calibration_error(*given) == pytest.approx(np.abs(np.subtract(*given)).mean())


@tried("C2", error=calibration_error, table=reliability_table)
def test_without_cases_there_is_no_number_and_no_nan(given):
    with pytest.raises(ValueError, match="must hold at least one case, got 0"):
        given([], [])
    scores = random_scores(20)
    found = accuracies(scores, np.zeros(20, dtype=bool))["expert_on_deferred"]
    assert (found.value, found.n) == (None, 0)


@tried(
    "C3", all_wrong=([0.9] * 10, [0] * 10, 0.9), all_right=([0.9] * 10, [1] * 10, 0.1), zeros=([0.0] * 5, [1] * 5, 1)
)
def test_equal_scores_are_one_bin_with_their_gap(given):
    probability, correct, error = given
    for strategy in ("equal_mass", "equal_width"):
        assert calibration_error(probability, correct, strategy=strategy) == pytest.approx(error)
    found = reliability_table(probability, correct, strategy="equal_mass")
    assert found["n"].tolist() == [len(probability)]


@tried("C4", two_of_seven=(1, 2), one_of_seven=(6,), first_only=(0,))
def test_the_number_of_classes_is_the_models_not_the_labels(given):
    generator = np.random.default_rng(0)
    labels = generator.choice(given, 50)
    scores = scores_from_lists(generator.normal(size=(50, 8)).tolist(), labels.tolist(), labels.tolist())
    assert scores.num_classes == 7
    found = class_table(scores, np.zeros(50, dtype=bool))
    assert found["n"].tolist() == np.bincount(labels, minlength=7).tolist()
    assert found[found["n"] == 0]["machine_alone"].isna().all()
    assert np.isfinite(calibration_error(*classifier_pairs(scores)))


@tried(
    "A12",
    as_written=([0, 0, 1, 1], [0, 2, 1, 1], 0.75, 0.75, "mean of classes, without c"),
    uneven=([0, 0, 0, 1], [0, 0, 0, 0], 0.75, 0.5, "mean of classes, without c"),
    all_there=([0, 1, 1, 2], [0, 0, 1, 0], 0.5, 0.5, "mean of classes"),
)
def test_plain_and_balanced_accuracy_stand_together_with_what_is_left_out(given):
    labels, said, plain, balanced, name = given
    logits = np.eye(4)[said]
    scores = scores_from_lists(logits.tolist(), labels, [0, 0, 0, 0])
    scores = replace(scores, class_names=("a", "b", "c"))
    found = averages(class_table(scores, np.zeros(4, dtype=bool)))
    assert found["class"].tolist() == ["all cases", name]
    assert found["n"].tolist() == [4, 4]
    assert found["machine_alone"].tolist() == [plain, balanced]


@tried("C6", zero=0.0, small=1e-8, negative=-1e-8, large=200.0, larger=-200.0, huge=1e4, hugest=-1e4)
def test_the_logistic_loss_is_finite_exact_and_leaves_its_input(given):
    logits = torch.tensor([[given, given, given]], requires_grad=True)
    before = logits.detach().clone()
    loss = SURROGATES["one_vs_all"].loss(logits, torch.tensor([0]), torch.tensor([[True]]))
    z = np.float64(np.float32(given))
    wanted = 2 * np.logaddexp(0, -z) + np.logaddexp(0, z)
    assert loss.item() == pytest.approx(wanted, rel=1e-6)
    if given == 0:
        assert loss.item() == pytest.approx(3 * math.log(2))
    loss.sum().backward()
    assert torch.isfinite(logits.grad).all()
    np.testing.assert_allclose(logits.grad[0, 0].item(), -special.expit(-z), rtol=1e-5, atol=1e-12)
    assert torch.equal(logits.detach(), before)


@tried("C7", softmax="softmax", asymmetric="asymmetric_softmax", one_vs_all="one_vs_all")
def test_a_certain_and_wrong_prediction_has_a_finite_logit_and_loss(given):
    scores = to_scores(table("x,1,0,1,0,0"), COLUMNS, surrogate=given, domain="probabilities")
    assert np.isfinite(scores.logits).all()
    loss = SURROGATES[given].loss(torch.from_numpy(scores.logits), torch.tensor([1]), torch.tensor([[False]]))
    assert torch.isfinite(loss).all()
    assert loss.item() > 30


@tried("C7", half="x,1,0,0.3,0.2,0", more="x,1,0,0.5,0.5,0.5", nearly="x,1,0,0.5,0.4999,0")
def test_rows_that_do_not_sum_to_1_are_refused_with_the_row(given):
    with pytest.raises(ValueError, match=r"must sum to 1 in each row, got .* at row 1 \(x\)"):
        to_scores(table("w,0,0,1,0,0", given), COLUMNS, surrogate="softmax", domain="probabilities")


@tried("C7", ten_thousand_rows=3, fifty_classes=50, a_thousand_classes=1000)
def test_a_softmax_in_float32_sums_to_1_closely_enough(given):
    logits = torch.randn(10_000 if given < 10 else 500, given, generator=torch.Generator().manual_seed(0)) * 5
    rows = torch.softmax(logits, dim=1)
    read = read_logged(json.dumps(rows.tolist()).encode(), json.dumps([1] * len(rows)).encode(), surrogate="softmax")
    assert np.isfinite(read.logits).all()


@tried("C9", by_hand=([0.2, 0.4, 0.7, 1.0], [0, 1, 1, 1], 2, 0.225), last_bin=([1.0, 1.0], [0, 0], 10, 1.0))
def test_the_error_is_the_mean_gap_at_the_mean_estimate_with_the_last_bin(given):
    probability, correct, bins, error = given
    # By hand: (0.2, 0.4) has 0.5 - 0.3, (0.7, 1.0) has 1 - 0.85; half of each.
    error = 0.5 * 0.2 + 0.5 * 0.15 if bins == 2 else error
    assert calibration_error(probability, correct, bins=bins) == pytest.approx(error)
    slow = 0.0
    for low in np.arange(bins) / bins:
        inside = [place for place, p in enumerate(probability) if low < p <= low + 1 / bins + 1e-12]
        if inside:
            gap = np.mean([correct[place] - probability[place] for place in inside])
            slow += len(inside) / len(probability) * abs(gap)
    assert calibration_error(probability, correct, bins=bins) == pytest.approx(slow)


@tried("C9", expert=expert_pairs, machine=classifier_pairs)
def test_expert_and_machine_are_measured_by_one_definition(given):
    pairs = given(random_scores(100))
    rows = reliability_table(*pairs)
    filled = rows[rows["n"] > 0]
    assert calibration_error(*pairs) == pytest.approx((filled["n"] * filled["gap"].abs()).sum() / filled["n"].sum())


@tried("C10", random_labels=40, tiny=2, one=1)
def test_a_temperature_is_above_zero_and_moves_no_argmax(given):
    scores = random_scores(given, seed=3)
    found = fit_recalibration("temperature", scores)
    temperature = found.parameters["temperature"]
    assert TEMPERATURES[0] <= temperature <= TEMPERATURES[1]
    np.testing.assert_array_equal(defer_by_argmax(scores.logits / temperature), defer_by_argmax(scores.logits))
    assert np.isfinite(found.apply(scores.logits)).all()


@tried("C10", probabilities="probabilities", logits="logits")
def test_what_numbers_are_has_to_be_said_and_is_not_guessed(given):
    rows = table("x,0,0,2.5,-1,0.5")
    if given == "logits":
        assert to_scores(rows, COLUMNS, surrogate="softmax", domain=given).logits[0].tolist() == [2.5, -1, 0.5]
        return
    with pytest.raises(ValueError, match=r"a, a probability, must lie in 0\.\.1, got 2\.5"):
        to_scores(rows, COLUMNS, surrogate="softmax", domain=given)


SHARES = ("x,1,0,0.5,0.3,0.2", "y,1,0,0.1,0.1,0.8", "z,0,0,1,0,0")
CLASSES = ("x,1,0,0.7,0.3,0.9", "y,1,0,0.25,0.75,-3")


@tried(
    "C10",
    all_scores=(SHARES, "softmax", "all scores"),
    of_one_row=(SHARES[:1], "softmax", "all scores"),
    one_vs_all=(SHARES, "one_vs_all", "all scores"),
    rounded=(("x,1,0,0.333,0.333,0.333", "y,1,0,0.5,0.3,0.2"), "softmax", "all scores"),
    classes_alone=(CLASSES, "softmax", "the scores of the classes"),
)
def test_probabilities_that_are_called_logits_are_refused(given):
    rows, surrogate, whose = given
    with pytest.raises(ValueError, match=rf"look like probabilities: {whose} lie in .* domain 'probabilities'"):
        to_scores(table(*rows), COLUMNS, surrogate=surrogate, domain="logits")


@tried(
    "C10",
    one_row_is_none=(*SHARES, "w,0,0,0.5,0.3,0.4"),
    one_is_negative=(*SHARES, "w,0,0,1.5,-0.3,-0.2"),
    sums_of_2=("x,0,0,0.5,0.7,0.8", "y,0,0,0.9,0.6,0.5"),
)
def test_logits_that_only_look_a_little_like_probabilities_are_taken(given):
    scores = to_scores(table(*given), COLUMNS, surrogate="softmax", domain="logits")
    assert scores.logits[0].tolist() == [float(number) for number in given[0].split(",")[3:]]


@tried("C10", softmax=SHARES)
def test_the_command_says_so_and_takes_them_as_what_they_are(given, tmp_path, capsys):
    arguments = command(tmp_path, *given)
    assert main([*arguments, "--surrogate", "softmax", "--domain", "logits"]) == 2
    assert "look like probabilities" in capsys.readouterr().err
    assert not (tmp_path / "out.npz").exists()
    assert main([*arguments, "--surrogate", "softmax", "--domain", "probabilities"]) == 0
    assert (tmp_path / "out.npz").exists()
    assert "note" not in capsys.readouterr().out


def command(folder, *rows):
    (folder / "in.csv").write_text("\n".join(["id,label,said,a,b,ask", *rows]))
    columns = ["--id", "id", "--label", "label", "--answers", "said", "--scores", "a", "b", "--defer", "ask"]
    return ["import", str(folder / "in.csv"), "--out", str(folder / "out.npz"), *columns]


EXPERT, MACHINE = "of the expert (ECE and reliability only tell how often it is right)", "of the machine"
HARD = {
    "one hot": (("x,1,0,1,0,0", "y,1,0,0,0,1", "z,0,0,0,1,0"), "softmax", f"{EXPERT} and {MACHINE}: "),
    "all ones": (("x,1,0,1,1,1", "y,1,0,1,1,1"), "one_vs_all", f"{EXPERT} and {MACHINE}: "),
    "asking alone": (("x,1,0,0.4,0.3,1", "y,1,0,0.1,0.3,0"), "one_vs_all", f"{EXPERT}: "),
    "classes alone": (("x,1,0,1,0,0.4", "y,1,0,0,1,0.3"), "one_vs_all", f"{MACHINE}: "),
}


@tried("C11", **HARD)
def test_of_hard_scores_it_is_said_that_there_is_no_confidence(given, tmp_path, capsys):
    rows, surrogate, whom = given
    scores = to_scores(table(*rows), COLUMNS, surrogate=surrogate, domain="probabilities")
    note = confidence_note(scores)
    assert note == f"no confidence available {whom}in all cases the probabilities are 0 or 1"
    assert align([System("mine", scores)])[1] == (f"mine: {note}.",)
    assert main([*command(tmp_path, *rows), "--surrogate", surrogate, "--domain", "probabilities"]) == 0
    assert f"note: {note}" in capsys.readouterr().out


@tried("C11", one_is_soft=[[1, 0, 0], [0.5, 0.3, 0.2]], logged_hard=[[1, 0, 0], [0, 0, 1]])
def test_only_where_all_are_hard_and_of_logged_outputs_too(given):
    logged = read_logged(json.dumps(given).encode(), b"[1, 0]", surrogate="softmax")
    notes = align([System("logged", logged)])[1]
    assert any("no confidence available" in note for note in notes) == (given[1][0] == 0)


@tried("C11", logit=1.5, below=-0.1)
def test_what_is_called_a_probability_and_is_none_is_refused_with_its_row(given):
    with pytest.raises(ValueError, match=rf"ask, a probability, must lie in 0\.\.1, got {given} at row 1 \(y\)"):
        to_scores(table("x,0,0,1,0,0", f"y,0,0,1,0,{given}"), COLUMNS, surrogate="one_vs_all", domain="probabilities")


@tried("C11", randn=[0.3, -1.2, 2.0], percent=[50.0], slightly_above=[1.0000001], nan=[float("nan")])
def test_what_is_no_probability_is_refused(given):
    for call in (calibration_error, reliability_table):
        with pytest.raises(ValueError, match=r"probability must (lie in 0\.\.1|be finite)"):
            call(given, [1] * len(given))


@tried("C11", ones=[1.0] * 8, zeros=[0.0] * 8)
def test_hard_scores_are_one_bin_and_their_error_the_share_that_is_wrong(given):
    correct = [1, 1, 1, 0, 1, 1, 1, 1]
    found = reliability_table(given, correct)
    assert found["n"].gt(0).sum() == 1
    assert calibration_error(given, correct) == pytest.approx(abs(np.mean(correct) - given[0]))


@tried("C12", isotonic="isotonic", platt="platt", temperature="temperature")
def test_a_set_of_one_class_and_one_outcome_gives_numbers(given):
    generator = np.random.default_rng(1)
    for said in (0, 1):
        logits = generator.normal(size=(12, 3))
        scores = scores_from_lists(logits.tolist(), [0] * 12, [said] * 12, surrogate="one_vs_all")
        found = fit_recalibration(given, scores).apply(generator.normal(size=(50, 3)) * 100)
        assert np.isfinite(found).all()
        assert ((found >= 0) & (found <= 1)).all()


@tried("C12", isotonic="isotonic", platt="platt", temperature="temperature")
def test_a_correction_that_has_seen_one_outcome_says_so(given):
    logits = np.random.default_rng(1).normal(size=(12, 3)).tolist()
    constant = ", so that all estimates become one constant" if given == "isotonic" else ""
    for said, word in ((0, "right"), (1, "wrong")):
        found = fit_recalibration(given, scores_from_lists(logits, [0] * 12, [said] * 12, surrogate="one_vs_all"))
        assert found.describe().endswith(f"; fitted on one outcome only: all 12 answers are {word}{constant}")
        assert len(np.unique(found.apply(np.array(logits)))) == 1 or not constant
    both = scores_from_lists(logits, [0] * 12, [0, 1] * 6, surrogate="one_vs_all")
    assert "one outcome" not in fit_recalibration(given, both).describe()
    assert fit_recalibration("none", scores_from_lists(logits, [0] * 12, [0] * 12)).describe() == "as it is"
