"""summary.csv, summary.md and figures: complete, safe, and the same bytes every time."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paired_runs import ScoredRun, write_run
from records import known
from report_groups import csv_rows
from scoring import evaluation, score_run_answers

from harness.core.errors import MissingDependency
from harness.core.records import Cost, EvaluationRecord, Score, Usage
from harness.registry import EVALUATORS
from harness.report import chapter as chapters
from harness.report import write_report
from harness.report.chapter import Chapter
from harness.report.formats import summary_csv, summary_markdown
from harness.report.view import load_groups
from harness.statistics.prices import load_prices
from harness.store import Dialect, RunDir

MakeRun = Callable[..., RunDir]
HEADER = "run_id,system,dataset,query_type,measure,mean,ci_low,ci_high,n_scored,n_imputed,n_failed,n_expected"
SMALL = {"inference_query": 2, "null_query": 1}
MANY = dict.fromkeys(("comparison_query", "inference_query", "null_query", "temporal_query"), 5)
DOZEN = {"inference_query": 8, "null_query": 4}


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def rows_of(*runs: RunDir) -> list[dict[str, str]]:
    """summary.csv, read back."""
    return csv_rows(summary_csv(load_groups(runs, load_prices())))


def means_of(run: RunDir) -> Mapping[str, str]:
    return {row["measure"]: row["mean"] for row in rows_of(run)}


def load_chapters(runs: Sequence[RunDir]) -> list[Chapter]:
    return chapters.load_chapters(runs, load_prices())


def with_one_section(runs: Sequence[RunDir]) -> list[Chapter]:
    """A section with figures and tables: for what is about the files and not about what they show."""
    whole = load_chapters(runs)
    return [replace(one, specs=tuple(spec for spec in one.specs if spec.name == "tokens")) for one in whole]


def text_of(*runs: RunDir) -> str:
    """summary.md without its figures, which take most of the time."""
    return summary_markdown(load_chapters(runs))


@pytest.mark.slow
def test_each_selection_of_queries_and_each_stage_has_files_of_its_own(make_run: MakeRun, tmp_path: Path) -> None:
    runs = [
        make_run(types=SMALL, sessions=(), generator={"provider": "none"}),
        make_run(system="kg", types=SMALL, sessions=()),
        make_run(types={"inference_query": 2}, digest="e" * 64, sessions=()),
    ]
    write_report(with_one_section(runs), tmp_path / "out")
    for folder in ("figures", "tables"):
        stems = {path.stem.partition("--")[::2] for path in (tmp_path / "out" / folder).iterdir()}
        keys = ["d" * 12, f"{'d' * 12}-retrieval", "e" * 12]
        names = [{name for name, key in stems if key == one} for one in keys]
        assert {key for _, key in stems} <= {*keys}
        assert names[0] >= names[1]
        assert names[0] == names[2]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert re.findall(r'data-explorer="(g\d)"', page) == ["g0", "g1", "g2"]
    text = text_of(*runs)
    assert "**Not comparable across sections**" in text
    assert text.count("### Right answers") == 2


def test_data_sets_with_similar_digests_have_files_of_their_own(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / "results", ScoredRun(digest=f"{'d' * 20}{number}", scores={"accuracy": [1.0, 0.0]}))
        for number in range(2)
    ]
    written = [
        len(files_of(write_report(with_one_section(some), tmp_path / f"report{len(some)}").parent / "tables"))
        for some in ([runs[0]], runs)
    ]
    assert written[1] == 2 * written[0] > 0


@pytest.mark.slow
def test_the_same_runs_give_the_same_bytes_and_stay_untouched(make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run(sessions=(8, 4), server=True, types=SMALL), make_run(system="kg", failing=2, sessions=())]
    before = files_of(tmp_path / "results")
    write_report(load_chapters(runs), tmp_path / "one")
    write_report(load_chapters(runs), tmp_path / "two")
    one = files_of(tmp_path / "one")
    assert one == files_of(tmp_path / "two")
    assert {name.split("/")[0] for name in one} >= {"summary.csv", "summary.md", "figures", "tables"}
    assert {Path(name).suffix for name in one if name.startswith("figures/")} == {".svg"}
    tables = [Path(name) for name in one if name.startswith("tables/")]
    assert len(tables) == 3 * len({path.stem for path in tables})
    assert {path.suffix for path in tables} == {".csv", ".md", ".tex"}
    assert files_of(tmp_path / "results") == before


def test_the_long_table_has_exactly_these_columns_and_whole_denominators(make_run: MakeRun) -> None:
    run = make_run(failing=2, missing=3)
    assert summary_csv(load_groups([run], load_prices())).splitlines()[0] == HEADER
    rows = rows_of(run)
    for row in rows:
        parts = [int(row[name]) for name in ("n_scored", "n_imputed", "n_failed")]
        assert sum(parts) == int(row["n_expected"])
    (accuracy,) = [row for row in rows if (row["measure"], row["query_type"]) == ("accuracy", "overall")]
    counts = [accuracy[name] for name in ("n_scored", "n_imputed", "n_failed", "n_expected")]
    assert counts == ["15", "2", "3", "20"]
    failed = rows_of(make_run(failing=20))
    (latency,) = [row for row in failed if (row["measure"], row["query_type"]) == ("latency_s", "overall")]
    assert (latency["mean"], latency["ci_low"], latency["n_failed"]) == ("", "", "20")
    assert {row["measure"] for row in rows} >= {
        *("hallucination_rate", "false_abstention_rate", "usd", "latency_s_p95", "input_tokens"),
        *("index_wall_s", "index_chunks", "answer_system_rss_bytes_max", "stage_retrieve_s"),
    }


def test_a_run_named_twice_counts_once_and_no_run_at_all_is_said(make_run: MakeRun) -> None:
    run = make_run(types=SMALL, sessions=())
    assert text_of(run, RunDir(run.path)).startswith("# RAG benchmark report\n\n1 run over 1 data set")
    assert "There are no runs to report on." in text_of()
    assert rows_of() == []


SHARED: dict[str, Any] = {"reused_from": "demo--naive--ffffffffffff"}
BUILT = "The index was built"
BUILDER = "by run demo--naive--ffffffffffff"


def cached(run_id: str) -> Cost:
    return Cost(wall_s=9.0, cached_texts=5, cached_from={run_id: 5})


def tokens(**used: int) -> dict[str, Usage]:
    return {"usage": Usage.model_validate({"calls": 1, **used})}


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"types": MANY, "missing": 3}, "naive: Unfinished, 3 of 20 answers are missing. Run it again to resume."),
        ({"types": MANY, "missing": 3}, "| naive (not finished) | 17 of 20 |"),
        ({"types": MANY, "failing": 20}, "naive: Failed on 20 of 20 answers, which count as wrong (ValueError 20"),
        ({"types": MANY, "failing": 20}, "| naive | 20 | 20 | 0.000 [0.000, 0.161] |"),
        ({"missing": 3, "indexed": False, "evaluated": False}, "The index is not built yet."),
        ({"evaluated": False}, "Not evaluated: there are no scores. Run: rag-harness evaluate {run_id}"),
        (SHARED, f"{BUILT}, and its cost paid, {BUILDER}."),
        (
            {**SHARED, "index_cost": cached("demo--other")},
            f"{BUILT} {BUILDER}; part of its cost was paid by other runs.",
        ),
        ({**SHARED, "index_cost": cached("")}, f"{BUILT}, and its cost paid, {BUILDER}."),
        ({"generator": {"provider": "openai", "model": "new"}}, "No price is known for the generator openai/new"),
        (
            tokens(unmetered_calls=1),
            "Tokens of 3 queries are unknown: the server did not count them or was cut off.",
        ),
        (tokens(input_tokens=9, cut_calls=1), "3 of 3 queries"),
        (tokens(input_tokens=512, cut_prompts=1), "less than half of the tokens that were sent"),
        (tokens(output_tokens=50, reasoning_tokens=40), "120 of 150 output tokens are reasoning"),
        ({"repeats": 2}, "Answers to each: 2; Documents: 609 (corpus: full)"),
        ({"repeats": 2}, "| naive | 6 | 0 |"),
    ],
)
def test_weaknesses_of_a_run_are_reported(make_run: MakeRun, wishes: dict[str, Any], said: str) -> None:
    run = make_run(**{"types": SMALL, "sessions": (), **wishes})
    text = text_of(run)
    assert said.format(run_id=run.run_id) in text
    assert ("### Right answers" in text) == wishes.get("evaluated", True)


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (
            {"generator": {"provider": "local", "model": "qwen"}},
            "The runs differ in generator.model (gpt-4o-mini, qwen)",
        ),
        ({"cores": 64}, "different machines (cores (2, 64)): do not compare seconds, CPU or RAM."),
        ({"git_commit": "badcafe"}, "different commits of the harness (c0ffee, badcafe)."),
        ({"baseline": "A ceiling, not one of them."}, "A ceiling, not one of them."),
    ],
)
def test_differences_between_runs_besides_the_system_are_reported(
    make_run: MakeRun, wishes: dict[str, Any], said: str
) -> None:
    other = make_run(system="kg", types=SMALL, sessions=(), **wishes)
    assert said in text_of(make_run(types=SMALL, sessions=()), other)


def test_changes_of_a_run_after_it_ended_are_said(make_run: MakeRun) -> None:
    run = make_run(types=SMALL, missing=1, sessions=(3,))
    run.append_record(next(run.iter_records()).model_copy(update={"query_id": "null_query-000"}))
    refused = {"temperature=0.0": None, "max_tokens": "max_completion_tokens"}
    run.keep_dialect("generator", Dialect(sent_as=refused))
    path = known(run.resources_path())
    path.write_text(path.read_text() + "1763", encoding="utf-8")
    text = text_of(run)
    assert "Out of date: answers were added after the evaluation." in text
    assert "Not sent to the generator gpt-4o-mini, which refuses it: temperature=0.0." in text
    assert "1 sample of CPU and RAM lost to an interruption." in text
    score_run_answers(run)
    assert "Out of date" not in text_of(run)


def test_without_a_generator_accuracy_does_not_apply_and_is_not_zero(make_run: MakeRun) -> None:
    text = text_of(make_run(generator={"provider": "none"}, types=SMALL, sessions=()))
    assert "without a generator" in text
    assert "| accuracy" not in text
    assert "0.000" not in text.split("### Notes")[1].split("### Latency")[0]


def test_a_score_that_could_not_be_computed_is_named_with_its_reason(make_run: MakeRun) -> None:
    run = make_run(types=SMALL, sessions=())
    given: list[dict[str, Any]] = [
        {"query_id": "inference_query-000", "status": "scored", "value": 0.5},
        {"query_id": "inference_query-001", "status": "failed", "explanation": "no JSON"},
        {"query_id": "null_query-000", "status": "not_applicable"},
    ]
    scores = [Score.model_validate({"repeat": 0, "measure": "faithfulness", **one}) for one in given]
    run.write_scores(evaluation("ragas"), scores)
    text = text_of(run)
    assert "faithfulness: 1 score of 3 could not be computed. The first: no JSON" in text
    assert "| faithfulness | 0.500 (n = 1 of 2) |" in text


def test_calls_and_texts_that_another_run_paid_stand_in_the_ledger_of_the_index(make_run: MakeRun) -> None:
    used = Usage(calls=50, input_tokens=20_000, output_tokens=9_000)
    shared = Usage(calls=30, input_tokens=12_000, output_tokens=5_000)
    earlier = {
        "demo--kg--aaaaaaaaaaaa": {"generator": shared},
        "": {"generator": Usage(calls=1, input_tokens=400)},
    }
    cost = Cost(
        wall_s=61.0,
        usage={"generator": used},
        replayed_calls=31,
        replayed_from=earlier,
        embedded_texts=6,
        cached_texts=50,
        cached_from={"demo--naive--bbbbbbbbbbbb": 50},
    )
    run = make_run(system="community", index_cost=cost, types=SMALL, sessions=())
    text, means = text_of(run), means_of(run)
    assert "| community | this run | 50 | 20,000 | 9,000 | 0.00840 | 31 | 56 | 50 |" in text
    assert "| community | ≥ 61 |" in text
    assert (means["index_wall_s"], means["index_spent_s"]) == ("", "61")
    assert (means["index_input_tokens"], means["index_shared_input_tokens"]) == ("20000", "12400")
    # What the building run itself had paid before it was interrupted is not shared.
    run_id = make_run(system="kg", types=SMALL, sessions=()).run_id
    own = {"generator": Usage(calls=50)}
    cost = Cost(wall_s=9.0, usage=own, replayed_calls=50, replayed_from={run_id: own})
    again = make_run(system="kg", index_cost=cost, types=SMALL, sessions=())
    assert again.run_id == run_id
    assert means_of(again)["index_shared_model_calls"] == "0"


def test_without_matplotlib_one_line_names_the_extra(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(types=SMALL, sessions=())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = r"^figures need matplotlib: .*pip install 'rag-bench-harness\[report"
    with pytest.raises(MissingDependency, match=said):
        write_report(load_chapters([run]), tmp_path / "out")


def judged(run: RunDir, value: float, broken: int = 0, **changes: Any) -> RunDir:
    """`run` with scores of a judge, of which the first `broken` of each metric failed."""
    record = EvaluationRecord(
        evaluator="ragas",
        version="1",
        models={"judge": {"provider": "openai", "model": "gpt-4o-mini"}},
        measures=("ragas_faithfulness", "ragas_context_relevance"),
        cost=Cost(
            wall_s=12.0, usage={"judge": Usage(calls=3, input_tokens=1_200, output_tokens=90)}, replayed_calls=2
        ),
    ).model_copy(update=changes)
    scores = []
    for measure in record.measures:
        for number, row in enumerate(run.sample()):
            score = Score(query_id=row.query.query_id, repeat=0, measure=measure, status="scored", value=value)
            failed = {"status": "failed", "value": None, "explanation": "garbage"}
            scores.append(score.model_copy(update=failed) if number < broken else score)
    run.write_scores(record, scores)
    return run


def test_judges_have_a_table_of_their_own_and_those_that_were_not_used_a_line(make_run: MakeRun) -> None:
    run = make_run(types=SMALL, sessions=())
    left = next(line for line in text_of(run).splitlines() if line.startswith("Not used")).replace("\\", "")
    judging = [spec.name for spec in EVALUATORS.load_all()[0] if "judge" in spec.roles]
    assert f"because they need a judge: {', '.join(judging)}. " in left
    assert "these runs have 3 answers" in left
    assert f"rag-harness estimate --set evaluators=[{judging[0]}]" in left
    text = text_of(judged(run, 0.25))
    assert "| naive | ragas | openai/gpt-4o-mini | 6 of 6 | 3 | 2 | 1,200 | 90 |" in text
    assert "ragas" not in next(line for line in text.splitlines() if "Not used" in line)
    # Metrics stand in the order of their evaluator.
    lines = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    names = ("ragas_faithfulness", "ragas_context_relevance")
    for first, second in (names, ("em", "token_f1"), ("token_f1", "contains")):
        assert lines.index(second) == lines.index(first) + 1


def test_a_judge_that_gives_every_answer_the_same_value_is_said_not_to_distinguish(make_run: MakeRun) -> None:
    run = judged(make_run(types=DOZEN, sessions=()), 1.0)
    same = "ragas_context_relevance 1, ragas_faithfulness 1."
    assert f"ragas: all 12 answers have the same value in {same}" in text_of(run)
    other = judged(make_run(system="kg", types=DOZEN), 0.75)
    assert "the same value" not in text_of(run, other)
    # A share that is 1 for every answer may be the truth.
    judged(run, 1.0, binary=("ragas_context_relevance",))
    assert "the same value in ragas_faithfulness 1. Its judge" in text_of(run)


def test_measures_that_failed_alike_share_a_note(make_run: MakeRun) -> None:
    text = text_of(judged(make_run(types=DOZEN, sessions=()), 0.5, broken=1))
    both = "ragas_context_relevance, ragas_faithfulness"
    assert f"{both}: 1 score of 12 each could not be computed. The first: garbage" in text


def test_a_measure_and_its_stand_in_are_shown_with_their_correlation(make_run: MakeRun) -> None:
    run = make_run(types=DOZEN, sessions=())
    twins = {"measures": ("kg_x", "kg_nlp_x"), "twins": {"kg_nlp_x": "kg_x"}}
    record = EvaluationRecord.model_validate(
        {"evaluator": "kg_nlp", "version": "1", "cost": Cost(wall_s=0), **twins}
    )
    scores = [
        Score(query_id=row.query.query_id, repeat=0, measure=measure, status="scored", value=number / 50)
        for number, row in enumerate(run.sample())
        for measure in record.measures
    ]
    run.write_scores(record, scores)
    assert "| naive | kg_nlp_x | kg_x | 12 | 1.00 |" in text_of(run).split("### Metrics and their stand-ins")[1]
    other = make_run(system="kg", types=DOZEN, sessions=())
    assert "### Metrics and their stand-ins" not in text_of(other)
