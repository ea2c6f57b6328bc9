"""Cosines of texts: values that can be counted by hand, and what is said where there is nothing to compare."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from judges import WordEmbedder
from scoring import BareEvaluation, passages, score_one

from harness.core.records import Prediction, Score
from harness.evaluators.cosine import SPEC, sentences_of, whole_of
from harness.extraction.text_windows import EMBEDDED_WHOLE as WINDOW
from harness.protocols import Embedder

QUESTION = "Who founded Acme?"
ANSWER = "Ann founded Acme. Acme sells anvils."
REFERENCE = "Ann founded Acme. Bob left."


def scores(
    answer: str = ANSWER, references: Sequence[str] = (REFERENCE,), embedder: Embedder | None = None
) -> dict[str, Score]:
    said = Prediction(answer=answer, contexts=passages("Ann founded Acme."))
    runtime = BareEvaluation(embedder=embedder or WordEmbedder())
    found = score_one(SPEC, said, question=QUESTION, answers=references, runtime=runtime)
    return {name.removeprefix("cosine_"): score for name, score in found.items()}


def test_each_measure_is_the_cosine_that_its_words_give() -> None:
    found = {name: score.value for name, score in scores().items()}
    # Ann, founded and acme are three words of five on both sides.
    assert found["answer_reference"] == pytest.approx(3 / 5, abs=1e-6)
    # "Ann founded Acme." is there, "Bob left." is nowhere; "Acme sells anvils." shares one word of three.
    assert found["reference_found"] == pytest.approx((1 + 0) / 2, abs=1e-6)
    assert found["answer_backed"] == pytest.approx((1 + 1 / 3) / 2, abs=1e-6)
    assert found["answer_contexts"] == pytest.approx((1 + 1 / 3) / 2, abs=1e-6)
    assert found["contexts_question"] == pytest.approx(2 / 3, abs=1e-6)
    assert found["answer_question"] == pytest.approx(2 / math.sqrt(5 * 3), abs=1e-6)


def test_of_several_references_the_nearest_counts() -> None:
    found = scores(references=("Nobody knows.", ANSWER))
    assert {found[name].value for name in ("answer_reference", "reference_found", "answer_backed")} == {1.0}


def test_a_vector_that_is_none_fails_its_score_and_is_never_a_zero() -> None:
    class Broken(WordEmbedder):
        async def embed_documents(self, texts: Sequence[str]) -> Any:
            return np.full((len(texts), 3), np.nan, dtype=np.float32)

    assert {score.status for score in scores(embedder=Broken()).values()} == {"failed"}


def test_sentences_are_cut_at_ends_and_lines_and_a_long_one_into_windows() -> None:
    assert sentences_of('He said "no." Then left!\n- item\n---\n') == ['He said "no.', "Then left!", "- item"]
    assert sentences_of("「行こう。」と言った。次の日！？終わり") == [
        "「行こう。」と言った。",
        "次の日！？",
        "終わり",
    ]
    assert sentences_of("वह गया। कब? هل ذهب؟ نعم.") == ["वह गया।", "कब?", "هل ذهب؟", "نعم."]
    assert [len(part) <= WINDOW for part in sentences_of("word " * 500)] == [True, True, True]


async def test_a_long_text_is_the_mean_of_its_windows_so_that_its_end_counts() -> None:
    embedder = WordEmbedder()
    text = "alpha " * 180 + "omega " * 180
    (row,) = await whole_of(embedder, text)
    assert min(row[:2]) > 0.4
