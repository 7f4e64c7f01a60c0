"""A sweep: its file, the names of its runs, its table, and how it is told."""

import io
import json
from dataclasses import replace

import pandas as pd
import pytest
from made_runs import CONFIG, write_run

from l2d_core.cli.commands import main
from l2d_core.config import RunConfig
from l2d_core.evaluation.summary import measure
from l2d_core.runs.folder import open_run
from l2d_core.sweeps import cluster
from l2d_core.sweeps.plan import MAX_NAME, plan_sweep, read_sweep, run_name, vary
from l2d_core.sweeps.results import Outcome, markdown, measures_of, sweep_table, tell

GRID = {"surrogate": ["softmax", "one_vs_all"], "seed": [0, 1]}


def test_a_grid_is_every_combination_of_its_values():
    sweep = plan_sweep({"base": {"epochs": 3}, "grid": {**GRID, "expert.accuracy": [[0.5], [0.75]]}})
    assert list(sweep.configs)[:3] == [
        "softmax-expert.accuracy=0.5-seed=0",
        "softmax-expert.accuracy=0.75-seed=0",
        "softmax-expert.accuracy=0.5-seed=1",
    ]
    assert len(sweep.configs) == 8
    config = sweep.configs["one_vs_all-expert.accuracy=0.75-seed=1"]
    assert (config.surrogate, config.seed, config.epochs, config.expert.accuracy) == ("one_vs_all", 1, 3, (0.75,))


def test_a_list_names_each_run_and_a_whole_object_replaces_that_of_the_base():
    base = {"dataset_options": {"noise": 0.5}, "dataset": "digits"}
    runs = [{}, {"dataset_options.noise": 1}, {"dataset_options": {}}, {"expert": {"kind": "human", "name": "me"}}]
    sweep = plan_sweep({"base": base, "runs": runs})
    assert list(sweep.configs) == [
        "one_vs_all-seed=0",
        "one_vs_all-dataset_options.noise=1-seed=0",
        "one_vs_all-dataset_options.noise=none-seed=0",
        "one_vs_all-expert.accuracy=none-expert.kind=human-expert.name=me-seed=0",
    ]
    assert [dict(config.dataset_options) for config in sweep.configs.values()][:3] == [{"noise": 0.5}, {"noise": 1}, {}]


def test_names_stay_as_a_sweep_grows_by_values_by_settings_and_in_another_order():
    base = {"epochs": 3}
    small = plan_sweep({"base": base, "grid": {"surrogate": ["softmax"]}})
    grown = plan_sweep(
        {"base": base, "grid": {"seed": [2, 0], "epochs": [9, 3], "surrogate": ["one_vs_all", "softmax"]}}
    )
    assert small.configs.items() <= grown.configs.items()
    assert len(grown.configs) == 8


@pytest.mark.parametrize(
    ("change", "middle"),
    [
        ({"learning_rate": 1e-05}, "learning_rate=1e-05"),
        ({"patience": None}, "patience=none"),
        ({"compile": True}, "compile=true"),
        ({"expert.accuracy": [0.75] * 5 + [0.2] * 4 + [0.1]}, "expert.accuracy=0.75x5+0.2x4+0.1"),
        ({"expert": {"kind": "right_on", "classes": []}}, "expert.accuracy=none-expert.kind=right_on"),
    ],
)
def test_a_name_says_what_differs(change, middle):
    assert list(plan_sweep({"runs": [change]}).configs) == [f"one_vs_all-{middle}-seed=0"]


def test_names_are_safe_short_and_unique_whatever_the_settings():
    texts = [
        "a",
        "A",
        "1",
        1,
        True,
        "true",
        None,
        "none",
        "a/b",
        "a\\b",
        "..",
        "é",
        "x" * 300,
        "x" * 301,
        "a=1-b=2",
        "",
        ".",
    ]
    settings = [{"dataset_options": {"option": text}} for text in texts]
    settings += [{"dataset_options": {text: 1}} for text in ("B", "b", "../x", "b c", "b=1")]
    settings += [{"surrogate": text} for text in ("CON", "soft max", "softmax-seed=0", "/etc")]
    settings += [{"expert": {"kind": "confusion", "confusion": [[p, 1 - p], [0, 1]]}} for p in (0.5, 0.25)]
    names = [run_name(one, {}) for one in settings]
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.=_+-"), name
        assert len(name) <= MAX_NAME
        assert not name.startswith(".")
        assert not name.endswith(".")


