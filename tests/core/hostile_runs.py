"""Hostile files in the folder of a run, made when asked for: settings, epochs, scores, weights; and checkpoints."""

import io
import json
import struct
import zipfile
from dataclasses import asdict, fields

import numpy as np
import torch
from hostile_tables import PICKLE
from made_runs import CONFIG, NETWORK, some_scores
from safetensors.torch import save
from scores_files import claim, npy, scores_bytes

from l2d_core.evaluation.epoch_report import EpochReport

WIDE = {"model": "wide_resnet", "options": {"width": 60}}  # 2 GB of weights
DEEP = {"model": "wide_resnet", "options": {"depth": 6 * 10**7 + 4}}


def config(**change):
    return json.dumps({**json.loads(CONFIG.to_json()), **change}).encode()


def ends(**change):
    return json.dumps({"version": 1, "state": "done", "wall_seconds": 7.5, **change}).encode()


DIGITS = b'{"epochs": 1' + b"0" * 5000 + b"}"
CONFIGS = [
    ("cut", config()[:-20], "no JSON"),
    ("pickle", PICKLE, "UTF-8|no JSON"),
    ("utf-16", config().decode().encode("utf-16"), "UTF-8"),
    ("deep", b"[" * 200_000, "no JSON"),
    ("deep value", config(epochs=json.loads("[" * 500 + "]" * 500)), "epochs must be a whole number"),
    ("a list", b"[1, 2]", "must be a JSON object"),
    ("many unknown fields", config(**{f"x{n}": 1 for n in range(50_000)}), "unknown fields"),
    ("not a number", config(learning_rate=float("nan")), "learning_rate must be above 0 and finite, got nan"),
    ("too large", config(learning_rate=10**400), "learning_rate must be a number of at most"),
    ("many epochs", config(epochs=10**30), "epochs must be at most"),
    ("digits", DIGITS, "no JSON"),
    ("long text", config(augment="x" * 10**6), "augment must be one of"),
    ("heavy", lambda: config(dataset="x" * 5 * 2**20), "at most 4,194,304 bytes"),
]
ENVIRONMENTS = [
    ("deep", b'{"version":' * 100_000, "no JSON"),
    ("a list", b"[]", "version None"),
    ("not a number", ends(wall_seconds=float("nan")), "wall_seconds, a number"),
    ("below zero", ends(wall_seconds=-1), "wall_seconds, a number"),
    ("state", ends(state=["done"]), "must say state, one of"),
]
EPOCHS = ",".join(field.name for field in fields(EpochReport)).encode() + b"\n"
HISTORIES = [
    ("empty", b"", "no table of epochs"),
    ("nul", EPOCHS + b"1,\0,1,1,1,1,1,1,1,False\n", "no table of epochs"),
    ("digits", EPOCHS + b"9" * 5000 + b",1,1,1,1,1,1,1,1,False\n", "no table of epochs"),
    ("binary", bytes(range(128, 256)), "no table of epochs"),
    ("order", EPOCHS + b"2,1,1,1,1,1,1,1,1,False\n", "a row for each epoch from 1"),
]


def scores(compression=zipfile.ZIP_DEFLATED, **change):
    return scores_bytes(some_scores(), compression, **change)


OBJECTS = (
    b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n" + PICKLE
)
SCORES = [
    ("cut", scores()[:-200], "not a readable .npz"),
    ("objects", scores(labels=OBJECTS), "not a readable .npz"),
    ("lying shape", scores(logits=claim((10**6, 1000))), "not a readable .npz"),
    ("overflowing shape", scores(logits=claim((2**62, 2**62))), "not a readable .npz"),
    ("huge texts", scores(ids=claim((20,), "<U2000000000")), "not a readable .npz"),
    ("no array", scores(logits=b"x"), "not a readable .npz|not an array"),
    ("bomb", lambda: scores(more=npy(np.zeros(25 * 2**20))), "over 100 times its size"),
    ("claims 4 GB", lambda: overstated(), "more than the .* allowed"),
    ("many arrays", lambda: scores(**{f"x{n}": b"" for n in range(2000)}), "2,008 arrays, allowed are 1,000"),
    ("climbs", scores(labels=None, **{"../labels": npy(some_scores().labels)}), "lacks labels"),
    ("not a number", scores(logits=npy(np.full((20, 4), np.nan))), "logits must be finite, got nan at row 0"),
    ("ids of nothing", scores(ids=npy(np.zeros(20, "V4"))), "ids must be text"),
    ("unknown surrogate", scores(surrogate=npy("x" * 1000)), "surrogate must be one of 'softmax'"),
    ("other surrogate", scores(surrogate=npy("asymmetric_softmax")), "is of another run"),
]


