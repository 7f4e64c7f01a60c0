"""The table of runs: each number with its n, a column for each estimator of each run."""

from dataclasses import replace

from made_runs import CONFIG, some_scores, write_run

from l2d_core.evaluation.measures import SUMMARY
from l2d_core.evaluation.summary import measure
from l2d_core.runs.folder import Run, open_run
from l2d_core.runs.table import markdown_table


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_a_table_has_a_column_for_each_estimator_of_each_run(tmp_path):
    one = open_run(write_run(tmp_path / "one"))
    softmax = replace(CONFIG, surrogate="softmax")
    scores = some_scores(surrogate="softmax")
    other = Run(tmp_path / "other", softmax, {"state": "done"}, one.history, scores, scores)
    header, rule, *rows = cells(markdown_table([one, other], "test"))
    names = [f"{tmp_path / 'one'}: sigmoid", f"{tmp_path / 'other'}: odds", f"{tmp_path / 'other'}: proxy"]
    assert header == ["test; ECE in 15 bins of equal width", *names]
    assert rule == ["---"] * 4
    assert {len(row) for row in rows} == {4}


def test_the_numbers_are_those_of_the_split_with_their_n(tmp_path):
    run = open_run(write_run(tmp_path / "run"))
    for split in ("test", "validation"):
        measured = measure(getattr(run, split), "sigmoid", bins=15, strategy="equal_width")
        lines = markdown_table([run], split).splitlines()
        assert len(lines) == 1 + len(SUMMARY)  # with the head and its rule, without the risk distance
        assert all(line.startswith("| ") and line.endswith(" |") for line in lines)
        rows = {row[0]: row[1] for row in cells(markdown_table([run], split))}
        system, kept, brier = measured["system"], measured["machine_on_kept"], measured["brier"]
        assert rows["System accuracy"] == f"{100 * system.value:.1f} % (n = 20)"
        assert rows["Machine on kept cases"] == f"{100 * kept.value:.1f} % (n = {kept.n})"
        assert rows["Brier score"] == f"{brier.value:.4f} (n = 20)"
        assert "Risk distance" not in rows  # the true risk of images is not known


def test_a_share_of_no_cases_is_a_dash(tmp_path):
    run = open_run(write_run(tmp_path / "run"))
    run.test.logits[:, -1] = -100.0  # nothing is deferred
    rows = {row[0]: row[1] for row in cells(markdown_table([run], "test"))}
    assert rows["Expert on deferred cases"] == "-"
    assert rows["Coverage"] == "100.0 % (n = 20)"
