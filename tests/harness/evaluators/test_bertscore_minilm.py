"""BERTScore by MiniLM on onnxruntime, the default: no torch, and near what the same model gives on torch."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from records import run_record
from scoring import BareEvaluation, score_all

from harness.core.records import Context, Evidence, Prediction, Reference
from harness.evaluators.bertscore import SPEC, BertScoreParams
from harness.evaluators.bertscore.loading import Encoder, MiniLMTokens
from harness.evaluators.bertscore.matching import TokenTable, match
from harness.evaluators.run_scoring import Scorer

# Loads the model.
pytestmark = pytest.mark.slow
PAIRS = [
    ("Sam Bankman-Fried", "Sam Altman"),
    ("Sam Bankman-Fried", "Samuel Bankman-Fried"),
    ("The council approved the plan in March.", "In March the plan was approved by the council."),
    ("The council approved the plan in March.", "Nobody knows where the ferry went."),
    ("higher interest rates", "interest rates that rise"),
    ("天空是蓝色的。", "天空很蓝,没有云。"),
]


@pytest.fixture
def encoder() -> Iterator[MiniLMTokens]:
    encoder = MiniLMTokens()
    yield encoder
    encoder.close()


def f1_of(encoder: Encoder, folder: Path, pairs: list[tuple[str, str]]) -> list[float]:
    """Of each pair; closes the encoder."""
    table = TokenTable(encoder, folder)
    list(table.add(text for pair in pairs for text in pair))
    found = [match(table.windows(one), list(table.windows(other))).f1 for one, other in pairs]
    table.close()
    return found


def test_it_scores_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "transformers", "bert_score"):
        monkeypatch.setitem(sys.modules, name, None)  # which makes an import of it an error
    evaluator = SPEC.build(BertScoreParams(), BareEvaluation())
    scorer = Scorer("bertscore", SPEC.measures(BertScoreParams()), evaluator)
    fact = "The council approved the plan."
    reference = Reference(
        query_id="q", query_type="x", answers=("the council",), evidence=(Evidence(doc_id="d", fact=fact),)
    )
    record = run_record("q", Prediction(answer="the council", contexts=(Context(text=fact, doc_ids=()),)))
    values = [score.value for score in score_all(scorer, [reference], {("q", 0): record})]
    assert values == [pytest.approx(1.0, abs=1e-5)] * 9
    evaluator.close()


def test_a_windows_vectors_depend_on_nothing_but_the_window(encoder: MiniLMTokens) -> None:
    windows = [encoder.split(text)[0] for pair in PAIRS for text in pair]
    alone = [next(encoder.embed([window])) for window in windows]
    for one, other in zip(alone, encoder.embed(windows), strict=True):
        assert np.array_equal(one, other)


def test_a_long_text_is_cut_into_few_windows_of_like_length(encoder: MiniLMTokens) -> None:
    assert [len(window) for window in encoder.split("word " * 1700)] == [427] * 4
    assert [len(window) for window in encoder.split("word " * 510)] == [512]
    assert [len(window) for window in encoder.split("word " * 511)] == [258, 257]


@pytest.mark.parametrize("text", ["\u200b", "\x00", "[SEP]", "[CLS] [SEP]"])
def test_a_text_of_nothing_but_marks_has_no_windows(encoder: MiniLMTokens, text: str) -> None:
    assert encoder.split(text) == []


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_it_is_near_the_same_model_on_torch_and_orders_pairs_alike(encoder: MiniLMTokens, tmp_path: Path) -> None:
    from harness.evaluators.bertscore.encoder import TokenEncoder
    from harness.evaluators.bertscore.loading import load

    on_torch = TokenEncoder(load("minilm-torch", None))
    ours, theirs = (f1_of(one, tmp_path, PAIRS) for one in (encoder, on_torch))
    assert ours == pytest.approx(theirs, abs=0.03)
    assert np.argsort(ours).tolist() == np.argsort(theirs).tolist()
