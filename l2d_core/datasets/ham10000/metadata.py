"""The metadata of HAM10000 in any published layout, recognised by its columns, as one table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from l2d_core.datasets.delimited_text import Source, read_head, read_header, read_rows, read_text, source_name
from l2d_core.datasets.ham10000.values import (
    CLASS_NAMES,
    clean_age,
    clean_archive_class,
    clean_class,
    clean_confirmation,
    clean_image_id,
    clean_lesion,
    clean_sex,
    clean_site,
    match_key,
    plain_key,
)

COLUMNS = ("image_id", "lesion_id", "dx", "dx_type", "age", "sex", "localization")
# Names of the columns in the published files; the first one present is used.
COLUMN_NAMES = {
    "image_id": ("image_id", "image", "isic_id", "image_name", "imageid", "file_name", "filename", "file"),
    "lesion_id": ("lesion_id", "lesionid", "lesion"),
    "dx": ("dx", "diagnosis", "diagnosis_3"),
    "dx_type": ("dx_type", "diagnosis_confirm_type"),
    "age": ("age", "age_approx"),
    "sex": ("sex", "gender"),
    "localization": ("localization", "localisation", "anatom_site_general", "anatom_site_general_challenge"),
}
ONE_HOT_NAMES = (*CLASS_NAMES, "ak", "scc", "unk")
ARCHIVE_COLUMNS = ("diagnosis_5", "diagnosis_4", "diagnosis_3", "diagnosis_2", "diagnosis_1")
NAMES = {name for names in COLUMN_NAMES.values() for name in names}.union(ONE_HOT_NAMES, ARCHIVE_COLUMNS)
MAX_CHARACTERS = 200

Row = dict[str, str]


@dataclass(frozen=True)
class Metadata:
    """A table that was read: the columns COLUMNS and notes, all text; and its file's name.

    absent: the columns of COLUMNS that the file does not have; repeated: the number of repeated rows.
    """

    table: pd.DataFrame
    name: str
    absent: tuple[str, ...]
    repeated: int


@dataclass(frozen=True)
class Layout:
    """The positions of the columns in a file: of COLUMNS, or of the classes where each has a column of 0 and 1.

    terms: the ISIC archive's columns of diagnoses, the finest first; empty in other files.
    """

    places: Mapping[str, int]
    classes: Mapping[str, int]
    width: int
    delimiter: str
    terms: Mapping[str, int]

    @property
    def has_diagnosis(self) -> bool:
        return "dx" in self.places or bool(self.classes)


def read_metadata(source: Source, *, labelled: bool = True) -> pd.DataFrame:
    """The rows of a path, bytes or file object in its order, each image once: COLUMNS and notes, all text.

    age in years, sex, localization and dx_type are "unknown" where they are blank, missing or not understood; notes
    says what is odd in a row. dx is one of CLASS_NAMES; lesion_id is "" where it is unknown. labelled: whether
    diagnoses are required; where they are not, dx is "" for a missing one, and for one that is not among the seven.

    FileNotFoundError where there is no file; ValueError names the file, and the line of a bad line: other text,
    missing columns, unknown diagnoses with their counts, and an image with two different rows.
    """
    return parse_metadata(source, labelled=labelled).table


def parse_metadata(source: Source, *, labelled: bool = True) -> Metadata:
    """The table of `read_metadata`, with the file's name, missing columns, and the number of repeated rows."""
    name, text = source_name(source), read_text(source)
    layout = find_layout(text, name)
    if labelled and not layout.has_diagnosis:
        raise ValueError(f"{_lacks(name, ['dx'])}; it has {', '.join(read_header(text, name, NAMES)[0])}")
    # People may have numbered their own pictures as a computer numbers copies.
    key_of = match_key if labelled else plain_key
    first: dict[str, tuple[int, Row]] = {}
    repeated = 0
    for line, fields in read_rows(text, name, layout.width, layout.delimiter):
        row = _clean(_pick(fields, layout, name, line))
        earlier = first.setdefault(key_of(row["image_id"]), (line, row))
        if earlier[0] != line:
            _require_same(earlier, (line, row), name)
            repeated += 1
    if not first:
        raise ValueError(f"{name} must have at least one row below its column names, got none")
    rows = [row for _, row in first.values()]
    if labelled:
        _check_classes([row["dx"] for row in rows], name)
    absent = tuple(
        column for column in COLUMNS if column not in layout.places and (column != "dx" or not layout.classes)
    )
    table = pd.DataFrame([_leave_out_strangers(row) for row in rows], columns=[*COLUMNS, "notes"], dtype=object)
    return Metadata(table, name, absent, repeated)


