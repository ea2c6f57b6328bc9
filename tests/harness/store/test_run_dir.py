"""One run on disk: created once, resumed, and never silently another."""

import json
import random
from pathlib import Path

import pytest
from scoring import evaluation

from harness.core.records import Score
from harness.store import SCHEMA_VERSION, RunDir, SampleRow

from .conftest import MakeManifest, MakeRecord, refusal


def test_a_new_run_has_its_manifest_and_its_sample(
    run: RunDir, make_manifest: MakeManifest, sample: list[SampleRow]
) -> None:
    assert run.run_id == "demo--naive--0123456789ab"
    assert run.manifest() == make_manifest()
    assert run.sample() == sample
    assert run.records() == {}
    assert run.index() is None
    assert run.done() is None


def test_the_manifest_is_written_after_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_manifest: MakeManifest, sample: list[SampleRow]
) -> None:
    """Where a manifest stands, the sample is complete."""
    order = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        order.append(Path(target).name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    RunDir.create(tmp_path, make_manifest(), sample)
    assert order == ["sample.jsonl", "manifest.json"]


def test_a_run_that_is_there_is_opened_and_left_as_it_is(
    run: RunDir, make_manifest: MakeManifest, make_record: MakeRecord
) -> None:
    run.append_record(make_record("q1"))
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    later = make_manifest().model_copy(update={"created_at": "2027-01-01T00:00:00+00:00", "git_commit": "abc"})
    again = RunDir.create(run.path.parent, later, [])
    assert {path.name: path.read_bytes() for path in again.path.iterdir()} == before
    assert list(again.records()) == [("q1", 0)]


def test_the_same_id_with_another_identity_is_refused(run: RunDir, make_manifest: MakeManifest) -> None:
    line = refusal(lambda: RunDir.create(run.path.parent, make_manifest(seed=1), []))
    assert line == f"{run.path} contains another run with the same id: move it away or use another --results"


@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1, "5"])
def test_another_schema_is_refused_in_one_line(run: RunDir, version: object) -> None:
    path = run.path / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "schema_version": version}))
    line = refusal(run.manifest)
    assert f"schema {version}," in line


def test_a_folder_without_a_manifest_is_no_run(tmp_path: Path) -> None:
    assert "is not a run directory (no manifest.json)" in refusal(RunDir(tmp_path).manifest)


def test_a_record_that_cannot_be_appended_is_one_line(tmp_path: Path, make_record: MakeRecord) -> None:
    assert "cannot append to" in refusal(lambda: RunDir(tmp_path / "gone").append_record(make_record("q1")))


def test_the_record_of_the_highest_attempt_counts_wherever_it_stands(run: RunDir, make_record: MakeRecord) -> None:
    written = [
        make_record("q1", attempt=1, ok=False),
        make_record("q2", attempt=3),
        make_record("q1", attempt=2),
        make_record("q1", repeat=1, attempt=1, ok=False),
        make_record("q2", attempt=2, ok=False),
    ]
    for record in written:
        run.append_record(record)
    assert list(run.iter_records()) == written
    assert run.records() == {("q1", 0): written[2], ("q2", 0): written[1], ("q1", 1): written[3]}


def test_resources_have_their_header_once(run: RunDir) -> None:
    assert run.resources_path() is None
    run.append_resources("time,rss_bytes", "1,2")
    RunDir(run.path).append_resources("time,rss_bytes", "3,4")
    path = run.resources_path()
    assert path is not None
    assert path.read_text() == "time,rss_bytes\n1,2\n3,4\n"


# Scores


def scores() -> list[Score]:
    return [
        Score(query_id=query, repeat=repeat, measure=measure, status="scored", value=0.1 * repeat)
        for query in ("q1", "q10", "q2", "å")
        for repeat in (0, 1, 10)
        for measure in ("em", "f1")
    ]


def test_scores_are_the_same_bytes_whatever_their_order(run: RunDir) -> None:
    written = set()
    path = run.path / "scores" / "answer.jsonl"
    for seed in range(5):
        shuffled = scores()
        random.Random(seed).shuffle(shuffled)
        run.write_scores(evaluation("answer"), iter(shuffled))
        written.add(path.read_bytes())
    assert len(written) == 1
    assert sorted(run.scores(), key=repr) == sorted(scores(), key=repr)


def test_scores_are_replaced_as_a_whole_and_by_evaluator(run: RunDir) -> None:
    assert run.scores() == []
    run.write_scores(evaluation("b"), scores()[:1])
    run.write_scores(evaluation("a"), scores()[1:3])
    run.write_scores(evaluation("b"), scores()[5:6])
    assert run.scores() == [*scores()[1:3], *scores()[5:6]]
    names = sorted(path.name for path in (run.path / "scores").iterdir())
    assert names == ["a.json", "a.jsonl", "b.json", "b.jsonl"]
    assert [one.evaluator for one in run.evaluations()] == ["a", "b"]
