"""Groups of test cases: which columns can be grouped by, and bands of age."""

import numpy as np
import pandas as pd
import pytest

from app.kit import groups

TABLE = pd.DataFrame(
    {
        "age": ["29", "30", None, "-3", "85.0"],
        "sex": ["male", "", "female", "n/a", "male"],
        "site": ["back"] * 5,
        "is_new": [True, False, True, True, False],
    }
)


def test_columns_of_one_value_or_of_too_many_are_no_groups():
    many = pd.DataFrame({"name": [f"case {k}" for k in range(21)], "half": np.arange(21) % 2})
    assert list(groups.groupings(many)) == ["half"]
    assert list(groups.groupings(TABLE)) == ["age", "sex", "is_new"]


def test_ages_are_grouped_in_bands_and_missing_values_as_unknown():
    found = groups.groupings(TABLE)
    assert found["age"].tolist() == ["0-29", "30-44", "unknown", "unknown", "75 and over"]
    assert found["sex"].tolist() == ["male", "unknown", "female", "unknown", "male"]


@pytest.mark.parametrize(("high", "said"), [(0.7, "Served worst: b"), (0.9, "No group of 30 cases")])
def test_a_group_is_called_worse_only_where_its_interval_lies_below_the_value_of_all(high, said):
    row = {"n": 100, "system": 0.8, "system_low": 0.7, "system_high": 0.9, "overestimate": 0.05}
    worse = {"group": "b", "system": 0.6, "system_low": 0.5, "system_high": high}
    table = pd.DataFrame([row | {"group": "all"}, row | {"group": "a"}, row | worse, row | worse | {"n": 29}])
    found = groups.finding(table, "classes", is_raw=True)
    assert found.startswith(said)
    assert "nan" not in found


def test_a_long_name_of_a_group_does_not_take_its_room_in_every_case():
    found = groups.groupings(pd.DataFrame({"hospital": ["x" * 100_000, "b"] * 500}))
    assert found["hospital"].nbytes <= 1_000 * 4 * groups.MAX_LETTERS
