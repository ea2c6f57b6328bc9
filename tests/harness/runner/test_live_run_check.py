"""Which runs can be asked a question, told before anything is opened."""

import json
from pathlib import Path
from typing import Any

import pytest
from cells import cell as planned
from records import index_record

from harness.core.errors import HarnessError
from harness.registry import SYSTEMS
from harness.runner.executing.execute import build_manifest
from harness.runner.executing.jobs import job_of
from harness.runner.live_run_check import index_ids, live_run, run_named
from harness.runner.live_system import LONGEST_QUESTION, checked_question
from harness.runner.plan import Cell, index_dirs
from harness.store import RunDir, sample_rows


@pytest.fixture(scope="module")
def cell() -> Cell:
    return planned("systems=[naive]")


def run_of(cell: Cell, results: Path, **identity: Any) -> RunDir:
    """A run that never ran, whose identity says these things besides."""
    manifest = build_manifest(cell)
    told = {**manifest.identity, **identity}
    sample = sample_rows(cell.dataset.queries, cell.dataset.references)
    return RunDir.create(results, manifest.model_copy(update={"identity": told}), sample)


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
        index.finish(index_record(index_id=index.index_id, built_by=cell.run_id, bytes_on_disk=0))
    run = run_of(cell, tmp_path)
    live = live_run(run)
    assert job_of(live.configuration, live.results, "answer", None) == job_of(cell, tmp_path, "answer", None)
    assert index_ids(run.manifest()) == [index.index_id for index in index_dirs(cell, tmp_path)]


def test_a_run_whose_system_is_not_here_as_it_was_is_refused_with_the_reason(cell: Cell, tmp_path: Path) -> None:
    own = cell.identity
    gold = next(spec for spec in SYSTEMS.load_all()[0] if spec.sees_gold)
    refusals: list[tuple[str, dict[str, Any]]] = [
        (r"is not under .*run its config again", {}),
        ("'naive' has a different version", {"system": {**own["system"], "version": "0"}}),
        (r"the index of .* does not match .*'naive'", {"seed": own["seed"] + 1}),
        (r"the generator of .* differs", {"models": {**own["models"], "generator": {"provider": "fake"}}}),
        (
            "answers from the gold evidence",
            {"system": {"name": gold.name, "version": gold.version, "index": {}, "answer": {}}},
        ),
        ("were imported", {"imported": {"name": "theirs"}}),
    ]
    for number, (reason, identity) in enumerate(refusals):
        with pytest.raises(HarnessError, match=reason):
            live_run(run_of(cell, tmp_path / str(number), **identity))


def test_a_name_that_is_neither_run_nor_index_is_refused(tmp_path: Path) -> None:
    for name in ("0123456789ab", "../elsewhere", ""):
        with pytest.raises(HarnessError, match="no run"):
            run_named(tmp_path, name)


@pytest.mark.parametrize("text", ["", " \n\t", "x" * (LONGEST_QUESTION + 1), "half \ud800 a pair"])
def test_what_is_no_question_is_one_line(text: str) -> None:
    with pytest.raises(HarnessError) as refused:
        checked_question(text)
    assert "\n" not in str(refused.value)
    assert checked_question(" 谁写的?\n") == "谁写的?"