def test_settings_that_do_not_go_together_are_problems_and_the_others_runs():
    grid = {"schedule": ["one_cycle", "cosine_warmup"], "warmup_epochs": [0, 2]}
    sweep = plan_sweep({"grid": grid})
    assert len(sweep.configs) == 3
    assert sweep.problems == {
        "one_vs_all-warmup_epochs=2-seed=0": "warmup_epochs must be 0 with the schedule 'one_cycle', got 2"
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "Expecting value"),
        ("[" * 100_000, ""),
        ("3", 'a sweep must be {"base": {...}, "grid": '),
        ('{"grid": {}, "seeds": 3}', "a sweep must be "),
        ("{}", "a sweep must have either grid or runs: "),
        ('{"grid": {}, "runs": []}', "a sweep must have either grid or runs: "),
        ('{"base": 3, "grid": {}}', "base must be an object of settings, got 3"),
        ('{"grid": 3}', "grid must be an object of settings, with a list of values each, got 3"),
        ('{"grid": {"seed": 3}}', "grid['seed'] must be a list of values, got 3"),
        ('{"grid": {"seed": []}}', "a sweep must be of 1 to 10,000 runs, got 0"),
        ('{"runs": []}', "a sweep must be of 1 to 10,000 runs, got 0"),
        ('{"runs": [{}, 3]}', "runs[1] must be an object of settings, got 3"),
        ('{"runs": [{"seed": 1}, {}, {"seed": 1}]}', "runs 0 and 2 (from 0) have the same settings: one_vs_all-seed=1"),
        ('{"base": {"expert": 3}, "grid": {"expert.name": [1]}}', "expert must be an object, got 3"),
        ('{"grid": {"surogate": ["softmax"]}}', "config has the unknown fields 'surogate'; known are "),
        ('{"base": {"epochs": 0}, "grid": {"seed": [0, 1]}}', "epochs must be at least 1, got 0"),
    ],
)
def test_a_file_that_is_no_sweep_is_named_with_what_is_wrong(tmp_path, content, message):
    path = tmp_path / "sweep.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"sweep\.json: ") as caught:
        read_sweep(path)
    assert message in str(caught.value)


def test_a_grid_that_explodes_is_refused_before_it_is_made():
    with pytest.raises(ValueError, match=r"got 1,000,000,000,000,000,000"):
        plan_sweep({"grid": {f"{place}": [0] * 1000 for place in range(6)}})


def test_options_make_a_sweep_of_surrogates_and_seeds():
    sweep = vary(RunConfig(seed=5, epochs=3), ["softmax", "one_vs_all"], 2)
    assert list(sweep.configs) == [f"{name}-seed={seed}" for name in ("softmax", "one_vs_all") for seed in (5, 6)]
    assert sweep.configs["softmax-seed=6"] == RunConfig(seed=6, epochs=3, surrogate="softmax")
    assert list(vary(RunConfig(), [], 1).configs) == ["one_vs_all-seed=0"]
    with pytest.raises(ValueError, match="seeds must be at least 1 and at most 10,000, got 0"):
        vary(RunConfig(), [], 0)


@pytest.fixture
def table(tmp_path):
    configs = {"a": replace(CONFIG, surrogate="softmax"), "b": replace(CONFIG, epochs=5), "c": CONFIG}
    outcomes = {
        "bad": Outcome("failed", "a | b\nc"),
        "a": Outcome("done"),
        "b": Outcome("done"),
        "c": Outcome("queued"),
    }
    # The scores of a surrogate that odds are read from: any logits do.
    measures = {"b": measures_of(open_run(write_run(tmp_path / "b", CONFIG)))}
    measures["a"] = {**measures["b"], "ece_odds": 0.125}
    del measures["a"]["ece_sigmoid"]
    return sweep_table(configs, outcomes, measures)


