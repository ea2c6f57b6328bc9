"""Checks of the files that a system writes, keeps open, and leaves after a kill."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from pathlib import Path

from harness.datasets import Dataset
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
)
from harness.testing.systems.process import SystemFindings
from harness.testing.systems.under_test import BuiltIndex, SideBySide, SystemUnderTest


class SystemFolders(SystemUnderTest):
    """A system's folder, files and network use."""

    def test_building_it_opens_nothing_and_it_can_be_closed_at_once(
        self, system: ChosenSystem, tmp_path: Path
    ) -> None:
        """index() and load() open files; the constructor does not."""
        with opened(system, tmp_path):
            assert files_below(tmp_path / "store") == [], "the constructor may not write"
            assert still_open(tmp_path / "store", wait_s=0) == [], "the constructor may not open files"

    def test_it_can_be_closed_after_a_load_that_failed(self, system: ChosenSystem, tmp_path: Path) -> None:
        """close() is always called, also after a failed load."""

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
        """The same rules as for answering."""
        assert rebuilt.writes == rebuilt.left_behind == [], "index() may write in runtime.index_dir only"
        assert rebuilt.connections == [], "index() may not open connections: models are in the runtime"
        assert rebuilt.held == [], "after close() no file of the index may be open"

    def test_closing_releases_every_file_of_the_index(self, fresh: SystemFindings) -> None:
        """Also files that loading and answering opened."""
        assert fresh.held == [], "after close() no file of the index may be open"

    def test_an_index_that_was_moved_answers_the_same(
        self, system: ChosenSystem, copied: Path, indexed: BuiltIndex, demo: Dataset
    ) -> None:
        """The index does not contain the path of its folder."""
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


class SystemKills(SystemUnderTest):
    """The state after a kill or a time limit."""

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
