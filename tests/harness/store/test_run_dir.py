"""One run on disk: created once, resumed, and never silently another."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from records import known
from scoring import evaluation

from harness.core.errors import StoreError
from harness.core.records import Score
from harness.store import SCHEMA_VERSION, Dialect, Dialects, Done, RunDir, SampleRow

from .conftest import MakeManifest, MakeRecord, refusal


def test_a_new_run_has_its_sample_and_then_its_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_manifest: MakeManifest, sample: list[SampleRow]
) -> None:
    """If there is a manifest, the sample is complete."""
    order = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        order.append(Path(target).name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    run = RunDir.create(tmp_path, make_manifest(), sample)
    assert order == ["sample.jsonl", "manifest.json"]
    assert (run.run_id, run.manifest(), run.sample()) == ("demo--naive--0123456789ab", make_manifest(), sample)
    assert (run.records(), run.index(), run.done()) == ({}, None, None)


def test_an_existing_run_is_opened_unchanged_unless_its_identity_is_another(
    run: RunDir, make_manifest: MakeManifest, make_record: MakeRecord
) -> None:
    run.append_record(make_record("q1"))
    before = {path.name: path.read_bytes() for path in run.path.iterdir()}
    later = make_manifest().model_copy(update={"created_at": "2027-01-01T00:00:00+00:00", "git_commit": "abc"})
    again = RunDir.create(run.path.parent, later, [])
    assert {path.name: path.read_bytes() for path in again.path.iterdir()} == before
    assert list(again.records()) == [("q1", 0)]
    line = refusal(lambda: RunDir.create(run.path.parent, make_manifest(seed=1), []))
    assert line == f"{run.path} contains another run with the same id: move it away or use another --results"


def test_another_schema_or_no_manifest_or_folder_is_refused_in_one_line(
    run: RunDir, tmp_path: Path, make_record: MakeRecord
) -> None:
    path = run.path / "manifest.json"
    manifest = json.loads(path.read_text())
    for version in (SCHEMA_VERSION - 1, SCHEMA_VERSION + 1, "5"):
        path.write_text(json.dumps({**manifest, "schema_version": version}))
        assert f"schema {version}," in refusal(RunDir(run.path).manifest)
    assert "is not a run directory (no manifest.json)" in refusal(RunDir(tmp_path).manifest)
    assert "cannot append to" in refusal(lambda: RunDir(tmp_path / "gone").append_record(make_record("q1")))


def test_the_record_of_the_highest_attempt_counts(run: RunDir, make_record: MakeRecord) -> None:
    written = [
        make_record("q1", attempt=1, ok=False),
        make_record("q2", attempt=3),
        make_record("q1", attempt=2),
        make_record("q1", repeat=1, attempt=1, ok=False),
        make_record("q2", attempt=2, ok=False),
    ]
    run.append_records(written)
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


# A run that is closed over a part of its queries.


PARTIAL = Done(n_expected=1, n_ok=1, n_error=0, finished_at="2026-01-01T00:00:00+00:00")


@pytest.fixture
def partial(run: RunDir, make_record: MakeRecord) -> RunDir:
    """Two answered queries, closed over the second."""
    run.append_records([make_record("q1"), make_record("q2")])
    run.mark_done(PARTIAL, ["q2"], "the time is over")
    return run


def shown(partial: RunDir) -> list[list[str]]:
    return [
        [row.query.query_id for row in partial.sample()],
        [record.query_id for record in partial.iter_records()],
    ]


def test_queries_of_another_run_in_reach_json_are_one_line(partial: RunDir) -> None:
    for named in (["to another run"], ["q2", "to another run"]):
        partial.reopen()
        partial.mark_done(PARTIAL, named, "the time is over")
        with pytest.raises(StoreError, match=r"reach\.json names queries that sample\.jsonl lacks: run the same"):
            partial.sample()
        (line,) = partial.remove_damaged()
        assert line.endswith("lacks; the run is open again")
        assert len(partial.sample()) == 2


def test_a_run_closed_early_shows_its_queries_alone_and_remembers_earlier_looks(partial: RunDir) -> None:
    assert shown(partial) == [["q2"], ["q2"]]
    assert len(partial.intact_statuses()) == 2
    reach = known(partial.reach())
    assert (reach.why, reach.looks) == ("the time is over", ())
    partial.reopen()
    partial.mark_done(PARTIAL, ["q2"], "the time is over")
    assert known(partial.reach()).looks == ()
    partial.reopen()
    both = ["q1", "q2"]
    assert (shown(partial), partial.reach()) == ([both, both], None)
    partial.mark_done(PARTIAL)
    reach = known(partial.reach())
    assert (shown(partial), reach.query_ids, reach.why, reach.looks) == ([both, both], (), "", (1,))


def test_a_damaged_reach_is_one_line_for_a_reader_and_opens_the_run_for_the_writer(partial: RunDir) -> None:
    path = partial.path / "reach.json"
    path.write_text(path.read_text().replace("q2", "q1"))
    with pytest.raises(StoreError, match=r"reach\.json does not match its checksum"):
        partial.sample()
    assert any("reach.json" in line for line in partial.remove_damaged())
    assert partial.done() is None
    assert len(partial.sample()) == 2


# A run that was answered over a cluster says so.


ALL = Done(n_expected=2, n_ok=2, n_error=0, finished_at="2026-01-01T00:00:00+00:00")


def test_the_largest_number_of_parallel_workers_is_kept(run: RunDir) -> None:
    assert run.cluster_info() is None
    for n_workers in (3, 8, 2):
        run.keep_cluster_info(n_workers)
    assert known(run.cluster_info()).n_workers == 8


# What servers refuse, kept for every process of a folder of results, and with the run that it is part of.


DIALECT = Dialect(sent_as={"temperature=0.0": None})


def test_dialects_are_shared_by_processes_and_damage_is_one_line(tmp_path: Path) -> None:
    one, other = Dialects.under(tmp_path), Dialects.under(tmp_path)
    one.learn("m at u", lambda dialect: dialect.sending("temperature=0.0", None))
    other.learn("m at u", lambda dialect: dialect.taking(["seed"]))
    other.learn("n at u", lambda dialect: dialect.taking(["seed"]))
    assert Dialects.under(tmp_path).of("m at u") == Dialect(sent_as={"temperature=0.0": None}, taken=("seed",))
    assert one.of("n at u") == Dialect(taken=("seed",))
    path = tmp_path / "dialects.json"
    path.write_text(path.read_text().replace('seed"', 'sead"'))
    line = refusal(lambda: Dialects.under(tmp_path).of("m at u"))
    assert "dialects.json does not match its checksum" in line and "delete it: rejected parameters" in line


def test_no_dialect_is_lost_if_many_are_learnt_at_once(tmp_path: Path) -> None:
    def learn(number: int) -> None:
        Dialects.under(tmp_path).learn("m at u", lambda dialect: dialect.taking([f"p{number:02}"]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(learn, range(24)))
    assert Dialects.under(tmp_path).of("m at u").taken == tuple(f"p{number:02}" for number in range(24))


@pytest.mark.parametrize("name", ["dialects.json", "spread.json"])
def test_a_closed_run_is_damaged_without_its_files_on_models_and_workers(run: RunDir, name: str) -> None:
    run.keep_dialect("generator", DIALECT)
    run.keep_cluster_info(3)
    run.mark_done(ALL)
    assert (run.dialects(), run.done()) == ({"generator": DIALECT}, ALL)
    (run.path / name).unlink()
    with pytest.raises(StoreError, match=name):
        run.done()
