"""Checks of a system's spec and answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness.core.records import Prediction
from harness.datasets import Dataset
from harness.testing.spec_checks import check_params, check_presentation
from harness.testing.systems.opening import ChosenSystem, Opening, answers_from, requests_made
from harness.testing.systems.prediction_checks import check_prediction
from harness.testing.systems.process import Pass, SystemFindings
from harness.testing.systems.under_test import BuiltIndex, SystemUnderTest


class SystemPresentation(SystemUnderTest):
    """The spec of a system."""

    def test_it_presents_itself(self, system: ChosenSystem) -> None:
        """A registered name, a version, a one-line summary."""
        why = "a version is part of every run id"
        check_presentation(system.spec, self.name, listed="systems", why_version=why)

    def test_its_parameters_have_defaults_and_refuse_what_they_do_not_know(self, system: ChosenSystem) -> None:
        """Missing parameters have defaults; misspelled ones are errors."""
        for params in (system.spec.index_params, system.spec.answer_params):
            check_params(params)

    def test_a_parameter_belongs_to_the_index_or_to_the_answer(self, system: ChosenSystem) -> None:
        """Changed answer parameters reuse the index."""
        index, answer = system.spec.index_params.model_fields, system.spec.answer_params.model_fields
        both = set(index) & set(answer)
        assert not both, f"index and answer parameters must have different names: {sorted(both)}"


class SystemAnswers(SystemUnderTest):
    """Its answers in a fresh process."""

    def test_indexing_says_how_many_documents_there_were(self, indexed: BuiltIndex, demo: Dataset) -> None:
        """IndexStats.documents is the number of documents given to index()."""
        assert indexed.stats.documents == len(demo.documents), "IndexStats.documents must count the corpus"

    def test_every_query_is_answered(self, fresh: SystemFindings) -> None:
        """With a generator, no answer is empty."""
        passes: tuple[Pass, ...] = ("first", "again", "together")
        for name in passes:
            empty = [number for number, one in enumerate(fresh.passes[name]) if not one.answer]
            assert not empty, f"queries {empty} got no answer (pass '{name}')"

    def test_a_fresh_process_answers_as_the_one_that_indexed(
        self, indexed: BuiltIndex, fresh: SystemFindings
    ) -> None:
        """Everything that load() needs is in the index folder."""
        assert _as_plain(fresh.passes["first"]) == _as_plain(indexed.answers), (
            "another process gives a different answer"
        )

    def test_the_same_query_twice_is_answered_the_same(self, fresh: SystemFindings) -> None:
        """Earlier queries have no effect."""
        assert _as_plain(fresh.passes["again"]) == _as_plain(fresh.passes["first"]), (
            "the same query got a different answer"
        )

    def test_concurrent_answers_equal_those_one_at_a_time(self, fresh: SystemFindings) -> None:
        """Concurrent queries do not mix."""
        assert _as_plain(fresh.passes["together"]) == _as_plain(fresh.passes["first"]), (
            "concurrent queries get different answers"
        )

    def test_every_context_comes_from_where_it_says_in_rank_order(
        self, fresh: SystemFindings, demo: Dataset
    ) -> None:
        """Sources within the corpus; scores in descending order."""
        for prediction in fresh.passes["first"]:
            check_prediction(prediction, demo.documents)

    def test_what_the_generator_saw_is_in_the_record(self, fresh: SystemFindings) -> None:
        """A system that retrieves reports its contexts."""
        seen = any(prediction.contexts for prediction in fresh.passes["first"])
        assert seen == self.retrieves, (
            "no prediction has a context: report the generator's contexts, or set `retrieves = False` in the test"
            if self.retrieves
            else "it has contexts, so it retrieves"
        )

    def test_without_a_generator_it_retrieves_and_answers_none(
        self, system: ChosenSystem, fresh: SystemFindings
    ) -> None:
        """`runtime.chat` and the result of `runtime.answer` are None, so that retrieval can be measured alone."""
        if "generator" not in system.roles.answer:
            pytest.skip("it also answers without a generator")
        retrieved, first = fresh.passes["retrieved"], fresh.passes["first"]
        answers = {prediction.answer for prediction in retrieved}
        assert answers == {None}, f"without a generator every answer must be None: {answers}"
        kept = [bool(prediction.contexts) for prediction in retrieved]
        assert kept == [bool(one.contexts) for one in first], "without a generator it must still retrieve"

    def test_each_phase_calls_the_models_that_its_spec_names(
        self, system: ChosenSystem, indexed: BuiltIndex
    ) -> None:
        """A named model that is never called would split equal runs; a call to an unnamed one raises an error."""
        index = {made.role for made in requests_made(indexed.folder, "index")}
        assert index == system.roles.index, "index_roles must name exactly the models that index() calls"
        answer = {made.role for made in requests_made(indexed.folder, "load", "indexer")}
        assert answer == system.roles.answer, (
            "answer_roles must name exactly the models that load() and answer() call"
        )

    def test_the_answer_style_reaches_the_generator(
        self, system: ChosenSystem, indexed: BuiltIndex, copied: Path, demo: Dataset
    ) -> None:
        """`runtime.answer` applies it; systems with their own prompts must read `answer_style`."""
        if "generator" not in system.roles.answer:
            pytest.skip("its answers come without a generator")
        asyncio.run(answers_from(system, copied, demo.queries, "styled", Opening(style="sentence")))
        asked = {made.digest for made in requests_made(copied, "styled") if made.role == "generator"}
        before = {made.digest for made in requests_made(indexed.folder, "indexer") if made.role == "generator"}
        assert asked - before, "its prompts are the same for short answers and whole sentences"


def _as_plain(predictions: list[Prediction]) -> list[dict[str, object]]:
    """As plain values, so that pytest shows the differences."""
    return [prediction.model_dump() for prediction in predictions]
