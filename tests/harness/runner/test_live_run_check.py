"""Which runs can be asked a question, told before anything is opened."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.config.load import load_config
from harness.core.errors import HarnessError
from harness.core.records import Cost, IndexRecord, IndexStats
from harness.registry import SYSTEMS
from harness.runner.executing.execute import build_manifest
from harness.runner.executing.phases import job_of
from harness.runner.live_run_check import index_ids, live_run, run_named
from harness.runner.live_system import LONGEST_QUESTION, checked_question
from harness.runner.plan import Cell, index_dirs, plan_cells
from harness.store import RunDir, sample_rows


def planned(*settings: str) -> Cell:
    fake = ["models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1"]
    return plan_cells(load_config(None, [*fake, *settings]))[0]


@pytest.fixture(scope="module")
def cell() -> Cell:
    return planned("systems=[naive]")


def run_of(cell: Cell, results: Path, **identity: Any) -> RunDir:
    """A run that never ran, whose identity says these things besides."""
    manifest = build_manifest(cell)
    told = {**manifest.identity, **identity}
    sample = sample_rows(cell.dataset.queries, cell.dataset.references)
    return RunDir.create(results, manifest.model_copy(update={"identity": told}), sample)


def system(cell: Cell, **said: Any) -> dict[str, Any]:
    return {**cell.identity["system"], **said}


ROUTES = {"comparison": {"system": "kg", "index": {"extractor": "nlp"}}, "temporal": {"system": "naive"}}


@pytest.mark.parametrize(
    "settings",
    [
        ("systems=[naive]", "answer.top_k=3"),
        ("systems=[naive]", "models.generator.provider=none", "limits.query_timeout_s=7"),
        ("systems=[router]", f"per_system.router.answer.routes={json.dumps(ROUTES)}"),
    ],
)
def test_a_run_is_asked_with_the_job_that_it_was_planned_with(settings: tuple[str, ...], tmp_path: Path) -> None:
    cell = planned(*settings)
    for index in index_dirs(cell, tmp_path):
        index.begin()
        cost = Cost(wall_s=None, throttled_s=None)
        stats = IndexStats(documents=1)
        index.finish(
            IndexRecord(index_id=index.index_id, stats=stats, cost=cost, bytes_on_disk=0, built_by=cell.run_id)
        )
    run = run_of(cell, tmp_path)
    live = live_run(run)
    assert job_of(live.configuration, live.results, "answer", None) == job_of(cell, tmp_path, "answer", None)
    assert index_ids(run.manifest()) == [index.index_id for index in index_dirs(cell, tmp_path)]


def test_a_run_without_its_index_is_told_how_to_have_it_again(cell: Cell, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"is not under .*run its config again"):
        live_run(run_of(cell, tmp_path))


def test_another_version_of_the_system_is_refused(cell: Cell, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="'naive' has a different version"):
        live_run(run_of(cell, tmp_path, system=system(cell, version="0")))


def test_an_index_of_another_kind_is_refused(cell: Cell, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"the index of .* does not match .*'naive'"):
        live_run(run_of(cell, tmp_path, seed=cell.identity["seed"] + 1))


def test_a_model_that_is_another_now_is_refused(cell: Cell, tmp_path: Path) -> None:
    models = {**cell.identity["models"], "generator": {"provider": "fake", "model": "another"}}
    with pytest.raises(HarnessError, match=r"the generator of .* differs"):
        live_run(run_of(cell, tmp_path, models=models))


def test_a_system_that_answers_from_reference_evidence_has_none_for_a_question_of_ones_own(
    cell: Cell, tmp_path: Path
) -> None:
    gold = next(spec for spec in SYSTEMS.load_all()[0] if spec.sees_gold)
    said = {"name": gold.name, "version": gold.version, "index": {}, "answer": {}}
    with pytest.raises(HarnessError, match="answers from the gold evidence"):
        live_run(run_of(cell, tmp_path, system=said))


def test_answers_that_were_imported_have_no_system_here(cell: Cell, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="were imported"):
        live_run(run_of(cell, tmp_path, imported={"name": "theirs"}))


def test_a_name_that_is_neither_run_nor_index_is_refused(tmp_path: Path) -> None:
    for name in ("0123456789ab", "../elsewhere", ""):
        with pytest.raises(HarnessError, match="no run"):
            run_named(tmp_path, name)


@pytest.mark.parametrize("text", ["", " \n\t", "x" * (LONGEST_QUESTION + 1), "half \ud800 a pair"])
def test_what_is_no_question_is_one_line(text: str) -> None:
    with pytest.raises(HarnessError) as refused:
        checked_question(text)
    assert "\n" not in str(refused.value)


def test_a_question_in_any_language_is_one() -> None:
    assert checked_question(" 谁写的?\n") == "谁写的?"
