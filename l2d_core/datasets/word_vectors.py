"""Word vectors as in fastText: each is a sum over pieces of the word, so that unknown words have one too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float16, Float32
from torch import Tensor

from l2d_core.datasets.tweets import split_words

WINDOW, NEGATIVE, MIN_COUNT, EPOCHS = 5, 5, 2, 10
PIECES = (3, 6)  # letters
BUCKETS = 50_000  # shared by the pieces


@dataclass(frozen=True)
class WordVectors:
    """vectors: gensim's keyed vectors, word -> (D,) float32."""

    vectors: Any
    dimensions: int

    def of(self, text: str) -> Float32[np.ndarray, "T D"]:
        """The vectors of the words of a text, one per row; 0 for an unknown word too short to have pieces."""
        words = split_words(text)
        rows = np.zeros((len(words), self.dimensions), dtype=np.float32)
        for row, word in enumerate(words):
            if word in self.vectors:
                rows[row] = self.vectors[word]
        return rows

    def sequences(self, texts: Sequence[str], length: int) -> Float16[Tensor, "N D T"]:
        """Texts as (N, D, length): one column per word, 0 after the last word, cut after `length`."""
        if length < 1:
            raise ValueError(f"length must be at least 1, got {length}")
        out = torch.zeros(len(texts), self.dimensions, length, dtype=torch.float16)
        for row, text in enumerate(texts):
            found = torch.from_numpy(self.of(text)[:length])
            out[row, :, : len(found)] = found.T
        return out

    def mean(self, texts: Sequence[str]) -> Float32[Tensor, "N D"]:
        """The mean over the words of each text, (N, D); 0 for a text without words."""
        means = [self.of(text).sum(axis=0) / max(1, len(split_words(text))) for text in texts]
        return torch.from_numpy(np.array(means, dtype=np.float32))


def train_word_vectors(texts: Sequence[str], *, dimensions: int = 100, seed: int = 0) -> WordVectors:
    """Skip-gram vectors with pieces of 3 to 6 letters, trained on these texts alone; the seed decides them.

    ImportError says how to get gensim, where it is missing; ValueError on dimensions below 1 or too few words.
    Source: Bojanowski and others 2017, arXiv 1607.04606.
    """
    if dimensions < 1:
        raise ValueError(f"dimensions must be at least 1, got {dimensions}")
    try:
        from gensim.models import FastText
    except ImportError as problem:
        raise ImportError("word vectors need gensim: pip install gensim") from problem
    sentences = [split_words(text) for text in texts]
    model = FastText(
        vector_size=dimensions,
        window=WINDOW,
        min_count=MIN_COUNT,
        sg=1,
        negative=NEGATIVE,
        min_n=PIECES[0],
        max_n=PIECES[1],
        bucket=BUCKETS,
        workers=1,  # with two, the order of the updates is not reproducible
        seed=seed,
    )
    model.build_vocab(corpus_iterable=sentences)
    if not len(model.wv):
        raise ValueError(f"texts must have a word that comes {MIN_COUNT} times, got none in {len(texts):,} texts")
    model.train(corpus_iterable=sentences, total_examples=len(sentences), epochs=EPOCHS)
    return WordVectors(model.wv, dimensions)
