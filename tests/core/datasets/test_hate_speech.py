"""Tweets: the file read as CSV and as the authors read it, votes, and words with their vectors."""

import csv

import numpy as np
import pytest
import torch
from made_tweets import HEADER, as_csv, save_tweets

from l2d_core.common.paths import DATA_ROOT
from l2d_core.common.seeds import numpy_generator
from l2d_core.config import ExpertConfig, RunConfig
from l2d_core.data import split_by_group
from l2d_core.datasets import hate_speech, tweets
from l2d_core.datasets.word_vectors import train_word_vectors
from l2d_core.experiment import run_experiment
from l2d_core.runs.cases import load_splits

VOTER = ExpertConfig(kind="human", name="one_voter")
ROWS = [
    (0, 3, 0, 0, 3, 2, "RT @ann: birds, sing"),
    (1, 3, 2, 1, 0, 0, 'a "quoted" line\nand one more'),
    (2, 6, 1, 5, 0, 1, "plain words"),
    (5, 3, 0, 2, 1, 1, "Birds sing! http://t.co/xyz"),
    (6, 3, 1, 1, 1, 0, "@bob"),
    (7, 3, 0, 0, 3, 2, "@cy http://t.co/q"),
]


# The file.


def test_the_file_is_read_as_csv_with_commas_quotes_and_line_breaks_in_a_tweet():
    table = hate_speech.read_tweets(as_csv(ROWS))
    assert table["id"].tolist() == [f"tweet {row[0]}" for row in ROWS]
    assert table["text"].tolist() == [row[-1] for row in ROWS]
    assert table["label"].tolist() == [2, 0, 1, 1, 0, 2]  # where all have as many votes, the first class
    assert table[list(hate_speech.COUNTS)].to_numpy().tolist() == [list(row[2:5]) for row in ROWS]


def test_tweets_with_the_same_words_are_of_one_group_and_those_without_words_are_not():
    table = hate_speech.read_tweets(as_csv(ROWS))
    assert table["group"].tolist() == ["tweet 0", "tweet 1", "tweet 2", "tweet 0", "tweet 6", "tweet 7"]


def test_the_reference_loses_what_has_a_comma_and_cuts_what_has_several_lines():
    table = hate_speech.read_tweets(as_csv(ROWS), reference=True)
    assert table["id"].tolist() == ["tweet 1", "tweet 2", "tweet 5", "tweet 6", "tweet 7"]
    assert table["text"].tolist()[0] == '"a ""quoted"" line'
    assert table["label"].tolist() == [0, 1, 1, 0, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({2: "x"}, "hate_speech must be a whole number of people, got 'x' in the table at line 2"),
        ({2: "-1"}, "got '-1'"),
        ({4: "1.5"}, "neither must be a whole number of people, got '1.5'"),
        ({2: "0", 3: "0", 4: "0"}, "each tweet must have at least one vote, got 0"),
        ({0: ""}, "each tweet must have a number, got ''"),
        ({0: "2"}, "each tweet once, got tweet 2 twice"),
    ],
)
def test_a_bad_row_is_named(change, message):
    row = list(ROWS[0])
    for place, value in change.items():
        row[place] = value
    with pytest.raises(ValueError, match=message):
        hate_speech.read_tweets(as_csv([row, *ROWS[1:]]))


def test_a_file_of_another_kind_is_refused():
    with pytest.raises(ValueError, match=r"a number first, then hate_speech, .*tweet; it has id, text"):
        hate_speech.read_tweets(b"id,text\n1,hello\n")
    with pytest.raises(ValueError, match="7 columns between commas"):
        hate_speech.read_tweets(as_csv([[*row, "x"] for row in ROWS], [*HEADER, "more"]), reference=True)
    with pytest.raises(ValueError, match="at least one tweet, got 0"):
        hate_speech.read_tweets(as_csv([]))


def test_a_missing_file_says_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"labeled_data\.csv\. HateSpeech \(Davidson.*MIT\) must lie there"):
        hate_speech.find_tweets(tmp_path)


# The text.


def test_people_addresses_and_codes_leave_a_cleaned_tweet():
    text = "RT @Ann_1: you &amp; me\n  at http://t.co/x?y=1 &#8220;now&#8221;"
    assert tweets.clean(text) == "RT @user: you & me at http “now”"
    assert tweets.split_words("@Ann don't #GO, 5x!") == ["@user", "don't", "#go", ",", "5x", "!"]
    assert tweets.same_text("RT @a: Hello, WORLD http://x.y") == tweets.same_text("hello world!") == "hello world"
    assert tweets.same_text("@a http://x.y !!") == ""


# Words as vectors.

TEXTS = ["the red rakabik fox", "the red rakabik dog", "a blue zumok sings", "a blue zumok falls"] * 8


def test_word_vectors_depend_on_texts_and_seed_alone():
    one, again, other = (train_word_vectors(TEXTS, dimensions=8, seed=seed).of("red fox") for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other)


