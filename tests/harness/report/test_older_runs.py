"""Runs that an earlier version wrote: a report says of them what it says of the same runs written today."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from earlier import without_seals

from harness.analysis.prices import load_prices
from harness.evaluators.base import NO_RECORD
from harness.records import Context, Triplet
from harness.report.chapter import Chapter, load_chapters
from harness.report.page.explorer import build_explorer
from harness.report.sections.reproduce import run_command
from harness.report.summary import summary_markdown
from harness.report.tables import summary_csv
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
Line = dict[str, Any]
BRACKET = "It sees the gold evidence: a ceiling, not one of them."


@pytest.fixture
def runs(make_run: MakeRun) -> list[RunDir]:
    """A bracket, an unfinished run, one whose contexts are triplets, and a whole one."""
    graph = make_run(system="kg", sessions=())
    template = next(graph.iter_records())
    assert template.prediction is not None
    stated = Context(text="(Acme)-[OWNS]->(Lagos)", doc_ids=("d",), kind="triplet")
    contexts = (stated.model_copy(update={"triplets": (Triplet("Acme", "OWNS", "Lagos"),)}),)
    prediction = template.prediction.model_copy(update={"contexts": contexts})
    done = graph.done()
    assert done is not None
    graph.reopen()
    graph.append_record(template.model_copy(update={"prediction": prediction, "attempt": 2}))
    graph.mark_done(done)
    return [
        make_run(system="gold", bracket=BRACKET, sessions=()),
        make_run(system="naive", missing=3, failing=1, sessions=()),
        graph,
        make_run(system="community", sessions=()),
    ]


def as_version_2(run: RunDir, results: Path) -> RunDir:
    """The same run as version 2 wrote it."""
    folder = results / run.run_id
    shutil.copytree(run.path, folder)
    without_seals(folder)
    tree = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    bracket = tree.pop("bracket")
    tree |= {"schema_version": 2, "notes": [*([bracket] if bracket else []), *tree["notes"]]}
    (folder / "manifest.json").write_text(json.dumps(tree), encoding="utf-8")
    rewrite(folder / "records.jsonl", without_triplets)
    rewrite(folder / "scores" / "answer.jsonl", told_in_words)
    return RunDir(folder)


def rewrite(path: Path, change: Callable[[Line], Line]) -> None:
    if not path.exists():
        return
    lines = [json.dumps(change(json.loads(line))) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def without_triplets(record: Line) -> Line:
    for context in (record["prediction"] or {}).get("contexts", ()):
        del context["triplets"]
    return record


def told_in_words(score: Line) -> Line:
    if score["status"] != "missing":
        return score
    assert score["explanation"] == NO_RECORD
    return score | {"status": "failed"}


def said_of(runs: Sequence[RunDir]) -> Iterator[str]:
    """Every number and word of a report, and what its explorer shows."""
    chapters: list[Chapter] = load_chapters(runs, load_prices())
    yield summary_csv([chapter.group for chapter in chapters])
    yield summary_markdown(chapters)
    for chapter in chapters:
        yield repr(chapter.findings.ranks)
        yield repr(build_explorer(chapter.group, "g0", 10_000_000).blocks)


def test_runs_of_an_older_schema_give_the_same_report(runs: list[RunDir], tmp_path: Path) -> None:
    older = [as_version_2(run, tmp_path / "older") for run in runs]
    assert [run.manifest().schema_version for run in older] == [2] * len(runs)
    assert list(said_of(older)) == list(said_of(runs))


def test_an_older_run_and_a_new_one_are_compared_as_if_both_were_new(runs: list[RunDir], tmp_path: Path) -> None:
    gold, unfinished, graph, whole = runs
    mixed = [gold, as_version_2(unfinished, tmp_path / "older"), as_version_2(graph, tmp_path / "older"), whole]
    assert list(said_of(mixed)) == list(said_of(runs))


@pytest.mark.slow
def test_what_the_schemas_tell_apart_would_be_seen(runs: list[RunDir], tmp_path: Path) -> None:
    """Read as if they were of this version, they would say something else."""
    older = [as_version_2(run, tmp_path / "older") for run in runs]
    for run in older:
        rewrite_version(run)
    told, said = list(said_of([RunDir(run.path) for run in older])), list(said_of(runs))
    assert all(one != other for one, other in zip(told[1:], said[1:], strict=True))


def test_waits_that_an_older_run_called_throttling_are_in_its_latency_and_the_report_says_so(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """41 calls that waited for each other's places had taken 0.2 of 4.2 seconds."""

    def throttled(record: Line) -> Line:
        return record | {"cost": record["cost"] | {"wall_s": 4.2, "throttled_s": 4.0}}

    run = make_run(sessions=(), evaluated=False)
    without_seals(run.path)
    rewrite(run.path / "records.jsonl", throttled)
    (today,) = load_chapters([RunDir(run.path)], load_prices())
    rewrite_version(run)
    (older,) = load_chapters([RunDir(run.path)], load_prices())
    means = [chapter.group.views[0].value("latency_s") for chapter in (today, older)]
    assert means == [pytest.approx(0.2), pytest.approx(4.2)]
    assert older.group.views[0].value("wall_s") == pytest.approx(4.2)
    notes = ["\n".join(chapter.group.note_lines) for chapter in (today, older)]
    assert ["latencies are wall time" in text for text in notes] == [False, True]


def rewrite_version(run: RunDir) -> None:
    path = run.path / "manifest.json"
    tree = json.loads(path.read_text(encoding="utf-8")) | {"schema_version": 3}
    path.write_text(json.dumps(tree), encoding="utf-8")


@pytest.mark.parametrize(
    "config",
    [
        {"answer": {"top_k": 4, "style": "sentence"}},
        {
            "answer": {"top_k": 4, "style": "short"},
            "per_system": {"kg": {"answer": {"style": "sentence"}}, "naive": {"answer": {"style": "short"}}},
        },
    ],
)
def test_the_command_that_makes_an_older_run_again_is_one_of_today(
    make_run: MakeRun, config: Line, tmp_path: Path
) -> None:
    tree = {"systems": ["kg"], "dataset": {"name": "demo"}, **config}
    run = as_version_2(make_run(system="kg", config=tree, missing=20, evaluated=False, sessions=()), tmp_path)
    assert run_command(run.manifest()) == (
        "rag-harness run --set 'systems=[\"kg\"]' --set dataset.name=demo --set answer.top_k=4 "
        "--set answer_style=sentence"
    )


def test_the_style_of_another_system_is_not_that_of_an_older_run(make_run: MakeRun, tmp_path: Path) -> None:
    styles = {"naive": {"answer": {"style": "sentence"}}}
    tree = {"systems": ["kg"], "dataset": {"name": "demo"}, "per_system": styles}
    run = as_version_2(make_run(system="kg", config=tree, missing=20, evaluated=False, sessions=()), tmp_path)
    assert "answer_style" not in run.manifest().config
    assert "style" not in run_command(run.manifest())
