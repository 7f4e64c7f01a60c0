"""A small made-up system for skin lesions: networks that look at mean colours, and scores that were drawn."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn

from l2d_core.data import Scores
from l2d_core.datasets.ham10000 import CLASS_NAMES
from l2d_core.datasets.ham10000.features import AgeScale, feature_names
from l2d_core.experts.stored_answers import StoredAnswers
from l2d_core.lesions.bank import LesionBank
from l2d_core.lesions.detector import Detector
from l2d_core.lesions.expert_network import LearnedExpert
from l2d_core.lesions.gallery import COLUMNS, HEIGHT, WIDTH, Gallery
from l2d_core.lesions.networks import LesionNetwork
from l2d_core.lesions.system import LesionSystem
from l2d_core.models.mixer_expert import MixerExpert

IMAGE_SIZE, EXPERT_SIZE = (30, 40), (16, 32)
NUM_CLASSES, NUM_FEATURES, NUM_RAW = len(CLASS_NAMES), 4, 6


class MadeExpert(MixerExpert):
    """In place of the mixer: it names class 3 to all who are 60 or older (standardised: above 0), else class 5."""

    def __init__(self):
        nn.Module.__init__(self)
        self.mixer = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(3 + len(feature_names()), NUM_CLASSES)
        with torch.no_grad():
            self.head.weight.zero_()
            self.head.bias.zero_()
            self.head.weight[3, 3] = 1.0
            self.head.bias[5] = 0.01


def made_run(generator, calls=None):
    """A network of random weights on the mean colours and their squares; calls: gets each batch's size."""
    weight = torch.from_numpy(generator.normal(size=(NUM_CLASSES + 1, NUM_RAW)).astype(np.float32))

    def run(batch):
        if calls is not None:
            calls.append(len(batch))
        means = batch.mean(dim=(2, 3))
        features = torch.cat([means, means**2], dim=1)
        return features, means, features @ weight.T

    return LesionNetwork(run, IMAGE_SIZE)


def made_scores(generator, surrogate, ids, labels):
    logits = generator.normal(size=(len(labels), NUM_CLASSES + 1))
    logits[np.arange(len(labels)), labels] += 1.5
    answers = np.where(generator.random(len(labels)) < 0.6, labels, (labels + 1) % NUM_CLASSES)
    return Scores.from_arrays(logits, labels, answers, surrogate=surrogate, ids=ids, class_names=CLASS_NAMES)


def made_bank(generator, sizes=(40, 60, 50)):
    parts = np.repeat(["train", "validation", "test"], sizes)
    labels = generator.integers(0, NUM_CLASSES, len(parts))
    features = generator.normal(size=(len(parts), NUM_FEATURES))
    features[:, 0] += labels / 3
    features = features.astype(np.float16)
    return LesionBank(
        features=features,
        labels=labels,
        ids=np.array([f"ISIC_{row:07d}" for row in range(len(parts))]),
        parts=parts,
        class_names=CLASS_NAMES,
        mean=np.zeros(NUM_RAW, dtype=np.float32),
        components=np.eye(NUM_FEATURES, NUM_RAW, dtype=np.float16),
        scale=0.5,
        weights="none",
    )


def made_system(seed=0, calls=None):
    """calls: a list that gets the size of each batch that the one-vs-all network sees."""
    generator = np.random.default_rng(seed)
    bank = made_bank(generator)
    test, rows = bank.parts == "test", bank.parts == "validation"
    answers = StoredAnswers(
        generator.integers(0, NUM_CLASSES, len(bank.ids)), bank.ids, bank.parts, CLASS_NAMES, "Mixer"
    )
    expert = LearnedExpert(MadeExpert().eval(), EXPERT_SIZE, AgeScale(60.0, 10.0), reference=False)
    return LesionSystem(
        networks={"softmax": made_run(generator), "one_vs_all": made_run(generator, calls)},
        tests={
            name: made_scores(generator, name, bank.ids[test], bank.labels[test]) for name in ("softmax", "one_vs_all")
        },
        validations={
            name: made_scores(np.random.default_rng(1), name, bank.ids[rows], bank.labels[rows])
            for name in ("softmax", "one_vs_all")
        },
        bank=bank,
        expert=expert,
        answers=answers,
        detector=Detector(np.zeros(3), np.ones(3), np.eye(3), 1e6, "none"),
        catches=pd.DataFrame({"kind": ["test lesions", "drawings"], "n": [50, 20], "unlike": [1, 20]}),
        gallery=made_gallery(generator, bank.ids[test]),
    )


def with_far_training_images(system):
    """The same, but every picture is unlike the training images."""
    return replace(system, detector=replace(system.detector, limit=1e-9))


def made_gallery(generator, ids):
    """Test cases of one colour each; two images a lesion, some of unknown age."""
    size = len(ids)
    cases = pd.DataFrame(
        {
            "id": ids,
            "lesion": [f"HAM_{row // 2:07d}" for row in range(size)],
            "age": generator.choice(["unknown", "20", "50", "80"], size),
            "sex": generator.choice(["male", "female"], size),
            "localization": generator.choice(["back", "face"], size),
        }
    )
    sheet = np.zeros((-(-size // COLUMNS) * HEIGHT, COLUMNS * WIDTH, 3), dtype=np.uint8)
    for row in range(size):
        top, left = HEIGHT * (row // COLUMNS), WIDTH * (row % COLUMNS)
        sheet[top : top + HEIGHT, left : left + WIDTH] = (5 * row, 100, 200)
    stream = io.BytesIO()
    Image.fromarray(sheet).save(stream, "JPEG", quality=95)
    return Gallery(cases, stream.getvalue())
