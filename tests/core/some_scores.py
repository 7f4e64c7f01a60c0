"""Five scores with ids and names beyond ASCII, for the tests of what holds scores and of their files."""

import numpy as np

from l2d_core.data import Scores

IDS = ("a", "ISIC_0024310", "Ωmega é", "皮膚", "🩺 x")
CLASSES = ("nævus", "mel")


def some_scores(**change):
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
