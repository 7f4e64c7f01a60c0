"""Davidson's tweets, each with three or more votes: hate speech, offensive language, or neither."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from l2d_core.common.checks import require_known
from l2d_core.common.seeds import numpy_generator
from l2d_core.data import DeferralData, Splits, split_by_group
from l2d_core.datasets.delimited_text import Source, read_header, read_rows, read_text, source_name
from l2d_core.datasets.facts import HATE_SPEECH as CLASS_NAMES
from l2d_core.datasets.facts import TWEET_ANNOTATOR as TITLE
from l2d_core.datasets.tweets import same_text
from l2d_core.datasets.votes import Voters, majority

if TYPE_CHECKING:
    from l2d_core.datasets.word_vectors import WordVectors

NAME = "HateSpeech"
COUNTS = ("hate_speech", "offensive_language", "neither")
COLUMNS = (*COUNTS, "tweet")
NUM_FIELDS = 7
FRACTIONS = (0.6, 0.2, 0.2)
FILE = "hate_speech/labeled_data.csv"
LICENCE = "MIT"
SOURCE = (
    "Davidson and others 2017, Automated hate speech detection and the problem of offensive language, arXiv "
    "1703.04009, github.com/t-davidson/hate-speech-and-offensive-language"
)
HOW_TO_GET = f"HateSpeech ({SOURCE}; {LICENCE}) must lie there: data/labeled_data.csv of that repository"


def read_tweets(source: Source, *, reference: bool = False) -> pd.DataFrame:
    """The tweets of labeled_data.csv, one row each: id, group, text, label, and the votes for each of COUNTS.

    The label is the majority, the first class of equals. Tweets with the same words form one group; an id is
    "tweet 17", by the number in the file. The text is offensive, as published.

    reference: read the file line by line as the paper's authors did, keeping only lines of exactly seven fields between
    commas, whatever the quotes, so that tweets with a comma are lost, and those of several lines are cut or lost.
    ValueError names what is wrong with the file, and the line.
    """
    name, text = source_name(source), read_text(source)
    header, delimiter = read_header(text, name, COLUMNS)
    missing = [column for column in COLUMNS if column not in header]
    if missing or header[0] != "":
        raise ValueError(f"{name} must have a number first, then {', '.join(COLUMNS)}; it has {', '.join(header)}")
    if reference and (len(header) != NUM_FIELDS or delimiter != ","):
        raise ValueError(f"{name} must have {NUM_FIELDS} columns between commas to be read as the reference does")
    lines = _plain_lines(text) if reference else read_rows(text, name, len(header), delimiter)
    rows = [_read_row(dict(zip(header, fields, strict=True)), f"{name} at line {line}") for line, fields in lines]
    if not rows:
        raise ValueError(f"{name} must have at least one tweet, got 0")
    table = pd.DataFrame(rows)
    twice = table.loc[table["id"].duplicated(), "id"].tolist()
    if twice:
        raise ValueError(f"{name} must have each tweet once, got {twice[0]} twice")
    words = table["text"].map(same_text)
    table["group"] = table["id"].where(words == "", table["id"].groupby(words).transform("first"))
    table["label"] = majority(table[list(COUNTS)].to_numpy(np.float64))
    return table


def find_tweets(data_root: Path, *, reference: bool = False) -> pd.DataFrame:
    """`read_tweets` of the file under data_root; FileNotFoundError says how to get it."""
    path = Path(data_root) / FILE
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}. {HOW_TO_GET}")
    return read_tweets(path, reference=reference)


def split_rows(table: pd.DataFrame, seed: int) -> list[np.ndarray]:
    """The rows of training, validation and test: 60/20/20 of the groups, stratified by label."""
    labels = table["label"].to_numpy(np.int64)
    return split_by_group(table["group"].to_numpy(str), labels, FRACTIONS, generator=numpy_generator(seed, "split"))


def load(
    data_root: Path,
    seed: int = 0,
    *,
    reference: bool = False,
    vectors: str = "words",
    dimensions: int = 100,
    length: int = 40,
) -> Splits:
    """The tweets in training, validation and test, 60/20/20, as word vectors trained on the training part.

    vectors: "words", inputs (N, dimensions, length) float16 for `text_cnn`: one column per word, 0 after the last, long
    tweets cut; or "mean", inputs (N, dimensions) float32, the mean over all words. reference: as in `read_tweets`.
    Every answer is -1 (not asked).
    ValueError on an option out of range; FileNotFoundError where there is no data; ImportError without gensim.
    """
    require_known("vectors", vectors, ("words", "mean"))
    table = find_tweets(data_root, reference=reference)
    parts = split_rows(table, seed)
    texts = table["text"].tolist()
    words = _words(tuple(texts[row] for row in parts[0]), dimensions, seed)
    inputs = words.mean(texts) if vectors == "mean" else words.sequences(texts, length)
    labels = torch.tensor(table["label"].to_numpy(np.int64))
    data = DeferralData.unasked(inputs, labels, table["id"].to_numpy(str), CLASS_NAMES)
    return Splits(*(data.subset(rows) for rows in parts))


@lru_cache(maxsize=1)
def _words(texts: tuple[str, ...], dimensions: int, seed: int) -> "WordVectors":
    """Trained word vectors. The last ones are cached, since a sweep trains many networks on the same."""
    from l2d_core.datasets.word_vectors import train_word_vectors

    return train_word_vectors(texts, dimensions=dimensions, seed=seed)


def voters(data_root: Path, *, reference: bool = False, **_: object) -> Voters:
    """The voters on the tweets that `load` gives for the same options."""
    table = find_tweets(data_root, reference=reference)
    return Voters.of(table["id"].to_numpy(str), table[list(COUNTS)].to_numpy(np.float64), TITLE)


def _plain_lines(text: str) -> list[tuple[int, list[str]]]:
    lines = text.split("\n")[1:]
    fields = [(number, line.split(",")) for number, line in enumerate(lines, 2)]
    return [(number, row) for number, row in fields if len(row) == NUM_FIELDS and row[0].isdigit()]


def _read_row(fields: dict[str, str], where: str) -> dict[str, object]:
    if not fields[""].isascii() or not fields[""].isdigit():
        raise ValueError(f"each tweet must have a number, got {fields[''][:40]!r} in {where}")
    counts = {column: _count(fields[column], column, where) for column in COUNTS}
    if not any(counts.values()):
        raise ValueError(f"each tweet must have at least one vote, got 0 in {where}")
    return {"id": f"tweet {int(fields[''])}", "text": fields["tweet"], **counts}


def _count(text: str, column: str, where: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise ValueError(f"{column} must be a whole number of people, got {text[:40]!r} in {where}")
    return int(text)
