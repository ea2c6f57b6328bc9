"""A run directory that an earlier version wrote, read as one of this version."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import StoreError
from harness.records import Triplet
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

BRACKET = "It sees no document: what the model knows by itself, a floor for the systems and not one of them."
NOTE = "Answers imported from answers.jsonl."
UNFINISHED = "no record: the run is unfinished"
STATED = "(Tidewright Power)-[BUILT]->(Gull Sound)"
Line = dict[str, Any]
Old = Callable[..., RunDir]


def context(text: str, kind: str = "triplet") -> Line:
    return {"text": text, "doc_ids": ["d"], "kind": kind, "score": None, "span": None}


def record(query_id: str, *contexts: Line, ok: bool = True) -> Line:
    prediction = {"answer": "yes", "contexts": list(contexts), "evidence": [], "trace": []}
    return {
        "query_id": query_id,
        "repeat": 0,
        "status": "ok" if ok else "error",
        "prediction": prediction if ok else None,
        "failure": None if ok else {"kind": "ValueError", "message": STATED},
        "cost": {"wall_s": 1.0},
        "attempt": 1,
        "started_at": "2026-10-01T00:00:00+00:00",
    }


def score(query_id: str, status: str, explanation: str, value: float | None = None) -> Line:
    return {
        "query_id": query_id,
        "repeat": 0,
        "measure": "accuracy",
        "status": status,
        "value": value,
        "explanation": explanation,
    }


@pytest.fixture
def old(tmp_path: Path, sample: list[SampleRow]) -> Old:
    """old(version=2, notes=(), records=(), scores=(), **identity): a run directory as that version wrote it."""

    def write(
        version: object = 2,
        notes: tuple[str, ...] = (),
        records: tuple[Line, ...] = (),
        scores: tuple[Line, ...] = (),
        **identity: Any,
    ) -> RunDir:
        folder = tmp_path / "demo--closed-book--0123456789ab"
        manifest = {
            "schema_version": version,
            "run_id": folder.name,
            "identity": identity or {"schema": 1, "seed": 0},
            "config": {},
            "dataset": {"name": "demo"},
            "index_id": "0" * 12,
            "notes": list(notes),
            "machine": {},
            "packages": {},
            "git_commit": "",
            "created_at": "2026-10-01T00:00:00+00:00",
        }
        (folder / "scores").mkdir(parents=True)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        lines_of = {
            "sample.jsonl": [row.model_dump(mode="json") for row in sample],
            "records.jsonl": records,
            "scores/answer.jsonl": scores,
        }
        for name, lines in lines_of.items():
            (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return RunDir(folder)

    return write


def files(run: RunDir) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


@pytest.mark.parametrize("version", [1, 2])
def test_the_note_of_a_bracket_is_its_bracket(old: Old, version: int) -> None:
    manifest = old(version, (BRACKET, "Another note.")).manifest()
    assert (manifest.bracket, manifest.notes) == (BRACKET, ("Another note.",))
    assert manifest.schema_version == version


def test_a_system_without_a_note_is_no_bracket(old: Old) -> None:
    manifest = old().manifest()
    assert (manifest.bracket, manifest.notes) == ("", ())


def test_the_notes_of_imported_answers_make_no_bracket_of_them(old: Old) -> None:
    manifest = old(notes=(NOTE,), imported={"rows_sha256": "0"}).manifest()
    assert (manifest.bracket, manifest.notes) == ("", (NOTE,))
    assert manifest.is_imported


def test_a_score_that_failed_for_want_of_a_record_is_missing(old: Old) -> None:
    lines = (score("q1", "failed", UNFINISHED), score("q2", "failed", "the judge is down"))
    found = old(scores=(*lines, score("q3", "scored", UNFINISHED, 1.0))).scores()
    assert [one.status for one in found] == ["missing", "failed", "scored"]
    assert [one.explanation for one in found] == [UNFINISHED, "the judge is down", UNFINISHED]


def test_a_triplet_is_read_from_the_text_of_its_context(old: Old) -> None:
    odd = "(a (b))-[R]->((c) d)"
    contexts = (context("a passage", "passage"), context(STATED), context(STATED, "passage"), context(odd))
    (found,) = old(records=(record("q1", *contexts),)).iter_records()
    assert found.prediction is not None
    assert [one.triplets for one in found.prediction.contexts] == [
        (),
        (Triplet("Tidewright Power", "BUILT", "Gull Sound"),),
        (),
        (Triplet("a (b)", "R", "(c) d"),),
    ]
    assert [one.text for one in found.prediction.contexts] == ["a passage", STATED, STATED, odd]


@pytest.mark.parametrize("text", ["Gull Sound: a tidal array.", "(a)-[b]", "", "a -[b]-> c"])
def test_a_context_of_a_graph_that_writes_no_triplet_has_none(old: Old, text: str) -> None:
    (found,) = old(records=(record("q1", context(text)),)).records().values()
    assert found.prediction is not None
    assert found.prediction.contexts[0].triplets == ()


def test_a_record_without_a_prediction_stays_as_it_is(old: Old) -> None:
    (found,) = old(records=(record("q1", ok=False),)).iter_records()
    assert found.failure is not None
    assert found.failure.message == STATED


@pytest.mark.parametrize(("waited_s", "known"), [(4.0, None), (0.0, 0.0), (1e-5, 0.0), (None, None)])
@pytest.mark.parametrize("version", [2, 3])
def test_of_what_once_counted_as_throttling_nobody_knows_what_was_a_limit_of_the_provider(
    old: Old, version: int, waited_s: float | None, known: float | None
) -> None:
    line = record("q1", context("a passage", "passage"))
    line["cost"] = {"wall_s": 4.5, "throttled_s": waited_s}
    run = old(version, records=(line,))
    index = {
        "index_id": "0" * 12,
        "stats": {"documents": 1},
        "cost": line["cost"],
        "bytes_on_disk": 1,
        "built_by": "x",
    }
    (run.path / "index.json").write_text(json.dumps(index))
    (found,), built = run.records().values(), run.index()
    assert built is not None
    assert (found.cost.throttled_s, built.cost.throttled_s) == (known, known)
    assert found.cost.latency_s == built.cost.latency_s == 4.5


def test_reading_writes_nothing(old: Old) -> None:
    run = old(
        notes=(BRACKET,), records=(record("q1", context(STATED)),), scores=(score("q2", "failed", UNFINISHED),)
    )
    before = files(run)
    run.manifest(), run.records(), run.scores(), run.sample()
    assert files(run) == before


def test_what_this_version_writes_is_read_to_the_letter(
    tmp_path: Path, make_manifest: Callable[..., Manifest], sample: list[SampleRow]
) -> None:
    """Its words are words, and no fields: a note is no bracket, a text no triplet."""
    manifest = make_manifest().model_copy(update={"notes": (NOTE,)})
    run = RunDir.create(tmp_path / "results", manifest, sample)
    (run.path / "records.jsonl").write_text(json.dumps(record("q1", context(STATED))) + "\n")
    (run.path / "scores").mkdir()
    (run.path / "scores" / "answer.jsonl").write_text(json.dumps(score("q1", "failed", UNFINISHED)) + "\n")
    assert run.manifest() == manifest
    (found,) = run.iter_records()
    assert found.prediction is not None
    assert found.prediction.contexts[0].triplets == ()
    assert [one.status for one in run.scores()] == ["failed"]


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99, "3", None])
def test_a_newer_version_is_refused_in_one_line(old: Old, version: object) -> None:
    run = old(version)
    with pytest.raises(StoreError) as refused:
        run.manifest()
    assert str(refused.value) == (
        f"{run.path} was written by a newer version (schema {version}, this one reads {SCHEMA_VERSION}): "
        "upgrade rag-bench-harness"
    )


def test_an_old_manifest_that_is_damaged_is_one_line(old: Old) -> None:
    run = old(notes=(BRACKET,))
    tree = json.loads((run.path / "manifest.json").read_text())
    (run.path / "manifest.json").write_text(json.dumps({**tree, "run_id": 3}))
    with pytest.raises(StoreError, match=r"manifest\.json is damaged \(.*run_id") as refused:
        run.manifest()
    assert "\n" not in str(refused.value)
