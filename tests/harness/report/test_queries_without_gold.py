"""Questions that come without answers or evidence: what is said of runs over them, and what is not."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from paired_runs import NOT_APPLICABLE, ScoredRun, Value, write_run

from harness.core.errors import ConfigError
from harness.report.chapter import Chapter, load_chapters
from harness.report.comparison.compare import compare_runs
from harness.report.verdict.races_and_looks import earlier_looks
from harness.report.verdict.types import Outcome
from harness.statistics.prices import load_prices

N = 40
NOTHING: Sequence[Value] = [NOT_APPLICABLE] * N
DESCRIBED: dict[str, Sequence[Value]] = {
    "context_characters": [1900.0] * 20 + [2500.0] * 20,
    "contexts_shown": [10.0] * N,
    "accuracy": NOTHING,
    "fact_AllHit@1000c": NOTHING,
    "fact_AllHit@2000c": NOTHING,
}


def chapter_of(results: Path, measure: str | None = None, **wishes: object) -> Chapter:
    plans = [
        ScoredRun(system=name, scores=scores, name=name, **wishes)  # type: ignore[arg-type]
        for name, scores in (
            ("naive", DESCRIBED),
            ("kg", {**DESCRIBED, "context_characters": [1400.0] * N}),
        )
    ]
    (chapter,) = load_chapters([write_run(results, plan) for plan in plans], load_prices(), measure)
    return chapter


def test_how_long_contexts_are_ranks_nobody(tmp_path: Path) -> None:
    chapter = chapter_of(tmp_path, gold=("",))
    assert chapter.findings.verdict.outcome == Outcome.NOT_SCORED
    assert "neither answers nor evidence" in chapter.findings.verdict.headline
    assert chapter.findings.measure is None


def test_what_only_describes_ranks_nobody_where_there_are_answers_either(tmp_path: Path) -> None:
    assert chapter_of(tmp_path).findings.verdict.outcome == Outcome.NOT_SCORED


def test_nobody_can_have_them_ranked_by_it_either(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'context_characters' cannot rank"):
        chapter_of(tmp_path, "context_characters", gold=("",))


def test_a_comparison_by_it_names_no_better_one(tmp_path: Path) -> None:
    runs = [view.run for view in chapter_of(tmp_path, gold=("",)).group.views]
    found = compare_runs(runs, load_prices())
    shown = {one.measure.name: one for one in found.measures}["context_characters"]
    assert not shown.ranks
    assert [shown.verdict(pair) for pair in shown.pairs] == ["differ"]


def test_two_files_that_number_their_questions_alike_are_no_look_at_each_other(tmp_path: Path) -> None:
    for n, gold in ((20, "Tuesday"), (N, "Friday")):
        runs = [
            write_run(
                tmp_path,
                ScoredRun(
                    system=name,
                    scores={"accuracy": [1.0] * right + [0.0] * (n - right)},
                    gold=(gold,),
                    digest=f"{n:064d}",
                    name=f"{name}-{n}",
                ),
            )
            for name, right in (("naive", n // 2), ("kg", n // 4))
        ]
    (chapter,) = load_chapters(runs, load_prices())
    assert chapter.findings.ranking is not None
    assert earlier_looks(chapter.findings.ranking) == set()


@pytest.mark.parametrize(("n", "is_shown"), [(1, False), (30, True)])
def test_a_metric_that_applies_to_a_few_queries_is_no_column_beside_a_score_of_all(
    tmp_path: Path, n: int, is_shown: bool
) -> None:
    stand_in: Sequence[Value] = [*[0.0] * n, *[NOT_APPLICABLE] * (N - n)]
    scores: dict[str, Sequence[Value]] = {"fact_Recall@4000c": [1.0] * N, "answer_Hit@4000c": stand_in}
    plans = [ScoredRun(system=name, scores=scores, name=name) for name in ("naive", "kg")]
    (chapter,) = load_chapters([write_run(tmp_path, plan) for plan in plans], load_prices(), "fact_Recall@4000c")
    for standing in chapter.findings.verdict.standings:
        assert ("expected answer in context" in standing.columns) is is_shown
