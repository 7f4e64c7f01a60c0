"""The files that the live lab offers."""

import io

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from lab_page import assert_drawable, open_lab, summary

from l2d_core.datasets import LAB_DATASETS
from l2d_core.evaluation.estimator_view import risk_histogram
from l2d_core.evaluation.measures import SUMMARY

FILES = ("reliability", "estimates", "risk", "coverage", "classes", "truth", "plane", "numbers")
ESTIMATORS = ["odds", "proxy", "sigmoid"]
SYSTEMS = ["softmax", "one_vs_all"]
NUM_TEST, NUM_SHOWN, NUM_POINTS = 4000, 400, 61**2


@pytest.fixture(scope="module")
def files():
    """The page, and file name -> the bytes that its button gives."""
    offered, button = {}, st.download_button

    def watched(label, data, file_name, *args, **options):
        offered[file_name] = data() if callable(data) else data
        return button(label, data, file_name, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "download_button", watched)
        return open_lab(data="gaussians", seeds=2, gaussians_epochs=3), offered


def read(text):
    return pd.read_csv(io.BytesIO(text))


def test_all_tables_are_offered_and_can_be_drawn(files):
    _, offered = files
    assert set(offered) == {f"{name}.csv" for name in FILES}
    for name, text in offered.items():
        assert b"nan" not in text.lower()
        if name not in ("estimates.csv", "classes.csv"):  # a bin without an end; other estimators' columns
            assert_drawable(read(text), name)


@pytest.mark.parametrize(
    ("name", "parts", "rows"),
    [
        ("reliability", ESTIMATORS, 15),
        ("risk", ESTIMATORS, 21),
        ("estimates", ESTIMATORS, 61),
        ("classes", SYSTEMS, 4),
        ("coverage", SYSTEMS, 101),
        ("truth", ESTIMATORS, NUM_SHOWN),
        ("plane", ["bayes", *SYSTEMS], NUM_POINTS),
    ],
)
def test_a_file_holds_one_table_for_each_chart(files, name, parts, rows):
    table = read(files[1][f"{name}.csv"])
    assert table.groupby("of", sort=False).size().to_dict() == dict.fromkeys(parts, rows)


def test_the_reliability_file_counts_each_test_case_once(files):
    table = read(files[1]["reliability.csv"])
    assert table.groupby("of")["cases"].sum().to_list() == pytest.approx([NUM_TEST] * 3)
    assert (table["cases_right"] <= table["cases"]).all()


def test_the_risk_file_has_the_true_share_of_the_same_bin(files):
    data = LAB_DATASETS["gaussians"]
    test = data.load(0, data.default_noise).test
    right = data.class_probability(test.inputs.numpy(), data.default_noise) @ [0.75, 0.75, 0.2, 0.2]
    expected = risk_histogram(1 - right).set_index("low")["share"]
    for _, table in read(files[1]["risk.csv"]).groupby("of"):
        assert table["share"].sum() == pytest.approx(1)
        true = table.set_index("low")["true_share"]
        assert true[true.index < 0].to_list() == [0]
        assert true[true.index >= 0].to_list() == pytest.approx(expected.to_list())


def test_the_file_of_single_estimates_and_of_the_plane_hold_probabilities(files):
    truth, plane = (read(files[1][f"{name}.csv"]) for name in ("truth", "plane"))
    assert truth["true"].between(0.2, 0.75).all()
    assert plane["share_of_seeds"].between(0, 1).all()
    assert set(plane.loc[plane["of"] == "bayes", "share_of_seeds"]) == {0, 1}
    assert plane[["x1", "x2"]].abs().max().to_list() == [2.5, 2.5]


def test_the_file_of_all_numbers_holds_what_the_page_shows_in_full_precision(files):
    app, offered = files
    table = read(offered["numbers.csv"]).set_index(["estimator", "measure"])
    assert len(table) == 3 * len(SUMMARY)
    ece = table.loc[("sigmoid", "ece")]
    assert (
        summary(app).loc["ECE", "One-vs-all"].startswith(f"{100 * ece['mean']:.1f} ± {100 * ece['half_width']:.1f} %")
    )
    assert not np.isclose(100 * ece["mean"], round(100 * ece["mean"], 1), rtol=0, atol=1e-9)
    assert (table["seeds"] == 2).all()
