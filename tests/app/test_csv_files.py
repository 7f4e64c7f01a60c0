"""CSV files of all pages: what they hold, and that a spreadsheet runs nothing in them."""

import io
import re
from pathlib import Path

import pandas as pd
import pytest

from app.kit import csv_files

APP = Path(csv_files.__file__).parents[1]


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", '=HYPERLINK("x")', "+1", "-2+3", "@SUM(A1)", "\t=1", "＝1"])
@pytest.mark.parametrize("kind", ["str", "object", "category"])
def test_a_name_that_is_a_formula_to_a_spreadsheet_is_written_as_text_in_cells_and_heads(text, kind):
    table = pd.DataFrame({text: pd.Series([text, "plain"], dtype=kind), "value": [-0.5, 1.0]})
    read = pd.read_csv(io.BytesIO(csv_files.to_csv(table)))
    assert read.columns.tolist() == [f"'{text}", "value"]
    assert read[f"'{text}"].tolist() == [f"'{text}", "plain"]
    assert read["value"].tolist() == [-0.5, 1.0]


def test_numbers_and_texts_are_written_as_pandas_writes_them():
    table = pd.DataFrame(
        {"a": [0.1, None], "n": pd.array([1, None], dtype="Int64"), "ok": [True, False], "t": ["x", ""]}
    )
    assert csv_files.to_csv(table) == table.to_csv(index=False).encode()
    assert csv_files.to_csv(table.assign(t="ü")).startswith(b"\xef\xbb\xbf")


def test_no_page_writes_a_csv_in_another_way():
    others = [path for path in APP.rglob("*.py") if path != Path(csv_files.__file__)]
    assert [path.name for path in others if re.search(r"\.to_csv\(|text/csv", path.read_text())] == []
