"""Checks of unusual inputs and of whole runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.config import BenchConfig, load_config
from harness.core.records import Document, Expected, Query
from harness.datasets import Dataset
from harness.protocols import Corpus, Workload
from harness.runner.estimating.estimate import expected_work
from harness.runner.executing.execute import RunContext, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.store.asked_calls import AskedCall, latest_calls
from harness.testing.checks import check_prediction
from harness.testing.systems.opening import (
    FAKE,
    ChosenSystem,
    answer,
    answer_each,
    build_index,
    load,
    opened,
)
from harness.testing.systems.under_test import BuiltIndex, SystemUnderTest

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


class SystemRuns(SystemUnderTest):
    """Checks of unusual inputs, and of a run as `rag-harness run` executes it, compared with its estimate."""

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

    def test_a_failing_model_call_is_one_record_and_the_rest_goes_on(
        self, system: ChosenSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In worker processes; tokens and seconds of the other queries are measured."""
        if "generator" not in system.roles.answer:
            pytest.skip("no model call of an answer can fail")
        monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
        victim = _planned(system, {}).dataset.queries[0]
        cell = _planned(system, {"fault": "http_500", "fault_match": re.escape(victim.text)})

        result = run_cell(cell, RunContext(tmp_path / "results", Reporter(quiet=True)))

        assert result.status == "done", f"one failed call must not end the run: {result.status}"
        records = result.run.records()
        failed = records.pop((victim.query_id, 0))
        assert failed.failure is not None, (
            "the model's error must leave answer(): it belongs on that query's record"
        )
        assert failed.failure.kind == "InternalServerError", (
            f"the model's own error must be kept: {failed.failure}"
        )
        others = {record.query_id: record.failure for record in records.values() if record.status != "ok"}
        assert not others, f"only one query's model call failed, and these are records of errors: {others}"
        for record in records.values():
            assert record.cost.usage["generator"].calls >= 1, "the call of an answer must be on its own record"

    @pytest.fixture
    def expected(self, system: ChosenSystem, demo: Dataset) -> Expected:
        if system.spec.expect is None:
            pytest.skip("it gives no expectation: estimates use its earlier runs")
        workload = Workload(Corpus("demo", demo.documents), demo.queries, FAKE.max_tokens)
        found = expected_work(_planned(system, {}), workload)
        if found is None:
            pytest.skip("a system to which it routes queries gives no expectation")
        return found

    def test_what_is_expected_is_a_number_of_calls_and_of_characters(self, expected: Expected) -> None:
        for work in (expected.index, expected.query):
            assert work.embedded_texts >= 0, "the number of embedded texts cannot be negative"
            assert bool(work.embedded_texts) == bool(work.embedded_characters), "texts must have characters"
            for calls in work.calls:
                assert min(calls.calls, calls.input_characters, calls.output_tokens_most) > 0, (
                    f"a kind of call that is expected has calls, characters and tokens: {calls}"
                )

    def test_calls_are_as_many_as_expected_or_the_most_is_said(
        self, expected: Expected, indexed: BuiltIndex, demo: Dataset
    ) -> None:
        """An estimate must be exact or marked as an upper bound."""
        for scope, work, units in (("index", expected.index, 1), ("indexer", expected.query, len(demo.queries))):
            made = len(_calls_in(indexed.folder, scope))
            most = round(units * sum(calls.calls for calls in work.calls))
            assert made <= most, f"scope '{scope}': {made} calls were made, at most {most} expected"
            assert made == most or expected.most, (
                f"scope '{scope}': {made} calls were made, {most} expected; if that is an upper bound, set `most`"
            )

    def test_prompts_are_about_as_long_as_expected(self, expected: Expected, indexed: BuiltIndex) -> None:
        """Within a factor of 1.5."""
        made = _calls_in(indexed.folder, "index", "indexer")
        for calls in (*expected.index.calls, *expected.query.calls):
            lengths = [call.characters for call in made if call.max_tokens == calls.output_tokens_most]
            mean = sum(lengths) / len(lengths) if lengths else calls.input_characters
            said = f"{calls.input_characters:.0f} characters per prompt are expected, {mean:.0f} were sent"
            assert calls.input_characters > mean / 1.5, said
            assert calls.input_characters < mean * 1.5 or expected.most, said


def _planned(system: ChosenSystem, script: dict[str, Any]) -> Cell:
    config: BenchConfig = load_config(
        {
            "systems": [system.name],
            "dataset": {"name": "demo", "sample": {"per_type": 2, "seed": 42}},
            "models": {
                "generator": {"provider": "fake", "max_retries": 0, "options": script},
                "embedder": {"provider": "fake"},
            },
            "index": system.index,
            "answer": system.answer,
        }
    )
    (cell,) = plan_cells(config)
    return cell


def _calls_in(folder: Path, *scopes: str) -> list[AskedCall]:
    journals = sorted((folder / "harness").glob("calls-*.sqlite"))
    calls = [call for path in journals for call in latest_calls(path)]
    return [call for call in calls if call.scope.split("/")[0] in scopes]


async def _check_corpus(system: ChosenSystem, folder: Path, corpus: Sequence[Document]) -> None:
    stats = await build_index(system, folder, corpus)
    assert stats.documents == len(corpus), "IndexStats.documents must count the corpus, empty documents too"
    with opened(system, folder) as built:
        await load(built)
        (prediction,) = await answer_each(built, [QUESTION], "odd corpus")
    check_prediction(prediction, corpus)
    assert prediction.answer is not None, "no answer over an unusual corpus"