def overstated():
    content = bytearray(scores())
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 2**32 - 2)
    return bytes(content)


def network(**change):
    return json.dumps({**asdict(NETWORK), **change})


def weights(described, version="1"):
    return save({"x": torch.zeros(1)}, {"version": version, "network": described})


def header(tensors, data=b"", length=None):
    """A .safetensors with this header."""
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(shape, start, end):
    return {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}


WEIGHTS = [
    ("pickle", PICKLE, "cannot be read"),
    ("lying length", header({}, length=2**62), "cannot be read"),
    ("lying shape", header({"x": tensor([2**40], 0, 2**42)}), "cannot be read"),
    ("overflowing shape", header({"x": tensor([2**33, 2**33], 0, 4)}, bytes(4)), "cannot be read"),
    ("overlapping", header({"x": tensor([1], 0, 4), "y": tensor([1], 0, 4)}, bytes(4)), "cannot be read"),
    ("no description", save({"x": torch.zeros(1)}), "version None"),
    ("deep", weights("[" * 200_000), "no JSON"),
    ("unknown network", weights(network(model="x" * 10**6)), "model must be one of"),
    ("unknown option", weights(network(options={"widht": 2})), "has no option 'widht'"),
    ("no sides", weights(network(image_shape=[])), "cannot be read"),
    ("many channels", weights(network(image_shape=[3 * 10**6, 8, 8])), "must have the shape"),
    ("gigabytes", weights(network(**WIDE)), "must have the shape"),
    ("endless layers", weights(network(**DEEP)), "depth of model 'wide_resnet' must be at most 10,000"),
    ("other weights", weights(network()), "must have the shape .*, got nothing"),
]


def expert(**change):
    """The weights of an expert of lesions that says this of itself."""
    said = {"version": 1, "image_size": [16, 32], "reference": False, "ages": {"mean": 50.0, "deviation": 10.0}}
    return save({"x": torch.zeros(1)}, {"expert": json.dumps({**said, **change})})


EXPERTS = [
    ("pickle", PICKLE, "cannot be read"),
    ("no description", save({"x": torch.zeros(1)}), "of no expert of version 1"),
    ("deep", save({"x": torch.zeros(1)}, {"expert": "[" * 200_000}), "no JSON"),
    ("gigabytes", expert(image_size=[64_000, 64_000]), "must have the shape"),
    ("odd size", expert(image_size=[17, 32]), "multiples of 16"),
    ("size of text", expert(image_size="16"), "cannot be read"),
    ("ages", expert(ages=[1, 2]), "cannot be read"),
    ("age of text", expert(ages={"mean": "x"}), "cannot be read"),
    ("a list", save({"x": torch.zeros(1)}, {"expert": "[1]"}), "cannot be read"),
    ("other version", expert(version=2), "of no expert of version 1"),
    ("one side", expert(image_size=[32]), "cannot be read"),
    ("other weights", expert(), "cannot be read"),
]


def archive(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return stream.getvalue()


def stored(content):
    stream = io.BytesIO()
    torch.save(content, stream)
    return stream.getvalue()


CHECKPOINTS = [
    ("pickle.pt", PICKLE, "cannot be read"),
    ("zip.pt", archive({"x": b"1"}), "cannot be read"),
    ("trap.pt", archive({"archive/data.pkl": PICKLE, "archive/version": b"3"}), "cannot be read"),
    ("tensor.pt", stored(torch.zeros(3)), "cannot be read"),
    ("lacks.pt", stored({"version": 1, "settings": {}}), "lacks a part"),
]
SWEEPS = [
    ("empty.json", b"", "no JSON"),
    ("deep.json", b'{"base":' * 100_000, "no JSON"),
    ("grid.json", json.dumps({"grid": {"seed": [0] * 200, "split_seed": [0] * 200}}).encode(), "at most|1 to 10,000"),
    ("object.json", json.dumps({"grid": {"surrogate": [{}], "seed": [{"a": 1}]}}).encode(), "must be"),
    ("value.json", json.dumps({"grid": {"seed": "x" * 10**6}}).encode(), "a list of values"),
]
