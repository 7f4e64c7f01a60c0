"""The paper's results, reproduced from what is shipped: complete tables, and findings that follow from them."""

import numpy as np
import pandas as pd
import pytest

from l2d_core.evaluation.accuracy import Statistic, machine_is_right
from l2d_core.evaluation.measures import MEASURES
from l2d_core.reproductions import REPRODUCTIONS
from l2d_core.reproductions.ham10000 import _finding
from l2d_core.reproductions.measured import Value
from l2d_core.reproductions.reproduce import as_markdown, design_of, names_at, reproduce
from l2d_core.reproductions.reproduction import COLUMNS
from l2d_core.reproductions.request import Request


@pytest.fixture(scope="module")
def ham(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    return reproduce("ham10000", Request((0, 1)), folder), folder / "ham10000"


def test_every_number_has_its_n_its_seeds_and_an_interval_where_there_is_more_than_one_seed(ham):
    table = ham[0].table
    assert tuple(table.columns) == COLUMNS
    assert (table["n"] > 0).all()
    heads = table[table["setting"].str.startswith("heads")]
    assert (heads["seeds"] == 2).all()
    is_p_value = heads["measure"].map(lambda name: MEASURES[name].is_p_value)
    assert (heads["half_width"].notna() == ~is_p_value).all()
    # t_{0.975, 1} = 12.706
    np.testing.assert_allclose(heads["half_width"].astype(float), 12.7062 * heads["standard_error"].astype(float), 1e-4)


def test_the_papers_numbers_stand_beside_the_right_rows(ham):
    known = ham[0].table.dropna(subset=["paper"])
    pairs = {(one["estimator"], one["measure"], one["paper"]) for one in known.to_dict("records")}
    assert pairs == {
        ("sigmoid", "risk_distance", 0.0802),
        ("odds", "risk_distance", 0.2672),
        ("odds", "expert_alone", 0.74),
        ("sigmoid", "expert_alone", 0.74),
    }


def test_the_tables_are_kept_as_csv_and_the_page_says_what_they_say(ham):
    result, folder = ham
    kept = pd.read_csv(folder / "table.csv")
    assert len(kept) == len(result.table)
    np.testing.assert_allclose(kept["mean"], result.table["mean"].astype(float))
    page = (folder / "page.md").read_text()
    assert page == as_markdown(result, design_of("ham10000", Request((0, 1))))
    for finding in result.findings:
        assert finding.text in page
    assert {path.name for path in folder.iterdir()} == {
        "table.csv",
        "classes.csv",
        "risk_histograms.csv",
        "manifest.json",
        "page.md",
    }


def test_shares_of_a_histogram_and_of_a_class_fit_the_rest(ham):
    details = ham[0].details
    true = details["risk_histograms"].query("estimator == 'true'").groupby("setting")["share"].sum()
    np.testing.assert_allclose(true, 1)
    classes = details["classes"]
    for (setting, surrogate), part in classes.groupby(["setting", "surrogate"]):
        system = (part["system"] * part["n"]).sum() / part["n"].sum()
        known = ham[0].table.set_index(["setting", "surrogate", "measure"])["mean"]
        assert system == pytest.approx(np.ravel(known[setting, surrogate, "system"])[0])


def finding(ours, theirs):
    values = [
        Value("made", surrogate, estimator, "risk_distance", Statistic(value, 10))
        for surrogate, estimator, own in (("one_vs_all", "sigmoid", ours), ("softmax", "odds", theirs))
        for value in own
    ]
    found = _finding(values, "made", "risk_distance")
    return found.kind, found.text


def test_a_finding_follows_from_differences_seed_by_seed():
    kind, text = finding([0.05, 0.15, 0.25], [0.08, 0.18, 0.29])  # seeds differ by more than the systems do
    assert kind == "agrees"
    assert "(paper: 8.02 % and 26.72 %): one-vs-all is lower, as in the paper; they differ by 3.33" in text
    assert finding([0.20, 0.21, 0.22], [0.05, 0.07, 0.06])[0] == "differs"
    assert finding([0.20, 0.21, 0.22], [0.22, 0.20, 0.22])[0] == "open"


def test_an_unknown_result_is_refused_and_the_known_ones_are_named():
    with pytest.raises(ValueError, match="ham10000"):
        reproduce("ham", Request((0, 1)))


def test_what_is_made_of_shipped_scores_has_one_scale(tmp_path):
    with pytest.raises(ValueError, match="only the scale quick"):
        reproduce("ham10000", Request((0, 1), "cpu", folder=tmp_path))
    assert "ham10000" not in names_at("cpu")
    assert names_at("quick") == list(REPRODUCTIONS)


def test_the_command_offers_all_results():
    from typing import get_args, get_type_hints

    from l2d_core.cli import commands

    annotated = get_type_hints(commands.reproduce_result, include_extras=True)["name"]
    assert set(get_args(get_args(annotated)[0])) == {"all", *REPRODUCTIONS}


def test_who_is_right_is_public_and_asks_every_expert():
    from small_scores import random_scores

    scores = random_scores(20)
    assert machine_is_right(scores).mean() == pytest.approx(
        np.mean(scores.logits[:, :3].argmax(axis=1) == scores.labels)
    )
