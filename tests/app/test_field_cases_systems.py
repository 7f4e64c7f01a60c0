"""Cases from the field on the pages of systems, Compare and Train; tests/core/field_cases.py lists all rows."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from compare_page import (
    assert_sound,
    cards,
    chips,
    csv_of,
    made_scores,
    open_beside_one,
    open_compare,
    said,
    say,
    table_of,
    texts,
    upload,
)
from field_cases import tried
from lab_page import open_digits
from made_lesions import IGNORE_SIZE, write_lesions
from small_jobs import SHORT
from train_page import FakeBoard, open_train

from app.compare import numbers as compare_numbers
from app.compare import report as compare_report
from app.compare.board import Comparison, EstimateSettings
from app.compare.evaluation import Evaluation
from app.jobs import board as jobs_board
from app.jobs.folder import Record, read_job, write_record
from app.paper import parts as paper_parts
from l2d_core.comparison.systems import System
from l2d_core.experiment import run_experiment
from l2d_core.reproductions.ham10000 import _left_out
from l2d_core.runs.log import keep_log, read_log


@pytest.fixture
def app(monkeypatch, tmp_path):
    return open_beside_one(monkeypatch, tmp_path)


def table_with(numbers):
    """A table whose four scores are functions of those of made-up scores."""
    table = table_of(made_scores(seed=9))
    columns = [f"logit_{k}" for k in range(3)] + ["defer"]
    table[columns] = numbers(table[columns].to_numpy())
    return table


def softmax(logits):
    powers = np.exp(logits)
    return powers / powers.sum(axis=1, keepdims=True)


@tried("C10", softmax="softmax", one_vs_all="one_vs_all")
def test_probabilities_called_logits_are_refused_in_the_form_and_the_right_word_helps(given, app):
    app = say(upload(app, ("mine.csv", csv_of(table_with(softmax)))), given, "logits")
    assert not app.exception
    assert chips(app) == ["first"]
    assert "look like probabilities" in app.error[0].value
    app = say(app, given, "probabilities")
    assert_sound(app)
    assert chips(app) == ["first", "mine"]


@tried(
    "C11",
    one_hot=(lambda logits: np.eye(4)[logits.argmax(axis=1)], "softmax"),
    all_ones=(np.ones_like, "one_vs_all"),
)
def test_hard_scores_are_taken_with_a_note_that_there_is_no_confidence(given, app):
    numbers, surrogate = given
    app = say(upload(app, ("mine.csv", csv_of(table_with(numbers)))), surrogate, "probabilities")
    assert_sound(app)
    told = [caption.value for caption in app.caption if "no confidence available" in caption.value]
    assert len(told) == 1
    assert "mine" in told[0]
    assert not said(open_compare("here/first"), "no confidence available")


def scene_without_a_class(view=None):
    """Two systems of three classes, of which the last has no test cases."""
    scores = [made_scores(seed=k) for k in (5, 6)]
    rows = np.flatnonzero(scores[0].labels < 2)
    scores = [one.subset(rows) for one in scores]
    return Evaluation(
        Comparison([System(f"s{k}", one, one) for k, one in enumerate(scores)]), view or EstimateSettings(), 0.0, 1.0
    )


@tried("C4", last_of_three=2)
def test_of_a_class_without_cases_the_tables_say_so(given):
    evaluation = scene_without_a_class()
    table = compare_numbers.class_table(evaluation.classes, evaluation.experts)
    shown = compare_numbers.as_text(table.set_index("class"))
    cells = shown.iloc[given].tolist()
    assert cells[0] == "0"
    assert set(cells[1:]) == {"no examples"}
    assert compare_report.page(evaluation).count("no examples") == len(cells) - 1


@tried("C4", of_the_paper="no examples")
def test_of_a_class_without_cases_the_page_of_the_paper_says_so(given, monkeypatch):
    shown = []
    monkeypatch.setattr(paper_parts.st, "dataframe", lambda frame, **_options: shown.append(frame))
    table = pd.DataFrame({"class": ["a", "b"], "n": [4, 0], "system": [0.5, np.nan]})
    paper_parts.show(table, {"class": "class", "n": "cases", "system": "right"}, missing=given)
    assert shown[0]["right"].tolist() == ["50.0 %", given]


@tried("A12", softmax="softmax")
def test_the_result_on_lesions_notes_which_classes_its_balanced_accuracies_leave_out(given):
    test = scene_without_a_class().comparison.systems[0].test
    missing = test.class_names[2]
    assert _left_out({"heads": {given: [made_scores()]}}) == ()
    assert _left_out({"heads": {given: [made_scores(), test]}}) == (
        f"Balanced accuracies leave out the classes without test cases: {missing}.",
    )


@tried("A12", system="s0: system", machine="s0: machine")
def test_plain_and_balanced_accuracy_stand_below_the_classes(given):
    evaluation = scene_without_a_class()
    table = compare_numbers.class_table(evaluation.classes, evaluation.experts).set_index("class")
    missing = table.index[2]
    assert list(table.index[3:]) == ["all cases", f"mean of classes, without {missing}"]
    assert (table["n"].iloc[3:] == evaluation.comparison.num_cases).all()
    plain, balanced = table[given].iloc[3:]
    assert balanced == pytest.approx(table[given].iloc[:2].mean(), abs=0.11)
    name = {"s0: system": "system", "s0: machine": "machine_alone"}[given]
    assert plain == round(100 * evaluation.numbers[0][name].value, 1)


@tried("C9", width=("equal_width", "15 bins"), mass=("equal_mass", "15 bins of equal mass"))
def test_every_ece_of_compare_has_its_n_its_bins_and_what_it_is(given, app):
    strategy, words = given
    app.segmented_control(key="compare_bin_kind").set_value(strategy).run()
    assert cards(app)[0]["ECE"].endswith(f"n = 400, {words}")
    in_full = f"15 bins of {strategy.replace('_', ' ')}"
    assert said(
        app,
        f"ECE: mean gap between estimate and share right, over bins, weighted by cases; estimates above 1 "
        f"set to 1. Here over {in_full}",
    )
    report = compare_report.page(scene_without_a_class(EstimateSettings(strategy=strategy)))
    assert f"ECE ({in_full})" in report


@tried("C9", fewer=7)
def test_every_ece_of_the_live_lab_has_its_n_and_its_bins(given):
    app = open_digits()
    app.slider(key="bins").set_value(given).run()
    (html,) = (element.value for element in app.html if 'class="kpis"' in element.value)
    eces = [text for text in re.findall(r'title="(.*?)"', html, re.DOTALL) if text.startswith("ECE: ")]
    assert len(eces) == 3
    assert all(re.search(rf"^ECE: .*\(n = 359\)\. .*ECE over {given} bins", text) for text in eces)


@tried("C12", isotonic="isotonic", platt="platt")
def test_a_correction_from_one_outcome_is_flagged_on_the_page_and_in_the_report(given):
    right = made_scores(seed=5)
    validation = replace(right, answers=right.labels[:, None])
    evaluation = Evaluation(
        Comparison([System("s", right, validation)]), EstimateSettings(recalibration=given), 0.0, 1.0
    )
    assert "fitted on one outcome only" in compare_numbers.correction_words(evaluation.looks, evaluation.corrections)
    assert "fitted on one outcome only" in compare_report.page(evaluation)


WARNING = "image-level split, scores may be optimistic"


@tried("A1", by_image="by_image", by_lesion="by_lesion")
@pytest.mark.filterwarnings(IGNORE_SIZE, "ignore:image-level split")
def test_a_run_keeps_and_tells_how_its_lesions_are_split(given, tmp_path, monkeypatch):
    options = {"height": 16, "width": 16, "split": given}
    config = replace(SHORT, dataset="ham10000", dataset_options=options, epochs=1, batch_size=8)
    folder = tmp_path / "0123456789abcdef"
    on_step, on_epoch = keep_log(folder, config)
    data_root = write_lesions(tmp_path / "data")
    run_experiment(config, data_root=data_root, device="cpu", folder=folder, on_epoch=on_epoch, on_step=on_step)
    write_record(folder, Record("lesions"))
    view = read_job(folder)
    assert re.fullmatch(r"training 42 images of \d+ lesions, validation .* lesions, test .* lesions", view.split)
    assert (WARNING in view.split_warning) == (WARNING in read_log(folder)) == (given == "by_image")
    assert view.split in read_log(folder)

    board = FakeBoard()
    monkeypatch.setattr(jobs_board, "job_board", lambda: board)
    app = open_train(board.have(state="done", epochs=1, split=view.split, split_warning=view.split_warning))
    assert not app.exception
    assert any("Split: training 42 images" in unescape(text) for text in texts(app))
    assert any(WARNING in unescape(warning.value) for warning in app.warning) == (given == "by_image")
