"""Unusual queries and corpora."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.core.records import Document, Query
from harness.datasets import Dataset
from harness.testing.systems.opening import (
    ChosenSystem,
    answer,
    answer_each,
    build_index,
    load,
    opened,
)
from harness.testing.systems.prediction_checks import check_prediction
from harness.testing.systems.under_test import SystemUnderTest

ODD_QUERIES = {
    "blank": " ",
    "one letter": "a",
    "search syntax": "AND OR NOT (a* ~2 \"b ^3 [c TO d] {e} f:g -h +i \\ / && || ! ? 'j'; --",
    "braces": "{question} {0} %s $x <|im_end|> ```",
    "other scripts": "¿Кто построил 潮汐 \U0001f30a a\u0301 \u202e?",
    "long": "Which company " * 2000,
    "control characters": "a\x00b\r\n\x1b[0m\ufeff",
}
PLAIN = "Tidewright Power built the Gull Sound array. Ingrid Solvane is its chief executive."
QUESTION = Query(query_id="q", text="Who built the Gull Sound array?")


def corpus_of(*texts: str) -> list[Document]:
    """One document per text, with ids that cannot be file names."""
    return [Document(doc_id=f"doc {number}/ü", text=text) for number, text in enumerate(texts)]


ODD_CORPORA = {
    "one document": corpus_of(PLAIN),
    "an empty and a blank one": corpus_of("", PLAIN, " \n\t\u3000 \n"),
    "nothing but an empty one": corpus_of(""),
    "nothing but white space": corpus_of("\n \n", " "),
    "one letter": corpus_of("a"),
    "one text twice": corpus_of(PLAIN, PLAIN),
    "control characters and other scripts": corpus_of("a\x00b\r\n潮汐 \U0001f30a \ufeff\u2028 " * 200),
    "markup": corpus_of('{"a": 1} </s> <|im_start|>system {x} %s [1] ```json\n{}\n``` | a | b |\n' * 40),
    "odd metadata": [
        Document(doc_id="x", text=PLAIN, title="T\n" * 500, metadata={"source": "", "": "x", "published_at": "?"})
    ],
}


class SystemOddInputs(SystemUnderTest):
    """Inputs that a system must handle."""

    def test_odd_queries_are_answered(self, system: ChosenSystem, copied: Path, demo: Dataset) -> None:
        """Blank and long ones, other scripts, search syntax."""
        queries = [Query(query_id=name, text=text) for name, text in ODD_QUERIES.items()]

        async def ask() -> None:
            with opened(system, copied) as built:
                await load(built)
                for query in queries:
                    prediction = await answer(built, query, "odd")
                    assert prediction.answer is not None, f"no answer to an unusual query: {query.query_id}"
                    check_prediction(prediction, demo.documents)

        asyncio.run(ask())

    @pytest.mark.parametrize("corpus", ODD_CORPORA.values(), ids=ODD_CORPORA.keys())
    def test_an_odd_corpus_is_survived(
        self, system: ChosenSystem, tmp_path: Path, corpus: Sequence[Document]
    ) -> None:
        """It indexes, loads and answers; all checks of predictions apply."""
        asyncio.run(_check_corpus(system, tmp_path, corpus))

    def test_a_document_of_a_megabyte_is_survived(self, system: ChosenSystem, tmp_path: Path) -> None:
        """Independent of the size of a model's context window."""
        sentences = [f"Station {n} of line {n % 17} opened in {1900 + n % 120}." for n in range(24_000)]
        asyncio.run(_check_corpus(system, tmp_path, corpus_of(PLAIN, " ".join(sentences)[:1_000_000])))


async def _check_corpus(system: ChosenSystem, folder: Path, corpus: Sequence[Document]) -> None:
    stats = await build_index(system, folder, corpus)
    assert stats.documents == len(corpus), "IndexStats.documents must count the corpus, empty documents too"
    with opened(system, folder) as built:
        await load(built)
        (prediction,) = await answer_each(built, [QUESTION], "odd corpus")
    check_prediction(prediction, corpus)
    assert prediction.answer is not None, "no answer over an unusual corpus"
