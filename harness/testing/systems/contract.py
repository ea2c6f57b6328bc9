"""The contract suite for systems."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import pytest

from harness.core.records import Prediction
from harness.datasets import Dataset
from harness.testing.checks import check_params, check_prediction, check_presentation
from harness.testing.guarding import files_below, still_open
from harness.testing.systems.opening import (
    FAKE,
    ChosenSystem,
    Opening,
    answer,
    answer_each,
    answers_from,
    load,
    opened,
    requests_made,
)
from harness.testing.systems.process import Pass, SystemFindings
from harness.testing.systems.runs import SystemRuns
from harness.testing.systems.under_test import BuiltIndex, SideBySide


class SystemContract(SystemRuns):
    """The contract of every system. Subclass it with a name that begins with `Test`, and set `name`.

    ```python
    class TestBM25(SystemContract):
        name = "bm25"
        answer_params = {"n_documents": 3}
    ```
    """

    def test_it_presents_itself(self, system: ChosenSystem) -> None:
        why = "a version is part of every run id"
        check_presentation(system.spec, self.name, listed="systems", why_version=why)

    def test_its_parameters_have_defaults_and_refuse_what_they_do_not_know(self, system: ChosenSystem) -> None:
        for params in (system.spec.index_params, system.spec.answer_params):
            check_params(params)

    def test_a_parameter_belongs_to_the_index_or_to_the_answer(self, system: ChosenSystem) -> None:
        """Changed answer parameters reuse the index."""
        index, answer = system.spec.index_params.model_fields, system.spec.answer_params.model_fields
        both = set(index) & set(answer)
        assert not both, f"index and answer parameters must have different names: {sorted(both)}"

    def test_indexing_says_how_many_documents_there_were(self, indexed: BuiltIndex, demo: Dataset) -> None:
        assert indexed.stats.documents == len(demo.documents), "IndexStats.documents must count the corpus"

    def test_every_query_is_answered(self, system: ChosenSystem, fresh: SystemFindings) -> None:
        """With a generator, no answer is empty."""
        if not system.generates:
            pytest.skip("it only retrieves")
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
        assert _as_plain(fresh.passes["again"]) == _as_plain(fresh.passes["first"]), (
            "the same query got a different answer"
        )

    def test_concurrent_answers_equal_those_one_at_a_time(self, fresh: SystemFindings) -> None:
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
        retrieved, first = fresh.passes["retrieved"], fresh.passes["first"]
        if not system.generates:
            said = {prediction.answer for prediction in first}
            why = "name the generator in `answer_roles`, or set `own_models=True` if it answers in another way"
            assert said == {None}, f"answers of a system that names no generator are not scored: {why}"
        if "generator" not in system.roles.answer:
            pytest.skip("it needs no generator")
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

    def test_building_it_opens_nothing_and_it_can_be_closed_at_once(
        self, system: ChosenSystem, tmp_path: Path
    ) -> None:
        """index() and load() open files; the constructor does not."""
        with opened(system, tmp_path):
            assert files_below(tmp_path / "store") == [], "the constructor may not write"
            assert still_open(tmp_path / "store", wait_s=0) == [], "the constructor may not open files"

    def test_it_can_be_closed_after_a_load_that_failed(self, system: ChosenSystem, tmp_path: Path) -> None:

        async def fail() -> None:
            with opened(system, tmp_path) as built, suppress(Exception):
                await load(built)

        asyncio.run(fail())
        assert still_open(tmp_path / "store") == [], "what a failed load() opened must be closed"

    def test_answering_writes_nothing_outside_the_index_folder(self, fresh: SystemFindings) -> None:
        """It may write only to `runtime.index_dir` and the temporary folder, which is empty at the end."""
        assert fresh.writes == [], "it may write in runtime.index_dir only"
        assert fresh.left_behind == [], "it may leave no files in the home, working or temporary folder"

    def test_answering_reaches_nothing_but_the_models(self, fresh: SystemFindings) -> None:
        """Every model call goes through the runtime, which counts it."""
        assert fresh.connections == [], "it may not open connections: models are in the runtime"

    def test_indexing_keeps_to_its_folder_and_its_models(self, rebuilt: SystemFindings) -> None:
        assert rebuilt.writes == rebuilt.left_behind == [], "index() may write in runtime.index_dir only"
        assert rebuilt.connections == [], "index() may not open connections: models are in the runtime"
        assert rebuilt.held == [], "after close() no file of the index may be open"

    def test_closing_releases_every_file_of_the_index(self, fresh: SystemFindings) -> None:
        assert fresh.held == [], "after close() no file of the index may be open"

    def test_an_index_that_was_moved_answers_the_same(
        self, system: ChosenSystem, copied: Path, indexed: BuiltIndex, demo: Dataset
    ) -> None:
        moved = asyncio.run(answers_from(system, copied, demo.queries, "moved"))
        assert moved == indexed.answers, "an index in another folder must give the same answers"

    def test_two_processes_may_answer_from_one_index_at_once(
        self, fresh: SystemFindings, side_by_side: SideBySide
    ) -> None:
        """Runs that share an index may run concurrently."""
        for answers in side_by_side.answers:
            assert answers == fresh.passes["first"], (
                "it must give the same answers while another process uses the index"
            )

    def test_a_build_that_was_killed_starts_again_and_ends_as_an_uninterrupted_one(
        self, indexed: BuiltIndex, rebuilt: SystemFindings
    ) -> None:
        """The folder is emptied; nothing else may keep state of the first attempt."""
        assert rebuilt.stats == indexed.stats, "the index is different if built again after a kill"
        assert rebuilt.passes["first"] == indexed.answers, (
            "the answers are different if the index is built again after a kill"
        )

    def test_an_index_is_whole_after_a_process_died_answering_from_it(
        self, system: ChosenSystem, indexed: BuiltIndex, side_by_side: SideBySide, demo: Dataset
    ) -> None:
        """A process that ends without close() does not affect others."""
        answers = asyncio.run(answers_from(system, side_by_side.folder, demo.queries, "after"))
        assert answers == indexed.answers, "after another process died while answering, the answers are different"

    def test_a_query_that_is_cut_off_leaves_the_next_ones_alone(
        self, system: ChosenSystem, copied: Path, indexed: BuiltIndex, demo: Dataset
    ) -> None:
        """The time limit cancels an answer at any point: no lock may stay held, no slot be lost."""
        victim = demo.queries[0]
        hangs = FAKE.model_copy(update={"options": {"fault": "hang", "fault_match": re.escape(victim.text)}})

        async def cut_off() -> None:
            with opened(system, copied, Opening(generator=hangs)) as built:
                await load(built)
                for attempt in range(12):
                    with suppress(TimeoutError):
                        async with asyncio.timeout(0.1):
                            await answer(built, victim, f"cancelled {attempt}")
                async with asyncio.timeout(60):
                    after = await answer_each(built, demo.queries[1:], "after")
            assert after == indexed.answers[1:], "after cancelled queries, the answers are different"

        asyncio.run(cut_off())


def _as_plain(predictions: list[Prediction]) -> list[dict[str, object]]:
    """As plain values, so that pytest shows the differences."""
    return [prediction.model_dump() for prediction in predictions]