def test_the_table_has_the_settings_that_differ_and_the_measures_of_each_run(table, tmp_path):
    columns = (
        "run surrogate epochs state epochs_done test_cases ece_odds ece_sigmoid system_accuracy coverage wall_seconds"
    )
    assert list(table.columns) == [*columns.split(), "message"]
    rows = table.set_index("run")
    assert list(rows["epochs"].dropna()) == [3, 5, 3]
    assert pd.isna(rows["surrogate"]["bad"])
    assert rows["message"]["bad"] == "a | b\nc"
    scores = open_run(tmp_path / "b").test
    by_hand = measure(scores, "sigmoid", bins=15, strategy="equal_width")
    assert rows["ece_sigmoid"]["b"] == by_hand["ece"].value
    assert rows["system_accuracy"]["b"] == by_hand["system"].value
    assert rows["coverage"]["b"] == (scores.logits.argmax(1) < 3).mean()
    assert list(rows.loc["b", ["epochs_done", "test_cases", "wall_seconds"]]) == [3, 20, 7.5]
    assert rows.loc["c", "test_cases":"wall_seconds"].isna().all()


def test_the_table_in_markdown_has_percent_and_no_cell_that_breaks_a_row(table):
    lines = markdown(table).splitlines()
    assert lines[0].startswith("| run | surrogate | epochs | state | epochs_done | ")
    assert lines[2].count(" | ") == lines[0].count(" | ")
    assert lines[2].endswith("| a \\| b c |")
    assert lines[3].startswith("| a | softmax | 3 | done | 3 | 20 | 12.5 % | - | ")
    assert lines[5] == "| c | one_vs_all | 3 | queued | - | - | - | - | - | - | - | - |"
    assert lines[-1] == "ECE in 15 bins of equal width; all measures on the test cases"


def test_the_table_reads_back_from_csv_with_whole_numbers_whole(table):
    stored = pd.read_csv(io.StringIO(table.to_csv(index=False)), dtype=str).set_index("run")
    assert list(stored["epochs"][["a", "b"]]) == ["3", "5"]
    assert stored["test_cases"]["a"] == "20"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_end_of_each_run_is_a_line_and_counts_stay_below_on_a_terminal():
    outcomes = {"a": Outcome("failed", "no"), "b": Outcome("running"), "c": Outcome("queued")}
    plain, terminal = io.StringIO(), Terminal()
    for stream in (plain, terminal):
        for name in ("b", "a"):
            tell(stream)(name, outcomes)
    assert plain.getvalue() == "a failed: no (1 running, 1 queued, 1 failed)\n"
    assert "1 running, 1 queued, 1 failed\r" in terminal.getvalue()


@pytest.fixture
def handed_over(monkeypatch, table):
    """What the command gave to run_many."""
    calls = []

    def run_many(configs, **options):
        calls.append((configs, options))
        return table

    monkeypatch.setattr(cluster, "run_many", run_many)
    return calls


def test_the_command_takes_settings_from_a_file(tmp_path, handed_over, capsys):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps({"grid": GRID}))
    with pytest.raises(SystemExit) as left:
        main(["sweep", str(path), "--out", "runs", "--scheduler", "tcp://here:8786", "--threads", "2"])
    assert left.value.code == 1  # not all of these are done
    configs, options = handed_over[0]
    assert len(configs) == 4
    assert (options["scheduler"], options["threads"], options["workers"]) == ("tcp://here:8786", 2, None)
    assert "| a | softmax | 3 | done | " in capsys.readouterr().out


def test_the_command_takes_settings_from_options(handed_over):
    with pytest.raises(SystemExit):
        main(["sweep", "--out", "runs", "--surrogates", "softmax", "one_vs_all", "--seeds", "3", "--epochs", "4"])
    configs, _ = handed_over[0]
    assert list(configs)[:2] == ["softmax-seed=0", "softmax-seed=1"]
    assert {config.epochs for config in configs.values()} == {4}
    assert len(configs) == 6


def test_a_file_and_options_together_are_refused(tmp_path, handed_over, capsys):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps({"grid": GRID}))
    assert main(["sweep", str(path), "--out", "runs", "--epochs", "4"]) == 2
    assert "from options: put them all" in capsys.readouterr().err
    assert not handed_over
