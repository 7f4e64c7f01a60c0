"""Five scores with ids and names beyond ASCII, and files of scores put together by hand."""

import io
import zipfile
from dataclasses import fields

import numpy as np

from l2d_core.data import Scores

IDS = ("a", "ISIC_0024310", "Ωmega é", "皮膚", "🩺 x")
CLASSES = ("nævus", "mel")


def named_scores(**change):
    generator = np.random.default_rng(0)
    parts = {
        "logits": generator.normal(size=(5, 4)) * 1e3,
        "labels": np.array([0, 1, 1, 0, 1]),
        "answers": np.array([[0, -1], [1, 0], [0, 0], [-1, -1], [1, 1]]),
        "ids": np.array(IDS),
        "class_names": CLASSES,
        "expert_names": ("Ärztin", "second"),
        "surrogate": "one_vs_all",
    }
    return Scores(**{**parts, **change})


def npy(array, *, allow_pickle=False):
    """The bytes of an .npy file."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=allow_pickle)
    return file.getvalue()


def claim(shape, descr="<f8"):
    """An .npy header for an array of that shape, and no more than 8 bytes of it."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + bytes(8)


def scores_bytes(scores, compression=zipfile.ZIP_STORED, **change):
    """An .npz as `save` writes it, with some members replaced by other bytes, or left out where None."""
    members = {"format_version": npy(1)} | {field.name: npy(getattr(scores, field.name)) for field in fields(scores)}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in {**members, **change}.items():
            if content is not None:
                archive.writestr(name if "/" in name else f"{name}.npy", content)
    return file.getvalue()
