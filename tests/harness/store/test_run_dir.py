"""One run on disk: created once, resumed, and never silently another."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from scoring import evaluation

from harness.core.errors import StoreError
from harness.core.records import Score
from harness.store import SCHEMA_VERSION, Dialect, Dialects, Done, RunDir, SampleRow

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


# A run that is closed over a part of its queries.


PARTIAL = Done(n_expected=1, n_ok=1, n_error=0, finished_at="2026-01-01T00:00:00+00:00")


@pytest.fixture
def answered_run(
    tmp_path: Path, make_manifest: MakeManifest, make_record: MakeRecord, sample: list[SampleRow]
) -> RunDir:
    made = RunDir.create(tmp_path, make_manifest(), sample)
    for row in sample:
        made.append_record(make_record(row.query.query_id))
    return made


@pytest.fixture
def partial(answered_run: RunDir, sample: list[SampleRow]) -> RunDir:
    """Two answered queries, closed over the second."""
    answered_run.mark_done(PARTIAL, [sample[1].query.query_id], "the time is over")
    return answered_run


def shown(partial: RunDir) -> list[Any]:
    return [
        [row.query.query_id for row in partial.sample()],
        [record.query_id for record in partial.iter_records()],
    ]


def test_the_reach_of_another_run_is_one_line_and_no_smaller_sample(
    partial: RunDir, sample: list[SampleRow]
) -> None:
    own = sample[1].query.query_id
    for named in (["to another run"], [own, "to another run"]):
        partial.reopen()
        partial.mark_done(PARTIAL, named, "the time is over")
        with pytest.raises(StoreError, match=r"reach\.json names queries that sample\.jsonl lacks: run the same"):
            partial.sample()
        (line,) = partial.remove_damaged()
        assert line.endswith("lacks; the run is open again")
        assert len(partial.sample()) == 2


def test_it_shows_those_alone_and_says_why(partial: RunDir, sample: list[SampleRow]) -> None:
    (_, second) = [row.query.query_id for row in sample]
    assert shown(partial) == [[second], [second]]
    assert len(partial.intact_statuses()) == 2
    reach = partial.reach()
    assert reach is not None
    assert (reach.why, reach.looks) == ("the time is over", ())


def test_open_again_it_shows_all_and_closed_over_all_it_remembers_the_look(
    partial: RunDir, sample: list[SampleRow]
) -> None:
    ids = [row.query.query_id for row in sample]
    partial.reopen()
    assert (shown(partial), partial.reach()) == ([ids, ids], None)
    partial.mark_done(PARTIAL)
    reach = partial.reach()
    assert reach is not None
    assert (shown(partial), reach.query_ids, reach.why, reach.looks) == ([ids, ids], (), "", (1,))


def test_closed_again_over_the_same_queries_is_no_other_look(partial: RunDir, sample: list[SampleRow]) -> None:
    partial.reopen()
    partial.mark_done(PARTIAL, [sample[1].query.query_id], "the time is over")
    reach = partial.reach()
    assert reach is not None
    assert reach.looks == ()


def test_damage_is_one_line_for_a_reader_and_opens_the_run_for_the_writer(
    partial: RunDir, sample: list[SampleRow]
) -> None:
    path = partial.path / "reach.json"
    path.write_text(path.read_text().replace(sample[1].query.query_id, sample[0].query.query_id))
    with pytest.raises(StoreError, match=r"reach\.json does not match its checksum"):
        partial.sample()
    assert any("reach.json" in line for line in partial.remove_damaged())
    assert partial.done() is None
    assert len(partial.sample()) == 2


# A run that was answered over a cluster says so.


ALL = Done(n_expected=2, n_ok=2, n_error=0, finished_at="2026-01-01T00:00:00+00:00")


def test_the_most_workers_that_ever_answered_at_once_are_kept(answered_run: RunDir) -> None:
    assert answered_run.cluster_info() is None
    for n_workers in (3, 8, 2):
        answered_run.keep_cluster_info(n_workers)
    found = answered_run.cluster_info()
    assert found is not None
    assert found.n_workers == 8


def test_one_that_is_damaged_is_not_read_as_of_one_machine(answered_run: RunDir) -> None:
    answered_run.keep_cluster_info(3)
    (answered_run.path / "spread.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StoreError, match=r"spread\.json"):
        answered_run.cluster_info()


# What servers refuse, kept for every process of a folder of results, and with the run that it is part of.


DIALECT = Dialect(sent_as={"temperature=0.0": None})


def test_what_one_process_learns_the_next_knows(tmp_path: Path) -> None:
    one, other = Dialects.under(tmp_path), Dialects.under(tmp_path)
    one.learn("m at u", lambda dialect: dialect.sending("temperature=0.0", None))
    other.learn("m at u", lambda dialect: dialect.taking(["seed"]))
    other.learn("n at u", lambda dialect: dialect.taking(["seed"]))
    assert Dialects.under(tmp_path).of("m at u") == Dialect(sent_as={"temperature=0.0": None}, taken=("seed",))
    assert one.of("n at u") == Dialect(taken=("seed",))


def test_nothing_is_lost_where_many_learn_at_once(tmp_path: Path) -> None:
    def learn(number: int) -> None:
        Dialects.under(tmp_path).learn("m at u", lambda dialect: dialect.taking([f"p{number:02}"]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(learn, range(24)))
    assert Dialects.under(tmp_path).of("m at u").taken == tuple(f"p{number:02}" for number in range(24))


def test_a_damaged_file_is_one_line_that_says_the_way_out(tmp_path: Path) -> None:
    Dialects.under(tmp_path).learn("m at u", lambda dialect: dialect.taking(["seed"]))
    path = tmp_path / "dialects.json"
    path.write_text(path.read_text().replace('seed"', 'sead"'))
    with pytest.raises(
        StoreError, match=r"dialects\.json does not match its checksum.*: delete it: rejected parameters"
    ):
        Dialects.under(tmp_path).of("m at u")


@pytest.mark.parametrize("name", ["dialects.json", "spread.json"])
def test_a_closed_run_is_closed_over_what_it_says_of_its_models_and_workers(run: RunDir, name: str) -> None:
    run.keep_dialect("generator", DIALECT)
    run.keep_cluster_info(3)
    run.mark_done(ALL)
    assert (run.dialects(), run.done()) == ({"generator": DIALECT}, ALL)
    (run.path / name).unlink()
    with pytest.raises(StoreError, match=name):
        run.done()