def find_layout(text: str, name: str) -> Layout:
    """The positions of the columns, by the header. ValueError names a missing column and those present."""
    header, delimiter = read_header(text, name, NAMES)
    places = {}
    for column, names in COLUMN_NAMES.items():
        found = [header.index(other) for other in names if other in header]
        places.update({column: found[0]} if found else {})
    if "image_id" not in places:
        raise ValueError(f"{_lacks(name, ['image_id'])}; it has {', '.join(header[:20])}")
    classes = {other: header.index(other) for other in ONE_HOT_NAMES if other in header}
    one_hot = "dx" not in places and {clean_class(other) for other in classes}.issuperset(CLASS_NAMES)
    terms = {column: header.index(column) for column in ARCHIVE_COLUMNS if column in header}
    return Layout(places, classes if one_hot else {}, len(header), delimiter, terms if len(terms) > 1 else {})


def describes_images(path: Path) -> bool:
    """Whether a header is one of metadata: image ids, and diagnoses or lesions. ValueError where there is no table."""
    layout = find_layout(read_head(path), str(path))
    return layout.has_diagnosis or "lesion_id" in layout.places


def _lacks(name: str, columns: Sequence[str]) -> str:
    """A message on a missing column, with the names that it could have."""
    wanted = " and ".join(f"{column} ({', '.join(COLUMN_NAMES[column][1:])} would do too)" for column in columns)
    return f"{name} lacks the column {wanted}"


def _pick(fields: Sequence[str], layout: Layout, name: str, line: int) -> Row:
    """The fields of a row by column, "" where the file has no such column."""
    row = {column: fields[layout.places[column]] if column in layout.places else "" for column in COLUMNS}
    for column, text in row.items():
        if len(text) > MAX_CHARACTERS:
            raise ValueError(
                f"{name} must have at most {MAX_CHARACTERS} characters in {column}, got {len(text):,} at line {line}"
            )
    if not row["image_id"]:
        raise ValueError(f"{name} must have an image_id in each row, got none at line {line}")
    if layout.classes:
        row["dx"] = _named(fields, layout.classes, name, line)
    if layout.terms:
        row["dx"], row["dx_note"] = _archive_diagnosis(fields, layout.terms)
    return row


def _archive_diagnosis(fields: Sequence[str], terms: Mapping[str, int]) -> tuple[str, str]:
    """The class by the finest of the archive's terms that has one, and a note; the finest term where none has."""
    given = [(column, fields[place]) for column, place in terms.items() if fields[place]]
    for column, text in given:
        if dx := clean_archive_class(text):
            return dx, f"dx: {column} {text[:60]!r} counts as {dx}"
    return (given[0][1] if given else ""), ""


def _named(fields: Sequence[str], classes: Mapping[str, int], name: str, line: int) -> str:
    """The class whose column has the only 1 in the row."""
    values = {column: fields[place].replace(",", ".") for column, place in classes.items()}
    chosen = [column for column, text in values.items() if text in ("1", "1.0")]
    if len(chosen) != 1 or any(text not in ("0", "0.0", "") for column, text in values.items() if column != chosen[0]):
        got = ", ".join(f"{column} {text[:20]!r}" for column, text in values.items())
        raise ValueError(f"{name} must have one 1 among zeros in the classes' columns, got {got} at line {line}")
    return chosen[0]


def _clean(row: Row) -> Row:
    """The cleaned row with its notes; a diagnosis that is none of the seven stays as it is."""
    cleaned = {
        "dx_type": clean_confirmation(row["dx_type"]),
        "age": clean_age(row["age"]),
        "sex": clean_sex(row["sex"]),
        "localization": clean_site(row["localization"]),
    }
    return {
        "image_id": clean_image_id(row["image_id"]),
        "lesion_id": clean_lesion(row["lesion_id"]),
        "dx": clean_class(row["dx"]) or row["dx"],
        **{column: value for column, (value, _) in cleaned.items()},
        "notes": "; ".join(filter(None, [row.get("dx_note", ""), *(note for _, note in cleaned.values())])),
    }


def _require_same(first: tuple[int, Row], again: tuple[int, Row], name: str) -> None:
    for column in COLUMNS[1:]:
        before, after = first[1][column], again[1][column]
        if before != after:
            raise ValueError(
                f"image_id must name each image once, got {first[1]['image_id']} twice in {name}, with {column} "
                f"{before!r} at line {first[0]} and {after!r} at line {again[0]}"
            )


def _leave_out_strangers(row: Row) -> Row:
    """Where diagnoses are optional, remove and note those that are none of the seven."""
    if not row["dx"] or row["dx"] in CLASS_NAMES:
        return row
    note = f"dx {row['dx'][:40]!r} is none of the seven classes: left out"
    return {**row, "dx": "", "notes": "; ".join(filter(None, (note, row["notes"])))}


def _check_classes(diagnoses: Sequence[str], name: str) -> None:
    strangers = Counter(dx for dx in diagnoses if dx not in CLASS_NAMES)
    if strangers:
        listed = ", ".join(f"{dx[:40]!r} ({count:,} rows)" for dx, count in strangers.most_common(20))
        more = "" if len(strangers) <= 20 else f" and {len(strangers) - 20:,} others"
        raise ValueError(f"dx must be one of {', '.join(CLASS_NAMES)}; got {listed}{more} in {name}")
