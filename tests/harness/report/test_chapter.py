"""What a chapter holds, in which order, and what its new tables say."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import explorer_runs
import pytest
from explorer_runs import Answers, Asked, Said, records, score
from paired_runs import FAILED, IMPUTED, NOT_APPLICABLE, ScoredRun, Value, write_run
from pydantic import JsonValue
from records import known
from report_groups import chapter_of, scored

from harness.core.records import Cost, EvaluationRecord, Score, Usage
from harness.display import NOTHING, Drawing, Entry, Quantity, Table, ValueGroup, format_value
from harness.display.plotting import plotting, publish, tell
from harness.report.chapter import Chapter, build_chapter
from harness.report.figures.measured import draw_measured
from harness.report.quantities import count, part
from harness.report.tables.scores import advice, kinds_table
from harness.report.view import Group, load_groups
from harness.statistics.prices import load_prices
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
SMALL = {"inference_query": 2, "null_query": 1}
JUDGE: dict[str, dict[str, JsonValue]] = {"judge": {"provider": "openai", "model": "gpt-4o-mini"}}


def table_of(chapter: Chapter, name: str) -> Table:
    return next(table for table in chapter.tables() if table.name == name)


def rows_of(table: Table) -> list[dict[str, Entry]]:
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def test_sections_stand_in_one_order_and_empty_ones_are_left_out(make_run: MakeRun) -> None:
    keys = [section.key for section in chapter_of(make_run(types=SMALL, sessions=())).sections]
    assert keys == [
        *("answer", "notes", "right-answers", "unanswerable-queries-and-abstentions"),
        *("latency", "tokens", "index", "break-even", "judges", "runs", "reproduce"),
    ]


def test_every_table_has_a_name_of_its_own_and_whole_rows(make_run: MakeRun) -> None:
    runs = [make_run(sessions=(4,)), make_run(system="kg", sessions=(), missing=3)]
    tables = chapter_of(*runs).tables()
    assert len({table.name.lower() for table in tables}) == len(tables)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", table.name) for table in tables)
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)


def test_the_leaderboard_has_the_best_first_and_its_costs(make_run: MakeRun) -> None:
    worse = make_run(sessions=(), right=dict.fromkeys(("comparison_query", "temporal_query"), 0.0))
    better = make_run(system="kg", sessions=())
    rows = rows_of(table_of(chapter_of(worse, better), "leaderboard"))
    assert [row["system"] for row in rows] == ["kg", "naive", "always 'Yes'"]
    shown = [rows[0][name] for name in ("tokens", "index tokens", "n")]
    assert shown == [Quantity(2208.0, unit="two"), Quantity(1_324_800.0, unit="two"), count(20)]


def test_a_pair_reads_the_same_from_both_sides_and_in_the_table_of_pairs(tmp_path: Path) -> None:
    values: dict[str, Sequence[Value]] = {"naive": [0.0] * 30, "kg": [1.0] * 20 + [0.0] * 10}
    chapter = chapter_of(*scored(tmp_path, values))
    table = table_of(chapter, "significance")
    (first, second) = table.rows
    assert (table.header[1:], first[0], second[0]) == (("kg", "naive"), "kg", "naive")
    assert (first[1], second[2]) == ("", "")
    better, worse = first[2], second[1]
    assert isinstance(better, Quantity)
    low, high = known(better.low), known(better.high)
    assert 0 < low < 0.666 < known(better.value) < 0.667 < high
    assert worse == replace(better, value=-known(better.value), low=-high, high=-low, mark="<")
    assert re.fullmatch(r"\+0\.667 \[\+0\.\d{3}, \+0\.\d{3}\] >", format_value(better))
    (row,) = rows_of(table_of(chapter, "pairs-accuracy"))
    assert (row["A, B"], row["result"]) == ("naive, kg", "B is better")
    assert row["n"] == Quantity(30, of=30, unit="count")
    assert row["better/equal/worse"] == ValueGroup((count(0), count(10), count(20)), "/")
    # Twenty of twenty queries that differ: two in 2^20, by McNemar's exact test.
    p = row["p (Holm)"]
    assert isinstance(p, Quantity)
    assert p.value == pytest.approx(2 / 2**20)
    assert (format_value(row["better/equal/worse"]), format_value(p)) == ("0/10/20", "<0.001")


def test_tokens_of_a_phase_add_up_and_judges_stay_apart(make_run: MakeRun) -> None:
    run = make_run(types=SMALL, sessions=(), usage=Usage(calls=2, input_tokens=100, output_tokens=10))
    cost = Cost(wall_s=1.0, usage={"judge": Usage(calls=9, input_tokens=900, output_tokens=90)})
    record = EvaluationRecord(evaluator="ragas", version="1", models=JUDGE, measures=("ragas_x",), cost=cost)
    query = run.sample()[0].query.query_id
    run.write_scores(record, [Score(query_id=query, repeat=0, measure="ragas_x", status="scored", value=0.5)])
    rows = {row["phase"]: row for row in rows_of(table_of(chapter_of(run), "tokens_by_phase"))}
    assert {phase: row["input tokens"] for phase, row in rows.items()} == {
        "index": Quantity(1_324_800.0),
        "all answers": Quantity(300.0),
        "a query": Quantity(100.0),
        "a query with the index": Quantity(441_700.0),
        "judges": Quantity(900.0),
    }
    assert rows["all answers"]["model calls"] == Quantity(6.0)
    assert rows["a query with the index"]["n"] == count(3)
    # Unknown tokens are not zero.
    unknown = make_run(types=SMALL, sessions=(), usage=Usage(calls=1, unmetered_calls=1))
    rows = {row["phase"]: row for row in rows_of(table_of(chapter_of(unknown), "tokens_by_phase"))}
    for phase in ("all answers", "a query", "a query with the index"):
        assert rows[phase]["input tokens"] is None


def test_coverage_counts_every_answer_and_joins_measures_that_are_alike(tmp_path: Path) -> None:
    values: list[Value] = [0.5, IMPUTED, FAILED, NOT_APPLICABLE]
    scores: dict[str, Sequence[Value]] = {"kg_a": values, "kg_b": values, "kg_c": [0.1, 0.2, 0.3, 0.4]}
    evaluator = EvaluationRecord(evaluator="kg", version="1", models=JUDGE, cost=Cost(wall_s=0))
    run = write_run(tmp_path, ScoredRun(scores=scores, evaluator=evaluator))
    rows = table_of(chapter_of(run), "coverage-kg").rows
    assert rows == (
        ("naive", "kg_a, kg_b", *map(count, (1, 1, 1, 1)), part(2, 3)),
        ("naive", "kg_c", *map(count, (4, 0, 0, 0)), part(4, 4)),
    )
    nothing = write_run(tmp_path / "none", ScoredRun(scores={"kg_a": [FAILED, FAILED]}, evaluator=evaluator))
    assert table_of(chapter_of(nothing), "coverage-kg").rows[0][-1] == part(0, 2)
    ((name, mean),) = table_of(chapter_of(nothing), "measures-kg").rows
    assert (name, mean) == ("kg_a", Quantity(None, n=0, of=2, unit="share"))


@pytest.mark.parametrize(
    ("evaluator", "measure", "section"),
    [
        ("answer", "hallucination_rate", "unanswerable-queries-and-abstentions"),
        ("retrieval", "Recall@10", "retrieval"),
        ("triplet", "triplet_faithfulness", "judged-measures"),
        ("kg_nlp", "kg_nlp_direct_faithfulness", "knowledge-graph-scores"),
        ("answer", "a_measure_of_another_version", "other-measures"),
        ("other", "mine_alone", "other-measures"),
    ],
)
def test_measures_stand_where_they_say_and_unknown_ones_last(
    tmp_path: Path, evaluator: str, measure: str, section: str
) -> None:
    record = EvaluationRecord(evaluator=evaluator, version="1", cost=Cost(wall_s=0))
    scores = {measure: [0.5, 0.7], "token_f1": [0.1, 0.2]}
    found = known(chapter_of(write_run(tmp_path, ScoredRun(scores=scores, evaluator=record))).section(section))
    assert measure in {row[0] for table in found.content.tables for row in table.rows} or any(
        table.name == measure for table in found.content.tables
    )


def test_machine_and_commit_of_every_run_are_told_and_unknown_ones_are_dashes(make_run: MakeRun) -> None:
    known = make_run(types=SMALL, sessions=(), cores=4, git_commit="0123456789abcdef")
    unknown = make_run(system="kg", types=SMALL, sessions=(), git_commit="")
    rows = rows_of(table_of(chapter_of(known, unknown), "places"))
    assert [rows[0][name] for name in ("cores", "harness commit")] == ["4", "0123456789ab"]
    assert rows[0]["RAM, GB"] == Quantity(8.0)
    assert [rows[1][name] for name in ("platform", "Python", "harness commit")] == [NOTHING] * 3


def test_the_group_with_the_most_questions_comes_first_and_equal_ones_in_order_of_appearance(
    make_run: MakeRun,
) -> None:
    few = make_run(types={"inference_query": 1}, digest="e" * 64, sessions=())
    searched = make_run(types=SMALL, sessions=(), generator={"provider": "none"})
    answered = make_run(system="kg", types=SMALL, sessions=())
    titles = [group.title for group in load_groups([few, searched, answered], load_prices())]
    assert titles == ["multihop_rag, without a generator", "multihop_rag", "multihop_rag"]


# Measures that sort answers into kinds.


IDS = tuple(f"q{number}" for number in range(6))
MEASURE = "wrong_answers"
HOSTILE = '<script>alert("x")</script>&'


def sorted_scores(labels: Sequence[str]) -> list[Score]:
    values = [score(name, float(not label)) for name, label in zip(IDS, labels, strict=True)]
    kinds = [
        score(name, float(bool(label)), MEASURE, label=label) for name, label in zip(IDS, labels, strict=True)
    ]
    return [*values, *kinds]


@pytest.fixture
def group(tmp_path: Path) -> Group:
    said = records({name: Said() for name in IDS})
    labels = {
        "kg": ("ranked-too-low", "ranked-too-low", "refused", "", "", ""),
        "naive": ("answered-wrong", "ranked-too-low", "", "", "", "from elsewhere"),
    }
    runs = [Answers(name, said, sorted_scores(own)) for name, own in labels.items()]
    written = [explorer_runs.write_run(tmp_path, [Asked(name) for name in IDS], run) for run in runs]
    return load_groups(written, load_prices())[0]


def test_every_kind_that_any_run_has_is_counted_in_the_order_of_the_measure(group: Group) -> None:
    table = kinds_table(group, group.known[MEASURE])
    titles = ["ranked too low", "in the context, answered wrong", "in the context, abstained", "from elsewhere"]
    assert [row[0] for row in table.rows[1:]] == titles
    counts = [[format_value(entry) for entry in row[1:]] for row in table.rows[1:]]
    assert counts == [[f"{n} of 6" for n in row] for row in ((2, 1), (0, 1), (1, 0), (0, 1))]


def test_a_verdict_says_how_many_answers_may_be_right_in_other_words(group: Group, tmp_path: Path) -> None:
    assert not [note for note in build_chapter(group).findings.verdict.caveats if "2 of 6" in note]
    said = records({name: Said() for name in IDS})
    near = sorted_scores(("worded-otherwise", "worded-otherwise", "", "", "", ""))
    run = explorer_runs.write_run(tmp_path / "near", [Asked(name) for name in IDS], Answers("kg", said, near))
    (other,) = load_groups([run], load_prices())
    (note,) = [one for one in build_chapter(other).findings.verdict.caveats if "2 of 6" in one]
    assert note.startswith("kg")


def test_advice_on_the_most_frequent_cause_comes_first(group: Group) -> None:
    told = advice(group, [group.known[MEASURE]])
    assert told[0].startswith("Ranked too low: ")
    assert len(told) == 3
    # It has a table of its own, and ranks no runs.
    chapter = build_chapter(group)
    assert chapter.findings.measure == "accuracy"
    others = [row[0] for one in chapter.tables() if one.name.startswith("measures-") for row in one.rows]
    assert MEASURE not in others


def test_the_picture_says_how_many_answers_of_each_kind_a_run_has(group: Group, tmp_path: Path) -> None:
    with plotting() as new_figure:
        (drawing,) = draw_measured(group, [MEASURE], new_figure)
        picture = publish(drawing, tmp_path)
    assert "2 ranked too low, 1 in the context, abstained" in drawing.alt
    assert "ranked too low: 2 of 6 (33.3 %)</title>" in (tmp_path / picture.path).read_text(encoding="utf-8")


def test_a_figure_is_drawn_once_for_its_file_and_the_page(tmp_path: Path) -> None:
    drawn: list[str] = []
    with plotting() as new_figure:
        figure = new_figure(layout="constrained")
        figure.subplots().plot([1], [1])
        figure.canvas.mpl_connect("draw_event", lambda event: drawn.append(type(event.renderer).__name__))
        publish(Drawing("one", "One", "One.", "One.", figure), tmp_path)
    assert len(drawn) == 1, drawn


def test_a_tooltip_is_no_markup(tmp_path: Path) -> None:
    with plotting() as new_figure:
        figure = new_figure()
        (marker,) = figure.subplots().plot([1], [1], marker="o")
        tell(marker, HOSTILE)
        picture = publish(Drawing("one", "One", "One.", "One.", figure), tmp_path)
    assert "<script" not in picture.svg
    assert "<title>&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;</title>" in picture.svg
