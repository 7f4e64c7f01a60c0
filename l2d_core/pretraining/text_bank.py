"""Making the feature bank of the tweets: a frozen sentence encoder's features, on 64 principal components."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from l2d_core.datasets import hate_speech
from l2d_core.datasets.feature_bank import FeatureBank
from l2d_core.datasets.projection import fit_projection
from l2d_core.datasets.tweets import clean
from l2d_core.datasets.vote_table import in_small_type
from l2d_core.models.sentence_encoder import SentenceEncoder, encode_texts, sentence_encoder

NUM_COMPONENTS = 64
STEP = 1 / 16  # features have size about 1; finer steps take more space and change no measure


def make_text_bank(
    data_root: Path,
    *,
    seed: int = 0,
    encoder: SentenceEncoder | None = None,
    weights: str | os.PathLike | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> FeatureBank:
    """The bank of all tweets under data_root/hate_speech, with their votes but without their text.

    Components are fitted on the training part of the seed's split, without its labels; features are rounded to
    multiples of STEP. encoder: `sentence_encoder(weights)` if None. on_progress gets (tweets done, of all).
    FileNotFoundError without data or weights.
    """
    table = hate_speech.find_tweets(data_root)
    encoder = sentence_encoder(weights) if encoder is None else encoder
    raw = encode_texts(encoder, table["text"].map(clean).tolist(), on_progress=on_progress).numpy()
    fitted = raw[hate_speech.split_rows(table, seed)[0]]
    projection = fit_projection(fitted, min(NUM_COMPONENTS, *fitted.shape))
    features = projection.apply(raw).astype(np.float32)
    return FeatureBank(
        features=(np.rint(features / STEP) * STEP).astype(np.float16),
        labels=table["label"].to_numpy(np.int64),
        ids=table["id"].to_numpy(str),
        groups=table["group"].to_numpy(str),
        parts=np.full(len(table), ""),
        class_names=hate_speech.CLASS_NAMES,
        name=hate_speech.NAME,
        licence=hate_speech.LICENCE,
        source=hate_speech.SOURCE,
        votes=in_small_type(table[list(hate_speech.COUNTS)].to_numpy(np.float64)),
    )
