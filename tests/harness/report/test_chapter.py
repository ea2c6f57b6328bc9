"""What a chapter holds, in which order, and what its new tables say."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from paired_runs import FAILED, IMPUTED, NOT_APPLICABLE, ScoredRun, Value, write_run

from harness.records import Cost, EvaluationRecord, Score, Usage
from harness.report.chapter import TITLES, Chapter, load_chapters
from harness.report.nouns import Picture, Table
from harness.report.text import NOTHING
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
SMALL = {"inference_query": 2, "null_query": 1}


def chapter_of(*runs: RunDir) -> Chapter:
    (chapter,) = load_chapters(runs)
    return chapter


def table_of(chapter: Chapter, name: str) -> Table:
    return next(table for table in chapter.tables() if table.name == name)


def rows_of(table: Table) -> list[dict[str, str]]:
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def scored(results: Path, values: dict[str, Sequence[Value]], **wishes: object) -> list[RunDir]:
    return [
        write_run(results, ScoredRun(system=name, scores={"accuracy": own}, **wishes))  # type: ignore[arg-type]
        for name, own in values.items()
    ]


def test_sections_stand_in_one_order_and_empty_ones_are_left_out(make_run: MakeRun) -> None:
    keys = [section.key for section in chapter_of(make_run(types=SMALL, sessions=())).sections]
    assert keys == [key for key in TITLES if key in keys]
    assert {"answer", "notes", "accuracy", "refusals", "tokens", "index", "runs", "reproduce"} <= {*keys}
    assert not {"retrieval", "judged", "sweep", "estimates", "significance", "resources"} & {*keys}


def test_every_table_has_a_name_of_its_own_and_whole_rows(make_run: MakeRun) -> None:
    runs = [make_run(sessions=(4,)), make_run(system="kg", sessions=(), missing=3)]
    tables = chapter_of(*runs).tables()
    assert len({table.name.lower() for table in tables}) == len(tables)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", table.name) for table in tables)
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)


def test_pictures_go_to_their_sections_and_change_nothing_else(make_run: MakeRun) -> None:
    plain = chapter_of(make_run(types=SMALL, sessions=()))
    picture = Picture("s", "t", "c", "a", (Path("figures/s.png"),), "<svg/>")
    chapter = plain.illustrated({"latency": [picture], "resources": [picture]})
    for key in ("latency", "resources"):
        section = chapter.section(key)
        assert section is not None
        assert section.pictures == (picture,)
    assert plain.section("resources") is None
    assert chapter.tables() == plain.tables()
    with pytest.raises(ValueError, match="no such section: speed"):
        plain.illustrated({"speed": [picture]})


def test_the_leaderboard_has_the_best_first_and_what_it_costs(make_run: MakeRun) -> None:
    worse = make_run(sessions=(), right=dict.fromkeys(("comparison_query", "temporal_query"), 0.0))
    better = make_run(system="kg", sessions=())
    rows = rows_of(table_of(chapter_of(worse, better), "leaderboard"))
    assert [row["system"] for row in rows] == ["kg", "naive"]
    assert rows[0]["tokens a query"] == "2,208"
    assert rows[0]["index tokens"] == "1,324,800"
    assert rows[0]["n"] == "20"


def test_the_significance_matrix_reads_the_same_from_both_sides(tmp_path: Path) -> None:
    values: dict[str, Sequence[Value]] = {"naive": [0.0] * 30, "kg": [1.0] * 20 + [0.0] * 10}
    table = table_of(chapter_of(*scored(tmp_path, values)), "significance")
    (first, second) = table.rows
    assert (table.header[1:], first[0], second[0]) == (("kg", "naive"), "kg", "naive")
    assert (first[1], second[2]) == ("", "")
    better = re.fullmatch(r"\+0\.667 \[\+(0\.\d{3}), \+(0\.\d{3})\] >", first[2])
    assert better
    assert second[1] == f"-0.667 [-{better[2]}, -{better[1]}] <"


def test_every_pair_has_its_numbers(tmp_path: Path) -> None:
    values: dict[str, Sequence[Value]] = {"naive": [0.0] * 30, "kg": [1.0] * 20 + [0.0] * 10}
    (row,) = rows_of(table_of(chapter_of(*scored(tmp_path, values)), "pairs-accuracy"))
    assert (row["A, B"], row["n"], row["better/equal/worse"], row["p (Holm)"], row["result"]) == (
        *("naive, kg", "30", "0/10/20", "<0.001"),
        "B is better",
    )


def test_latency_says_what_it_left_out(tmp_path: Path) -> None:
    values: dict[str, Sequence[Value]] = {"naive": [1.0] * 10, "kg": [1.0] * 10}
    chapter = chapter_of(*scored(tmp_path, values, replayed=3, latency_s=(1.0, 2.0)))
    (first, _) = rows_of(table_of(chapter, "latency"))
    assert (first["n"], first["left out"], first["throttled, %"]) == ("7", "3", "0.0")
    assert first["p50, s"].startswith("2")


def test_tokens_of_a_phase_add_up_and_judges_stay_apart(make_run: MakeRun) -> None:
    run = make_run(types=SMALL, sessions=(), usage=Usage(calls=2, input_tokens=100, output_tokens=10))
    cost = Cost(wall_s=1.0, usage={"judge": Usage(calls=9, input_tokens=900, output_tokens=90)})
    record = EvaluationRecord(
        evaluator="ragas",
        version="1",
        models={"judge": {"provider": "openai", "model": "gpt-4o-mini"}},
        measures=("ragas_x",),
        cost=cost,
    )
    query = run.sample()[0].query.query_id
    run.write_scores(record, [Score(query_id=query, repeat=0, measure="ragas_x", status="scored", value=0.5)])
    rows = {row["phase"]: row for row in rows_of(table_of(chapter_of(run), "tokens_by_phase"))}
    assert {phase: row["input tokens"] for phase, row in rows.items()} == {
        "index": "1,324,800",
        "all answers": "300",
        "a query": "100",
        "a query with the index": "441,700",
        "judges": "900",
    }
    assert rows["all answers"]["model calls"] == "6"
    assert rows["a query with the index"]["n"] == "3"


def test_tokens_that_are_not_known_are_not_zero(make_run: MakeRun) -> None:
    run = make_run(types=SMALL, sessions=(), usage=Usage(calls=1, unmetered_calls=1))
    rows = {row["phase"]: row for row in rows_of(table_of(chapter_of(run), "tokens_by_phase"))}
    for phase in ("all answers", "a query", "a query with the index"):
        assert rows[phase]["input tokens"] == "–"  # noqa: RUF001


def test_coverage_counts_every_answer_and_joins_measures_that_are_alike(tmp_path: Path) -> None:
    values: list[Value] = [0.5, IMPUTED, FAILED, NOT_APPLICABLE]
    scores: dict[str, Sequence[Value]] = {"kg_a": values, "kg_b": values, "kg_c": [0.1, 0.2, 0.3, 0.4]}
    evaluator = EvaluationRecord(evaluator="kg", version="1", cost=Cost(wall_s=0))
    run = write_run(tmp_path, ScoredRun(scores=scores, evaluator=evaluator))
    rows = table_of(chapter_of(run), "coverage-kg").rows
    assert rows == (
        ("naive", "kg_a, kg_b", "1", "1", "1", "1", "2 of 3"),
        ("naive", "kg_c", "4", "0", "0", "0", "4 of 4"),
    )


@pytest.mark.parametrize(
    ("evaluator", "section"),
    [
        ("answer", "accuracy"),
        ("retrieval", "retrieval"),
        ("triplet", "judged"),
        ("kg_nlp", "graph-scores"),
        ("mine", "other"),
        ("other", "other"),
    ],
)
def test_measures_stand_where_their_evaluator_belongs(tmp_path: Path, evaluator: str, section: str) -> None:
    record = EvaluationRecord(evaluator=evaluator, version="1", cost=Cost(wall_s=0))
    run = write_run(tmp_path, ScoredRun(scores={"some_measure": [0.5, 0.7]}, evaluator=record))
    found = chapter_of(run).section(section)
    assert found is not None
    assert f"measures-{evaluator}" in {table.name for table in found.tables}


@pytest.mark.parametrize(
    "wishes",
    [
        {"evaluated": False},
        {"failing": 3},
        {"missing": 3, "indexed": False, "evaluated": False},
        {"generator": {"provider": "none"}},
        {"repeats": 2, "missing": 1},
    ],
)
def test_a_run_that_is_not_whole_makes_a_chapter(make_run: MakeRun, wishes: dict[str, object]) -> None:
    chapter = chapter_of(
        make_run(types=SMALL, sessions=(), **wishes), make_run(system="kg", types=SMALL, sessions=())
    )
    (rows,) = [rows_of(table) for table in chapter.tables() if table.name == "leaderboard"]
    assert {row["system"] for row in rows} == {"naive", "kg"}


def test_a_measure_without_any_value_has_no_number(tmp_path: Path) -> None:
    nothing: list[Value] = [FAILED, FAILED]
    record = EvaluationRecord(evaluator="ragas", version="1", cost=Cost(wall_s=0))
    run = write_run(tmp_path, ScoredRun(scores={"ragas_x": nothing}, evaluator=record))
    chapter = chapter_of(run)
    assert table_of(chapter, "measures-ragas").rows == (("ragas_x", "– (n = 0 of 2)"),)  # noqa: RUF001
    assert table_of(chapter, "coverage-ragas").rows[0][-1] == "0 of 2"


def test_machine_and_commit_of_every_run_are_told_and_what_is_not_known_is_not_made_up(make_run: MakeRun) -> None:
    known = make_run(types=SMALL, sessions=(), cores=4, git_commit="0123456789abcdef")
    unknown = make_run(system="kg", types=SMALL, sessions=(), git_commit="")
    rows = rows_of(table_of(chapter_of(known, unknown), "places"))
    assert [rows[0][name] for name in ("cores", "RAM, GB", "harness commit")] == ["4", "8", "0123456789ab"]
    assert [rows[1][name] for name in ("platform", "Python", "harness commit")] == [NOTHING] * 3
