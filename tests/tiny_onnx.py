"""Models in ONNX that can be worked out by hand, with a tokenizer of whole words; written without any library for it.

The bytes are those of protocol buffers; numbers of fields and types are those of onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sicetnon.dense.encoder import Vectors

SPECIALS = ("[UNK]", "[CLS]", "[SEP]")
FLOAT, INT64 = 1, 7  # types of tensors
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def make_tokenizer(words: Iterable[str], *, most_tokens: int | None = None) -> str:
    """Make the JSON of a tokenizer that knows these words in lower case, without the marks at their ends."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: number for number, word in enumerate((*SPECIALS, *words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(Regex(r"[^\w ]"), "")])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(word, vocabulary[word]) for word in SPECIALS[1:]],
    )
    if most_tokens:
        tokenizer.enable_truncation(most_tokens)
    return str(tokenizer.to_str())


def make_encoder(vectors: Vectors) -> bytes:
    """Make an encoder whose last hidden state is each token's row of ``vectors`` float32 [tokens known, d]."""
    return _make_model(
        [_node("Gather", ["table", "input_ids"], "last_hidden_state")],
        {"table": vectors.astype(np.float32)},
        output=("last_hidden_state", ("texts", "tokens", vectors.shape[1])),
    )


def make_reranker(words: Sequence[str], asked: Mapping[str, float], read: Mapping[str, float]) -> bytes:
    """Make a cross-encoder whose score adds up a weight of each word: ``asked`` of a proposition, ``read`` of a text.

    ``words`` are those of the tokenizer; one without a weight counts nothing.
    """
    figures = [{word: (weight,) for word, weight in own.items()} for own in (asked, read)]
    return make_cross_encoder(words, *figures, output="score", width=1)


def make_cross_encoder(
    words: Sequence[str],
    asked: Mapping[str, Sequence[float]],
    read: Mapping[str, Sequence[float]],
    *,
    output: str,
    width: int,
    keepdims: int = 0,
) -> bytes:
    """Make a cross-encoder of ``width`` figures a pair, each of which adds up a weight of each word, as a reranker's.

    ``keepdims`` of 1 leaves the figures with an axis that they should not have.
    """
    known = (*SPECIALS, *words)
    weights = [own.get(word, [0.0] * width) for own in (asked, read) for word in known]
    return _make_model(
        [
            _node("Mul", ["token_type_ids", "known"], "shift"),
            _node("Add", ["input_ids", "shift"], "place"),
            _node("Gather", ["weights", "place"], "each"),
            _node("Cast", ["attention_mask"], "seen", to=FLOAT),
            _node("Unsqueeze", ["seen"], "kept", axes=[2]),
            _node("Mul", ["each", "kept"], "counted"),
            _node("ReduceSum", ["counted"], output, axes=[1], keepdims=keepdims),
        ],
        {"weights": np.array(weights, np.float32), "known": np.array([len(known)], np.int64)},
        output=(output, ("texts", *("one",) * keepdims, width)),
    )


def _make_model(
    nodes: Sequence[bytes], tables: Mapping[str, np.ndarray], *, output: tuple[str, tuple[int | str, ...]]
) -> bytes:
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, "by hand")
    graph += b"".join(_field(5, _tensor(name, table)) for name, table in tables.items())
    graph += b"".join(_field(11, _value(name, INT64, ("texts", "tokens"))) for name in INPUTS)
    graph += _field(12, _value(output[0], FLOAT, output[1]))
    return _field(1, 7) + _field(8, _field(2, 11)) + _field(7, graph)  # version 7 of the format, 11 of the operators


def _node(kind: str, inputs: Sequence[str], output: str, **attributes: int | list[int]) -> bytes:
    made = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, kind)
    for name, value in attributes.items():
        if isinstance(value, int):
            attribute = _field(3, value) + _field(20, 2)
        else:
            attribute = b"".join(_field(8, each) for each in value) + _field(20, 7)
        made += _field(5, _field(1, name) + attribute)
    return made


def _tensor(name: str, values: np.ndarray) -> bytes:
    kind = {"float32": FLOAT, "int64": INT64}[values.dtype.name]
    shape = b"".join(_field(1, size) for size in values.shape)
    return shape + _field(2, kind) + _field(8, name) + _field(9, values.tobytes())


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    axes = b"".join(_field(1, _field(1 if isinstance(axis, int) else 2, axis)) for axis in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, axes)))


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    raw = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(raw)) + raw


def _number(value: int) -> bytes:
    """Seven bits a byte, the lowest first, the highest bit set where more follow."""
    raw = bytearray()
    while value > 0x7F:
        raw.append(value & 0x7F | 0x80)
        value >>= 7
    raw.append(value)
    return bytes(raw)
