"""Cross-encoders for tests: a real ONNX file with scores that are computable by hand."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

_FLOAT, _INT64 = 1, 7


def write_onnx(
    folder: Path, worth: Mapping[str, float], *, sums: bool = True, labels: Mapping[str, float] | None = None
) -> Path:
    """A cross-encoder that adds the `worth` of the words in the second text, and its tokenizer.

    Without `sums` it returns a number per token, like an embedder. With `labels` it returns one per label, that
    sum times the label's factor, and names them in config.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer([*marks, *worth])))
    weights = np.array([0.0] * len(marks) + list(worth.values()), dtype=np.float32)
    factors = np.array(list((labels or {}).values()), dtype=np.float32)
    (folder / "model.onnx").write_bytes(_model(weights, factors, sums=sums))
    if labels:
        (folder / "config.json").write_text(json.dumps({"id2label": dict(enumerate(labels))}))
    return folder


def write_torch(folder: Path, worth: Iterable[str], **config: Any) -> Path:
    """A tiny sequence classifier of transformers with random weights, and a tokenizer of these words; `config`
    sets the number of outputs or the task.
    """
    import transformers

    write_onnx(folder, dict.fromkeys(worth, 0.0))
    (folder / "model.onnx").unlink()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]", unk_token="[UNK]"
    )
    tokenizer.save_pretrained(folder)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    # Large enough that no two texts have the same value, and the same in every process.
    transformers.set_seed(7)
    made = transformers.BertConfig(vocab_size=len(tokenizer), initializer_range=1.0, **sizes, **config)
    transformers.BertForSequenceClassification(made).save_pretrained(folder)
    return folder


def _tokenizer(words: Iterable[str]) -> dict[str, object]:
    vocabulary = {word: number for number, word in enumerate(words)}

    def special(name: str, kind: int) -> dict[str, object]:
        return {"SpecialToken": {"id": name, "type_id": kind}}

    def text(name: str, kind: int) -> dict[str, object]:
        return {"Sequence": {"id": name, "type_id": kind}}

    pair = [special("[CLS]", 0), text("A", 0), special("[SEP]", 0), text("B", 1), special("[SEP]", 1)]
    known = {name: {"id": name, "ids": [vocabulary[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": pair[:3],
            "pair": pair,
            "special_tokens": known,
        },
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }


def _model(weights: np.ndarray, factors: np.ndarray, *, sums: bool) -> bytes:
    """ONNX's protobuf message by field numbers, so that its package is not needed."""
    worth = [
        _node("Gather", ["weights", "input_ids"], "worth"),
        _node("Cast", ["token_type_ids"], "is_passage", _attribute("to", _FLOAT)),
        _node("Mul", ["worth", "is_passage"], "each" if sums else "logits"),
    ]
    total = [_node("ReduceSum", ["each", "axes"], "sum" if factors.size else "logits")] if sums else []
    total += [_node("Mul", ["sum", "factors"], "logits")] if factors.size else []
    graph = b"".join(
        [
            *(_field(1, node) for node in [*worth, *total]),
            _field(2, b"toy"),
            _field(5, _tensor("weights", _FLOAT, weights)),
            _field(5, _tensor("factors", _FLOAT, factors)),
            _field(5, _tensor("axes", _INT64, np.array([1], dtype=np.int64))),
            *(_field(11, _value(name, _INT64)) for name in ("input_ids", "token_type_ids")),
            _field(12, _value("logits", _FLOAT)),
        ]
    )
    return _number(1, 8) + _field(7, graph) + _field(8, _number(2, 13))


def _node(kind: str, inputs: Iterable[str], output: str, attribute: bytes = b"") -> bytes:
    names = b"".join(_field(1, name.encode()) for name in inputs)
    return names + _field(2, output.encode()) + _field(4, kind.encode()) + attribute


def _attribute(name: str, value: int) -> bytes:
    return _field(5, _field(1, name.encode()) + _number(3, value) + _number(20, 2))


def _tensor(name: str, kind: int, values: np.ndarray) -> bytes:
    shape = b"".join(_number(1, size) for size in values.shape)
    return shape + _number(2, kind) + _field(8, name.encode()) + _field(9, values.tobytes())


def _value(name: str, kind: int) -> bytes:
    shape = b"".join(_field(1, _field(2, size.encode())) for size in ("batch", f"length of {name}"))
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    rest, low = divmod(value, 128)
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
