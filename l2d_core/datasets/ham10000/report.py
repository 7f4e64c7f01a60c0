"""A report on a folder of HAM10000, in numbers and words: what was matched, left over, copied and odd."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from l2d_core.datasets.ham10000.files import Files, describe_zip
from l2d_core.datasets.ham10000.join import Joined
from l2d_core.datasets.ham10000.split import SPLITS, cut_rows, describe_split
from l2d_core.datasets.ham10000.values import CLASS_NAMES, UNKNOWN

NUM_IMAGES, NUM_LESIONS = 10_015, 7_470
SHOWN = 5


@dataclass(frozen=True)
class Report:
    """The content of a folder of HAM10000; str() gives it as text.

    num_images, num_lesions: of the matched images; num_without_lesion: images whose lesion is unknown; mixed_lesions:
    lesions with images of several classes; folders: folder -> number of images. absent: ids listed without an image;
    unlisted and set_aside: images that no table lists. num_copies: further copies of image files; num_repeated:
    repeated rows. unknown: column -> number of images without a value; notes: oddities in rows, with counts.
    splits: by_lesion and by_image, in words. strays: archives and the like.
    """

    folder: Path
    num_images: int
    num_lesions: int
    num_without_lesion: int
    mixed_lesions: tuple[str, ...]
    class_counts: Mapping[str, int]
    folders: Mapping[Path, int]
    absent: tuple[str, ...]
    unlisted: tuple[str, ...]
    set_aside: Mapping[Path, int]
    num_copies: int
    num_repeated: int
    unknown: Mapping[str, int]
    notes: Mapping[str, int]
    tables: tuple[str, ...]
    strays: tuple[str, ...]
    num_links: int
    splits: Mapping[str, str]

    @property
    def is_complete(self) -> bool:
        """Whether the images are exactly those of the published training set, with their lesions."""
        counts = (self.num_images, self.num_lesions, self.num_without_lesion)
        return counts == (NUM_IMAGES, NUM_LESIONS, 0) and not self.absent and not self.unlisted

    def __str__(self) -> str:
        whole = "complete" if self.is_complete else f"NOT the whole data set of {NUM_IMAGES:,} images"
        lines = [f"{self.folder}: {self.num_images:,} images joined, of {self.num_lesions:,} lesions: {whole}"]
        return "\n  ".join([*lines, *self._joined_lines(), *self._left_lines(), *self._odd_lines()])

    def _joined_lines(self) -> list[str]:
        classes = ", ".join(f"{name} {count:,}" for name, count in self.class_counts.items())
        return [
            *(f"images {folder}: {count:,}" for folder, count in self.folders.items()),
            *(f"table {table}" for table in self.tables),
            f"classes: {classes}",
            *(f"split {name}, seed 0: {text}" for name, text in self.splits.items()),
        ]

    def _left_lines(self) -> list[str]:
        lines = [
            _some(self.absent, "listed without an image"),
            _some(self.unlisted, "images that no table lists"),
            *(f"{count:,} images in {folder}: no table lists any of them" for folder, count in self.set_aside.items()),
            f"{self.num_links:,} links to folders were not followed" if self.num_links else "",
            *self.strays,
        ]
        return [f"left over: {line}" for line in lines if line]

    def _odd_lines(self) -> list[str]:
        copies, repeated = self.num_copies, self.num_repeated
        unknown = ", ".join(f"{column} of {count:,}" for column, count in self.unknown.items() if count)
        lines = [
            f"doubled: {copies:,} files are further copies of an image, each image counts once" if copies else "",
            f"doubled: {repeated:,} rows say the same again, each image counts once" if repeated else "",
            f"unknown: {unknown} images" if unknown else "",
            f"odd: the lesion of {self.num_without_lesion:,} images is not known" if self.num_without_lesion else "",
            f"odd: {_some(self.mixed_lesions, 'lesions with images of several classes')}" if self.mixed_lesions else "",
            *(f"odd: {count:,} images: {note}" for note, count in list(self.notes.items())[:20]),
            f"odd: {len(self.notes) - 20:,} other notes" if len(self.notes) > 20 else "",
        ]
        return [line for line in lines if line]


def make_report(files: Files, joined: Joined) -> Report:
    """The report on a folder's files and their matches."""
    images = joined.images
    classes_of: dict[str, set[int]] = {}
    for lesion, image_id, label in zip(images["group"], images["id"], images["label"], strict=True):
        if lesion != image_id:
            classes_of.setdefault(lesion, set()).add(label)
    labels = Counter(images["label"])
    notes = Counter(note for text in images["notes"] if text for note in text.split("; "))
    return Report(
        folder=files.folder,
        num_images=len(images),
        num_lesions=len(classes_of),
        num_without_lesion=int(np.count_nonzero(images["group"] == images["id"])),
        mixed_lesions=tuple(sorted(lesion for lesion, labels in classes_of.items() if len(labels) > 1)),
        class_counts={name: labels[label] for label, name in enumerate(CLASS_NAMES)},
        folders=dict(Counter(path.parent for path in images["path"])),
        absent=joined.absent,
        unlisted=tuple(path.name for path in joined.unlisted),
        set_aside=joined.set_aside,
        num_copies=files.num_copies,
        num_repeated=joined.repeated,
        unknown={
            name: int(np.count_nonzero(images[name] == UNKNOWN)) for name in ("age", "sex", "localization", "dx_type")
        },
        notes=dict(notes.most_common()),
        tables=joined.tables,
        strays=(*files.strays, *map(describe_zip, files.zips)),
        num_links=files.links,
        splits={name: describe_split(images, cut_rows(images, 0, name)) for name in SPLITS if len(images)},
    )


def _some(names: tuple[str, ...], what: str) -> str:
    """The count, with the first few names; empty where there are none."""
    if not names:
        return ""
    more = f", and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"{len(names):,} {what}: {', '.join(names[:SHOWN])}{more}"
