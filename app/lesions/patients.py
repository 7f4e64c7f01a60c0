"""Age, sex and site of the people on the pictures, from a table, matched to files by name."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from l2d_core.datasets.ham10000 import read_metadata
from l2d_core.datasets.ham10000.values import UNKNOWN, match_key, plain_key
from l2d_core.lesions.system import NEEDED


@dataclass(frozen=True)
class Patients:
    """Age, sex, site and notes as from `read_metadata`, by `plain_key` of the image's id; name: of the table."""

    name: str
    rows: Mapping[str, Mapping[str, str]]

    @classmethod
    def read(cls, data: bytes, name: str) -> "Patients":
        """From the bytes of a table. ValueError says what is wrong with it."""
        file = io.BytesIO(data)
        file.name = name
        table = read_metadata(file, labelled=False)
        records = table[["image_id", *NEEDED, "notes"]].to_dict("records")
        return cls(name, {plain_key(row["image_id"]): {str(k): str(v) for k, v in row.items()} for row in records})

    def joined(self, other: "Patients | None") -> "Patients":
        """This table, with the images of the other one that it does not list."""
        if other is None:
            return self
        if self.name in other.name.split(", "):
            return other
        return Patients(f"{self.name}, {other.name}", {**other.rows, **self.rows})

    def key_of(self, file: str) -> str | None:
        """The row of a file by its name, never by its position; None where there is none.

        The marks of a copy, as in "ISIC_1 (1).jpg", are ignored on one side only and where one row fits: on both sides
        they are numbers of different pictures, and "lesion (1)" is no copy of "lesion (2)".
        """
        stem = PurePosixPath(file).stem
        own, unmarked = plain_key(stem), match_key(stem)
        if own in self.rows:
            return own
        if unmarked != own:
            return unmarked if unmarked in self.rows else None
        copies = self._copies.get(own, [])
        return copies[0] if len(copies) == 1 else None

    @cached_property
    def _copies(self) -> dict[str, list[str]]:
        """The keys of rows with the marks of a copy, by the key without them."""
        found: dict[str, list[str]] = {}
        for key in self.rows:
            if match_key(key) != key:
                found.setdefault(match_key(key), []).append(key)
        return found

    def of(self, file: str) -> Mapping[str, str] | None:
        """The row of a file, by its name; None where there is none."""
        key = self.key_of(file)
        return None if key is None else self.rows[key]

    def notes_of(self, file: str) -> list[str]:
        """What is odd about age, sex and site in the file's row, in words."""
        notes = (self.of(file) or {"notes": ""})["notes"].split("; ")
        return [f"the table's {note}" for note in notes if note.startswith(tuple(NEEDED))]


def unknown_of(patient: Mapping[str, str] | None) -> list[str]:
    """Which of age, sex and site are unknown; all without a row."""
    return [name for name in NEEDED if patient is None or patient[name] == UNKNOWN]
