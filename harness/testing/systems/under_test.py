"""The system under test, its index over the demo, and the results of watched processes, each created once."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.core.records import IndexStats, Prediction
from harness.datasets import Dataset, QuerySample, load_dataset
from harness.registry import DATASETS
from harness.testing.guarding import finish, finish_and_kill, wait_until_told
from harness.testing.systems.opening import ChosenSystem, answers_from, build_index, requests_made
from harness.testing.systems.process import Pass, SystemFindings, SystemTask, run_system, start_system


@dataclass(frozen=True)
class BuiltIndex:
    """A system's index over the demo, and the answers of the process that built it."""

    folder: Path
    stats: IndexStats
    answers: list[Prediction]


@dataclass(frozen=True)
class SideBySide:
    """Two processes that used one index concurrently; the second was killed before it closed."""

    folder: Path
    answers: tuple[list[Prediction], list[Prediction]]


@cache
def load_demo() -> Dataset:
    """A real corpus of 28 articles with a query of each type."""
    return load_dataset(DATASETS.load("demo"), sample=QuerySample(per_type=1, seed=3))


class SystemUnderTest:
    name: ClassVar[str] = ""
    """The name under which it is registered."""
    index_params: ClassVar[Mapping[str, Any]] = {}
    """Index parameters that differ from the defaults."""
    answer_params: ClassVar[Mapping[str, Any]] = {}
    """Answer parameters that differ from the defaults."""
    retrieves: ClassVar[bool] = True
    """False: it never uses contexts."""

    @classmethod
    def chosen(cls) -> ChosenSystem:
        assert cls.name, f"{cls.__name__} must name the system to test: name = '...'"
        return ChosenSystem(name=cls.name, index=dict(cls.index_params), answer=dict(cls.answer_params))

    @pytest.fixture(scope="class")
    @classmethod
    def system(cls) -> ChosenSystem:
        """The system with its parameters, if its requirements are installed."""
        chosen = cls.chosen()
        if chosen.spec.preflight:
            chosen.spec.preflight(*chosen.params)
        return chosen

    @pytest.fixture(scope="class")
    @classmethod
    def demo(cls) -> Dataset:
        return load_demo()

    @pytest.fixture(scope="class")
    @classmethod
    def indexed(cls, system: ChosenSystem, demo: Dataset, tmp_path_factory: pytest.TempPathFactory) -> BuiltIndex:
        folder = tmp_path_factory.mktemp(cls.name) / "index"

        async def build() -> BuiltIndex:
            stats = await build_index(system, folder, demo.documents)
            return BuiltIndex(folder, stats, await answers_from(system, folder, demo.queries, "indexer"))

        return asyncio.run(build())

    @pytest.fixture(scope="class")
    @classmethod
    def fresh(
        cls, system: ChosenSystem, indexed: BuiltIndex, demo: Dataset, tmp_path_factory: pytest.TempPathFactory
    ) -> SystemFindings:
        """The observations of a fresh, watched process that uses that index."""
        passes: tuple[Pass, ...] = ("first", "again", "together", "retrieved")
        task = _task(system, indexed.folder, demo).model_copy(
            update={"passes": passes if "generator" in system.roles.answer else passes[:3]}
        )
        return run_system(task, tmp_path_factory.mktemp(f"{cls.name}-fresh"))

    @pytest.fixture(scope="class")
    @classmethod
    def rebuilt(
        cls, system: ChosenSystem, indexed: BuiltIndex, demo: Dataset, tmp_path_factory: pytest.TempPathFactory
    ) -> SystemFindings:
        """The observations of a watched process that rebuilds the index after another one died building it."""
        work = tmp_path_factory.mktemp(f"{cls.name}-rebuilt")
        middle = (len(requests_made(indexed.folder, "index")) + 1) // 2
        dies = {"builds": True, "dies": "building", "dies_at_call": middle}
        return run_system(_task(system, work / "index", demo).model_copy(update=dies), work / "building")

    @pytest.fixture(scope="class")
    @classmethod
    def side_by_side(
        cls, system: ChosenSystem, indexed: BuiltIndex, demo: Dataset, tmp_path_factory: pytest.TempPathFactory
    ) -> SideBySide:
        work = tmp_path_factory.mktemp(f"{cls.name}-two")
        shutil.copytree(indexed.folder / "store", work / "index" / "store")
        task = _task(system, work / "index", demo)
        both_opened = work / "both-opened"
        one = start_system(task.model_copy(update={"waits_for": both_opened}), work / "one")
        two = start_system(task.model_copy(update={"dies": "answering"}), work / "two")
        try:
            wait_until_told(two, work / "two")
            both_opened.touch()
            first = finish(one, work / "one", SystemFindings)
        finally:
            second = finish_and_kill(two, work / "two", SystemFindings)
        return SideBySide(task.folder, (first.passes["first"], second.passes["first"]))

    @pytest.fixture
    def copied(self, indexed: BuiltIndex, tmp_path: Path) -> Path:
        shutil.copytree(indexed.folder / "store", tmp_path / "index" / "store")
        return tmp_path / "index"


def _task(system: ChosenSystem, folder: Path, demo: Dataset) -> SystemTask:
    return SystemTask(system=system, folder=folder, documents=demo.documents, queries=demo.queries)
