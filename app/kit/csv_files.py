"""Tables to be taken away as CSV: the one writer and the one button of all pages."""

from collections.abc import Callable, Mapping

import pandas as pd
import streamlit as st

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def to_csv(table: pd.DataFrame) -> bytes:
    """The table in UTF-8, without its index, in which no text is a formula to a spreadsheet.

    A text, or a column's name, that begins as a formula does gets an apostrophe in front. A file with letters that are
    not ASCII starts with a byte order mark, by which Excel knows the encoding.
    """
    safe = table.rename(columns=_harmless)
    for place, kind in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            safe.isetitem(place, table.iloc[:, place].astype(object).map(_harmless))
    text = safe.to_csv(index=False)
    return text.encode("utf-8" if text.isascii() else "utf-8-sig")


def stacked(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The tables one under the other, with a first column "of" that names each."""
    return pd.concat(tables, names=["of", "row"]).reset_index("of")


def download_button(
    label: str,
    table: pd.DataFrame | Callable[[], pd.DataFrame],
    file_name: str,
    *,
    key: str | None = None,
    text: str | None = None,
    disabled: bool = False,
) -> None:
    """A button that gives a table; a function that makes it is called when the button is pressed. text: its tooltip."""
    st.download_button(
        label,
        lambda: to_csv(table() if callable(table) else table),
        file_name,
        "text/csv",
        key=key,
        icon=":material/download:",
        on_click="ignore",
        help=text,
        disabled=disabled,
    )


def _harmless(value: object) -> object:
    if isinstance(value, str) and value.lstrip().startswith(_FORMULA):
        return f"'{value}"
    return value
