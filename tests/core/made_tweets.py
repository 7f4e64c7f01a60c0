"""Small files of tweets for tests, in made-up words, with votes on them."""

import csv
import io

import numpy as np

from l2d_core.datasets import hate_speech

HEADER = ["", "count", "hate_speech", "offensive_language", "neither", "class", "tweet"]


def as_csv(rows, header=HEADER):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue().encode()


def save_tweets(folder, count=240):
    """Tweets of made-up words, three kinds, with 3 to 5 votes on each."""
    words = (("rakab", "zumok", "drellin"), ("fipso", "manteg", "oorla"), ("sunny", "river", "stone"))
    generator, rows = np.random.default_rng(0), []
    for number in range(count):
        kind = number % 3
        counts = [0, 0, 0]
        counts[kind] = 3 + number % 2
        counts[(kind + 1) % 3] += number % 4 == 0
        text = " ".join(generator.choice(words[kind], 4)) + f" x{number} we are here"
        rows.append((number, sum(counts), *counts, kind, text))
    path = folder / hate_speech.FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(as_csv(rows))
    return folder
