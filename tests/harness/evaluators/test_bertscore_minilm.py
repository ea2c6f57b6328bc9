"""BERTScore by MiniLM on onnxruntime, the default: no torch, and near what the same model gives on torch."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scoring import BareEvaluation, passages, score_one

from harness.core.records import Prediction
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


def test_it_scores_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "transformers", "bert_score"):
        monkeypatch.setitem(sys.modules, name, None)  # which makes an import of it an error
    evaluator = SPEC.build(BertScoreParams(), BareEvaluation())
    scorer = Scorer("bertscore", SPEC.measures(BertScoreParams()), evaluator)
    fact = "The council approved the plan."
    said = Prediction(answer="the council", contexts=passages(fact))
    found = score_one(scorer, said, answers=["the council"], evidence=[("d", fact)])
    assert [score.value for score in found.values()] == [pytest.approx(1.0, abs=1e-5)] * 9
    evaluator.close()


def test_a_windows_vectors_depend_on_nothing_but_the_window(encoder: MiniLMTokens) -> None:
    windows = [encoder.split(text)[0] for pair in PAIRS for text in pair]
    alone = [next(encoder.embed([window])) for window in windows]
    for one, other in zip(alone, encoder.embed(windows), strict=True):
        assert np.array_equal(one, other)


def test_a_long_text_is_split_into_few_windows_of_similar_length_and_one_of_marks_has_none(
    encoder: MiniLMTokens,
) -> None:
    assert [encoder.split(text) for text in ("\u200b", "\x00", "[SEP]", "[CLS] [SEP]")] == [[]] * 4
    assert [len(window) for window in encoder.split("word " * 1700)] == [427] * 4
    assert [len(window) for window in encoder.split("word " * 510)] == [512]
    assert [len(window) for window in encoder.split("word " * 511)] == [258, 257]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_it_is_near_the_same_model_on_torch_and_orders_pairs_alike(encoder: MiniLMTokens, tmp_path: Path) -> None:
    from harness.evaluators.bertscore.loading import TokenEncoder, load

    on_torch = TokenEncoder(load("minilm-torch", None))

    def f1s(encoder: Encoder) -> list[float]:
        table = TokenTable(encoder, tmp_path)
        list(table.add(text for pair in PAIRS for text in pair))
        found = [match(table.windows(one), list(table.windows(other))).f1 for one, other in PAIRS]
        table.close()
        return found

    ours, theirs = f1s(encoder), f1s(on_torch)
    assert ours == pytest.approx(theirs, abs=0.03)
    assert np.argsort(ours).tolist() == np.argsort(theirs).tolist()
