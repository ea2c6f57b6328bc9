"""What was damaged, lost or swapped in a run directory is said where it is read, and mended as the run goes on."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pydantic import RootModel
from records import index_record
from scoring import evaluation

from harness.core.records import Score
from harness.store import Done, RunDir, SampleRow, atomic_files, checksums

from .conftest import MakeRecord, refusal

QUERIES = tuple(f"q{number}" for number in range(1, 6))
AGAIN = "run the same command again"


@pytest.fixture
def queries() -> tuple[str, ...]:
    return QUERIES


@pytest.fixture
def run(run: RunDir, make_record: MakeRecord) -> RunDir:
    """A finished and scored run of five queries."""
    run.write_index(index_record(built_by=run.run_id))
    run.append_records(make_record(query, answer=f"{query} of {run.run_id}") for query in QUERIES)
    run.append_resources("time,rss_bytes", "1,2")
    for evaluator in ("answer", "retrieval"):
        run.write_scores(evaluation(evaluator), scores(f"{evaluator}_m"))
    close(run)
    return run


def scores(measure: str) -> list[Score]:
    return [Score(query_id=query, repeat=0, measure=measure, status="scored", value=1.0) for query in QUERIES]


def close(run: RunDir) -> None:
    run.mark_done(Done(n_expected=5, n_ok=5, n_error=0, finished_at="2026-01-01T00:00:00+00:00"))


def without_line(content: bytes, number: int = 2) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join(lines[:number] + lines[number + 1 :])


def with_line_twice(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join([*lines[:3], *lines[2:]])


def flipped(content: bytes) -> bytes:
    """A letter of a text is another one."""
    return content.replace(b"q3", b"q9", 1) if b"q3" in content else content.replace(b"1", b"2", 1)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda _: b"",
    "torn": lambda content: content[:-20],
    "a line less": without_line,
    "the last line less": lambda content: without_line(content, content.count(b"\n") - 1),
    "a line twice": with_line_twice,
    "another letter": flipped,
}


def damage(path: Path, how: str) -> None:
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[how](whole))
    assert path.read_bytes() != whole


# What closes what


def test_a_damaged_sample_is_refused_and_written_again(run: RunDir, sample: Sequence[SampleRow]) -> None:
    path = run.path / "sample.jsonl"
    whole = path.read_bytes()
    damage(path, "a line twice")
    line = refusal(RunDir(run.path).sample)
    assert str(path) in line
    assert AGAIN in line
    RunDir.create(run.path.parent, run.manifest(), sample)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("answer.jsonl", "torn"),
        ("answer.jsonl", "gone"),
        ("answer.json", "another letter"),
        ("answer.json", "another checksum"),
        ("answer.json", "gone"),
    ],
)
def test_damaged_scores_are_refused_and_made_again(run: RunDir, name: str, how: str) -> None:
    path = run.path / "scores" / name
    if how == "gone":
        path.unlink()
    elif how == "another checksum":
        path.write_text(json.dumps(json.loads(path.read_text()) | {"seal": {"sha256": "0"}}))
    else:
        damage(path, how)
    line = refusal(RunDir(run.path).scores)
    assert "answer" in line
    if name == "answer.json":
        assert "answer" in refusal(RunDir(run.path).evaluations)
    assert f"run `rag-harness evaluate {run.path}` again" in line
    run.write_scores(evaluation("answer"), scores("answer_m"))
    assert len(run.scores()) == 10


def test_scores_under_the_name_of_another_evaluator_are_refused(run: RunDir) -> None:
    swap(run.path / "scores" / "answer.jsonl", run.path / "scores" / "retrieval.jsonl")
    assert "does not match its checksum in answer.json" in refusal(run.scores)
    swap(run.path / "scores" / "answer.json", run.path / "scores" / "retrieval.json")
    assert "answer.json belongs to the evaluator 'retrieval'" in refusal(run.scores)


def swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


@pytest.mark.parametrize(
    ("name", "key", "way_out"),
    [
        ("manifest.json", "seal", "delete it and run the same command again"),
        ("manifest.json", "created_at", "delete it and run the same command again"),
        ("index.json", "created_at", "delete it and run the same command again"),
        ("done.json", "seal", AGAIN),
    ],
)
def test_a_json_file_that_was_changed_by_hand_is_one_line_with_the_cheapest_way_out(
    run: RunDir, name: str, way_out: str, key: str
) -> None:
    path = run.path / name
    tree = json.loads(path.read_text())
    changed = {"seal": {"seal": 3}, "created_at": {next(iter(tree)): [1]}}[key]
    path.write_text(json.dumps(tree | changed))
    read = {"manifest.json": RunDir.manifest, "index.json": RunDir.index, "done.json": RunDir.done}[name]
    line = refusal(lambda: read(RunDir(run.path)))
    assert str(run.path) in line
    assert way_out in line or "has schema" in line
    run.write_index(index_record(index_id="1" * 12))
    assert name == "manifest.json" or "belongs to another index" in refusal(run.index)


# Records


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_records_are_refused_and_missing_ones_answered_again(
    run: RunDir, make_record: MakeRecord, how: str
) -> None:
    path = run.path / "records.jsonl"
    whole = {line.encode() for line in path.read_text().splitlines()}
    damage(path, how)
    again = RunDir(run.path)
    for read in (again.done, again.records, lambda: list(again.iter_records())):
        assert AGAIN in refusal(read)
    assert not again.is_closed()
    kept = set(again.intact_statuses())
    assert again.remove_damaged()
    # Without the line that stood there twice the records are what was closed.
    assert (again.done() is None) is (how != "a line twice")
    assert set(again.records()) == kept
    assert set(path.read_bytes().splitlines()) <= whole
    for query in QUERIES:
        if (query, 0) not in kept:
            again.append_record(make_record(query, answer=f"{query} of {run.run_id}"))
    close(again)
    assert set(RunDir(run.path).records()) == {(query, 0) for query in QUERIES}
    assert again.remove_damaged() == []


@pytest.mark.parametrize(("how", "lost"), [("a line twice", 0), ("another letter", 1), ("torn", 1)])
def test_an_unfinished_run_loses_the_damaged_record_alone_and_keeps_it_aside(
    run: RunDir, how: str, lost: int
) -> None:
    run.reopen()
    path = run.path / "records.jsonl"
    damage(path, how)
    again = RunDir(run.path)
    if how != "torn":
        line = refusal(again.records)
        assert "records.jsonl line" in line
        assert "only its query is answered again" in line
    (said,) = again.remove_damaged()
    assert ("incomplete" if how == "torn" else "records.damaged.jsonl") in said
    assert len(again.records()) == 5 - lost
    aside = run.path / "records.damaged.jsonl"
    assert aside.exists() is (how != "torn")


@pytest.mark.parametrize(
    ("name", "how"),
    [("done.json", "torn"), ("done.json", "gone"), ("index.json", "emptied"), ("index.json", "gone")],
)
def test_a_damaged_completion_marker_or_index_record_is_made_again(run: RunDir, name: str, how: str) -> None:
    path = run.path / name
    if how == "gone":
        path.unlink()
    else:
        damage(path, how)
    again = RunDir(run.path)
    assert bool(again.remove_damaged()) is not (name == "done.json" and how == "gone")
    assert again.done() is None
    assert again.is_closed() is False
    assert len(again.records()) == 5


def test_a_run_that_is_reopened_while_it_is_checked_is_not_done(
    run: RunDir, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = RunDir(run.path)
    run.append_record(make_record("q1", attempt=2))
    check = checksums.check_closed

    def reopened_before(*given: object) -> None:
        run.reopen()
        check(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(checksums, "check_closed", reopened_before)
    assert reader.done() is None
    assert len(reader.intact_statuses()) == 5


# Without checksums


def unsealed(path: Path) -> None:
    """Take the checksum off a file, or off each of its lines."""
    if path.suffix == ".jsonl":
        path.write_bytes(re.sub(rb',"check":"[0-9a-f]{8}"', b"", path.read_bytes()))
    else:
        tree = json.loads(path.read_text())
        del tree["seal"]
        path.write_text(json.dumps(tree))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("manifest.json", RunDir.sample),
        ("index.json", RunDir.index),
        ("done.json", RunDir.done),
        ("scores/answer.json", RunDir.scores),
    ],
)
def test_a_file_without_a_checksum_is_refused(run: RunDir, name: str, read: Callable[[RunDir], object]) -> None:
    unsealed(run.path / name)
    line = refusal(lambda: read(RunDir(run.path)))
    assert f"{run.path / name} has no checksum: it was damaged or edited" in line
    assert "again" in line


def test_records_without_checksums_are_refused_and_answered_again(run: RunDir) -> None:
    run.reopen()
    unsealed(run.path / "records.jsonl")
    again = RunDir(run.path)
    assert "records.jsonl line 1 is damaged (it has no checksum)" in refusal(again.records)
    assert again.remove_damaged() == [
        "moved 5 damaged records to records.damaged.jsonl; their queries are answered again"
    ]
    assert again.records() == {}


# Types


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("identity", {"dataset": {"name": []}}),
        ("identity", {"models": {"generator": "gpt"}}),
        ("dataset", {"n_queries": True}),
        ("config", []),
    ],
)
def test_a_manifest_with_a_value_of_another_type_is_one_line(run: RunDir, key: str, value: object) -> None:
    tree = {**run.manifest().model_dump(), key: value}
    atomic_files.write_json(run.path / "manifest.json", RootModel(tree), [run.path / "sample.jsonl"])
    assert "manifest.json is damaged" in refusal(RunDir(run.path).manifest)
