"""The checks at the door: what each lets through, and that it names argument, rule, offender and row."""

import numpy as np
import pytest

from l2d_core.common.checks import brief, list_names, require_finite, require_known, require_range, require_shape


@pytest.mark.parametrize("expected", [(2, 3), (None, 3), (2, None), (None, None)])
def test_a_shape_that_fits_passes(expected):
    require_shape("logits", np.zeros((2, 3)), expected)


@pytest.mark.parametrize(
    ("shape", "expected", "message"),
    [
        ((2, 3), (2, 4), r"logits must have shape \(2, 4\), got \(2, 3\)"),
        ((2, 3), (None, 2), r"logits must have shape \(any, 2\), got \(2, 3\)"),
        ((2,), (2, 1), r"logits must have shape \(2, 1\), got \(2,\)"),
        ((2, 3, 1), (2, 3), r"logits must have shape \(2, 3\), got \(2, 3, 1\)"),
        ((), (None,), r"logits must have shape \(any\), got \(\)"),
    ],
)
def test_another_shape_is_named_beside_the_one_wanted(shape, expected, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        require_shape("logits", np.zeros(shape), expected)


def test_both_ends_of_a_range_belong_to_it():
    require_range("probability", np.array([0.0, 0.5, 1.0]), 0, 1)
    require_range("labels", np.array([], dtype=int), 0, 3)


@pytest.mark.parametrize(
    ("values", "offender"),
    [
        ([0.5, 1.25, -1.0], "1.25 at row 1"),
        ([-0.5, 2.0], "-0.5 at row 0"),
        ([0.0, np.nan], "nan at row 1"),
        ([0.0, 0.0, np.inf], "inf at row 2"),
        ([[0.0, 0.0], [0.0, 7.0]], "7.0 at row 1"),
    ],
)
def test_the_first_value_out_of_range_is_named_with_its_row(values, offender):
    with pytest.raises(ValueError, match=rf"^probability must lie in 0\.\.1, got {offender}$"):
        require_range("probability", np.array(values), 0, 1)


def test_ids_name_the_row():
    with pytest.raises(ValueError, match=r"^labels must lie in 0\.\.9, got 12 at row 2 \(ISIC_0024310\)$"):
        require_range("labels", np.array([0, 9, 12]), 0, 9, ids=["a", "b", "ISIC_0024310"])
    with pytest.raises(ValueError, match=r"^logits must be finite, got nan at row 1 \(é\)$"):
        require_finite("logits", np.array([[0.0, 1.0], [0.0, np.nan]]), ids=np.array(["a", "é"]))


@pytest.mark.parametrize(("bad", "name"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_the_first_value_that_is_not_finite_is_named(bad, name):
    require_finite("inputs", np.array([1e300, -1e300, 0.0]))
    with pytest.raises(ValueError, match=f"^inputs must be finite, got {name} at row 1$"):
        require_finite("inputs", np.array([0.0, bad, np.nan]))


def test_a_single_number_has_no_row():
    with pytest.raises(ValueError, match=r"^alpha must lie in 0\.\.1, got 2\.0$"):
        require_range("alpha", np.array(2.0), 0, 1)


def test_an_unknown_name_lists_the_known_ones():
    require_known("kind", "mlp", ("linear", "mlp"))
    with pytest.raises(ValueError, match=r"^kind must be one of 'linear', 'mlp'; got 'tree'$"):
        require_known("kind", "tree", ("linear", "mlp"))
    with pytest.raises(ValueError, match=r"^kind must be one of 'linear'; got 'lin'$"):
        require_known("kind", "lin", {"linear": 1})


@pytest.mark.parametrize(
    "value", ["x" * 10**6, 10**1000, [[[[[[1]]]]]] * 1000, dict.fromkeys(range(1000), "x" * 1000), (1,) * 999]
)
def test_a_long_value_is_quoted_in_short(value):
    assert len(brief(value)) < 1000
    assert "..." in brief(value)


def test_a_short_value_is_quoted_as_it_is():
    assert [brief(value) for value in ("a'b", 12, [1, 2], None, 0.5)] == ['"a\'b"', "12", "[1, 2]", "None", "0.5"]


def test_of_many_names_the_first_are_listed_and_the_rest_counted():
    assert list_names(["a", "b"]) == "'a', 'b'"
    assert list_names([str(n) for n in range(1200)]).endswith("'8', '9' and 1,190 more")