def test_a_word_never_seen_gets_the_vector_of_its_pieces():
    words = train_word_vectors(TEXTS, dimensions=8)
    known, unknown, far = (words.of(word)[0] for word in ("rakabik", "rakabiks", "zumok"))
    cosine = lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)  # noqa: E731
    assert cosine(known, unknown) > cosine(known, far)


def test_sequences_and_means_are_made_of_the_words_of_each_text():
    words = train_word_vectors(TEXTS, dimensions=8)
    texts = ["red fox", "", "the red fox sings"]
    sequences, means = words.sequences(texts, 3), words.mean(texts)
    assert sequences.shape == (3, 8, 3)
    for row, text in enumerate(texts):
        vectors = [words.of(word)[0] for word in text.split()]
        for place in range(3):
            wanted = vectors[place] if place < len(vectors) else np.zeros(8)
            np.testing.assert_allclose(sequences[row, :, place], wanted, atol=1e-3)
        np.testing.assert_allclose(means[row], np.mean(vectors, axis=0) if vectors else np.zeros(8), atol=1e-6)


def test_vectors_that_cannot_be_made_are_refused():
    with pytest.raises(ValueError, match="dimensions must be at least 1, got 0"):
        train_word_vectors(TEXTS, dimensions=0)
    with pytest.raises(ValueError, match="a word that comes 2 times, got none in 2 texts"):
        train_word_vectors(["one", "two"], dimensions=4)
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        train_word_vectors(TEXTS, dimensions=4).sequences(TEXTS, 0)


# Training.


def test_tweets_train_a_convolutional_network_from_end_to_end_with_an_annotator(tmp_path):
    config = RunConfig(
        dataset="hate_speech",
        dataset_options={"dimensions": 10, "length": 8},
        model="text_cnn",
        model_options={"filters": 8},
        expert=VOTER,
        epochs=12,
        batch_size=36,
        optimizer="adam",
        learning_rate=0.02,
        schedule="constant",
        augment="none",
        precision="float32",
    )
    root = save_tweets(tmp_path)
    run = run_experiment(config, data_root=root, device="cpu", folder=tmp_path / "run")
    table = hate_speech.find_tweets(root).set_index("id")
    assert run.test.labels.tolist() == table.loc[run.test.ids, "label"].tolist()
    assert (run.test.logits[:, :3].argmax(axis=1) == run.test.labels).mean() > 0.7
    votes = table.loc[run.test.ids, list(hate_speech.COUNTS)].to_numpy()
    assert (votes[np.arange(len(votes)), run.test.answers[:, 0]] > 0).all()  # nobody says what nobody said
    assert run.test.expert_names == ("one of the annotators",)


def test_mean_vectors_are_the_other_kind_of_input(tmp_path):
    options = {"vectors": "mean", "dimensions": 6}
    splits = load_splits(RunConfig(dataset="hate_speech", dataset_options=options, expert=VOTER), save_tweets(tmp_path))
    assert splits.train.inputs.shape == (144, 6)
    assert splits.train.inputs.dtype == torch.float32
    with pytest.raises(ValueError, match="vectors must be one of 'words', 'mean'; got 'glove'"):
        hate_speech.load(tmp_path, vectors="glove")


# The real ones.


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "hate_speech").is_dir(), reason="L2D_DATA_ROOT holds no hate_speech")
def test_the_published_file_has_24783_tweets_and_the_authors_20499():
    table = hate_speech.find_tweets(DATA_ROOT)
    assert len(table) == 24_783
    assert np.bincount(table["label"]).tolist() == [1430, 19_190, 4163]
    assert table[list(hate_speech.COUNTS)].to_numpy().sum() == 80_383
    reference = hate_speech.find_tweets(DATA_ROOT, reference=True)
    assert len(reference) == 20_499
    both = reference.merge(table, on="id")
    assert len(both) == 20_499
    assert (both["label_x"] == both["label_y"]).all()
    path = DATA_ROOT / hate_speech.FILE
    with path.open(encoding="utf-8", newline="") as file:
        published = [int(row["class"]) for row in csv.DictReader(file)]
    assert table["label"].tolist() == published


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "hate_speech").is_dir(), reason="L2D_DATA_ROOT holds no hate_speech")
def test_the_shipped_bank_of_tweets_is_of_these_votes_and_groups():
    from l2d_core.datasets.feature_bank import FeatureBank, bank_path

    bank, table = FeatureBank.load(bank_path("hate_speech")), hate_speech.find_tweets(DATA_ROOT)
    for name, column in (("ids", "id"), ("groups", "group"), ("labels", "label")):
        assert getattr(bank, name).tolist() == table[column].tolist()
    assert bank.votes.tolist() == table[list(hate_speech.COUNTS)].to_numpy().tolist()
    own = hate_speech.split_rows(table, 3)
    lab = split_by_group(bank.groups, bank.labels, (0.6, 0.2, 0.2), generator=numpy_generator(3, "split"))
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(own, lab, strict=True))
