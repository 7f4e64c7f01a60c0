"""A small made-up CIFAR-10 for tests: as an image folder, as published batches, and with what people said of it."""

import hashlib
import pickle
import struct
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from l2d_core.datasets import cifar10

SIZES = {"train": 10, "test": 5}  # images per class
FILES = {"train": ("data_batch_1", "data_batch_2"), "test": ("test_batch",)}


def labels_of(part):
    """Classes in a mixed "published" order."""
    labels = np.repeat(np.arange(10), SIZES[part])
    return np.random.default_rng(len(labels)).permutation(labels)


def pixels_of(part):
    """Noise (N, 3, 32, 32), in the published order, brighter with the class."""
    labels = labels_of(part)
    noise = np.random.default_rng(len(labels)).integers(0, 100, (len(labels), 3, 32, 32))
    return (noise + 15 * labels[:, None, None, None]).astype(np.uint8)


def shrink(monkeypatch):
    """Have the loaders expect this CIFAR-10 for the published one."""
    monkeypatch.setattr(cifar10, "BATCHES", FILES)
    for part, size in SIZES.items():
        monkeypatch.setitem(cifar10.IMAGES_A_CLASS, part, size)
        digest = hashlib.sha256(labels_of(part).astype(np.uint8).tobytes()).hexdigest()
        monkeypatch.setitem(cifar10.ORDER_SHA256, part, digest)


def write_folder(root, suffix="png", width=4):
    """cifar10/{train,test}/<class>/NNNN.png under root."""
    for part in SIZES:
        labels, pixels = labels_of(part), pixels_of(part)
        for label, name in enumerate(cifar10.CLASS_NAMES):
            folder = Path(root) / "cifar10" / part / name
            folder.mkdir(parents=True)
            for number, row in enumerate(np.flatnonzero(labels == label)):
                Image.fromarray(pixels[row].transpose(1, 2, 0)).save(folder / f"{number:0{width}}.{suffix}")
    return Path(root)


def write_batches(root):
    """cifar-10-batches-py under root, in the bytes of Python 2's pickle, as published."""
    folder = Path(root) / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for part, names in FILES.items():
        pixels = np.array_split(pixels_of(part).reshape(-1, 3072), len(names))
        for name, rows, labels in zip(names, pixels, np.array_split(labels_of(part), len(names)), strict=True):
            (folder / name).write_bytes(python2_batch(rows, labels))
    return folder


def python2_batch(rows, labels):
    """{"data": rows, "labels": [...]} as Python 2.7 pickles it with protocol 2: texts are bytes."""
    kind = (
        b"cnumpy\ndtype\n(" + _short(b"u1") + b"K\x00K\x01tR(K\x03" + _short(b"|") + b"NNN" + 2 * _MINUS_1 + b"K\x00tb"
    )
    empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + _short(b"b") + b"tR"
    shape = b"(M" + struct.pack("<H", len(rows)) + b"M" + struct.pack("<H", rows.shape[1]) + b"t"
    array = empty + b"(K\x01" + shape + kind + b"I00\nT" + struct.pack("<i", rows.nbytes) + rows.tobytes() + b"tb"
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\x02}(" + _short(b"data") + array + _short(b"labels") + listed + b"u."


def write_people(root, **changes):
    """CIFAR-10N and CIFAR-10H under root; annotator 1 is wrong on the first case, 2 on the second, 3 on the third.

    The people of CIFAR-10H say the true class 40 times and the next class 10 times. changes: other arrays.
    """
    labels, test_labels = labels_of("train"), labels_of("test")
    said = {"clean_label": labels}
    for number in (1, 2, 3):
        said[f"random_label{number}"] = np.where(np.arange(len(labels)) == number - 1, (labels + 1) % 10, labels)
    said.update({name: changes[name] for name in said if name in changes})
    counts = np.zeros((len(test_labels), 10), dtype=np.int64)
    counts[np.arange(len(counts)), test_labels] = 40
    counts[np.arange(len(counts)), (test_labels + 1) % 10] = 10
    root = Path(root)
    for folder in ("cifar10n", "cifar10h"):
        (root / folder).mkdir(exist_ok=True)
    torch.save(said, root / "cifar10n" / "CIFAR-10_human.pt")
    np.save(root / "cifar10h" / "cifar10h-counts.npy", changes.get("counts", counts))
    np.save(root / "cifar10h" / "test_labels.npy", changes.get("test_labels", test_labels))
    return root


class Trap:
    """Makes a file where its pickle is read as a pickle."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def trap(path):
    """A pickle that would make the file `path`."""
    return pickle.dumps({"clean_label": Trap(Path(path))})


_MINUS_1 = b"J\xff\xff\xff\xff"


def _short(text):
    return b"U" + bytes([len(text)]) + text
