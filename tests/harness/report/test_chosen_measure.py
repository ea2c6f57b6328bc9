"""A report and a comparison by a measure that somebody chose: whichever way it counts, and whoever has it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from command_line import CommandLine
from paired_runs import FAILED, ScoredRun, Value, write_run

from harness.core.errors import ConfigError
from harness.report.chapter import Chapter, load_chapters
from harness.report.comparison import Choice, compare_runs
from harness.statistics.prices import load_prices
from harness.store import RunDir

Scores = dict[str, Sequence[Value]]
Written = Callable[..., list[RunDir]]


def share(of_40: int) -> list[float]:
    return [1.0] * of_40 + [0.0] * (40 - of_40)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """written(naive={measure: values}, ...): a run for each system."""

    def write(**scores: Scores) -> list[RunDir]:
        return [
            write_run(tmp_path / "results", ScoredRun(system=name, scores=own)) for name, own in scores.items()
        ]

    return write


def ranked_by(runs: Sequence[RunDir], measure: str) -> Chapter:
    (chapter,) = load_chapters(runs, load_prices(), measure)
    return chapter


def order(chapter: Chapter) -> list[tuple[str, str]]:
    return [(one.system, one.status) for one in chapter.findings.verdict.standings]


def test_where_lower_is_better_the_lowest_is_first(written: Written) -> None:
    runs = written(
        naive={"accuracy": share(38), "hallucination_rate": share(30)},
        kg={"accuracy": share(10), "hallucination_rate": share(2)},
    )
    chapter = ranked_by(runs, "hallucination_rate")
    assert order(chapter) == [("kg", "recommended"), ("naive", "worse")]
    assert chapter.findings.comparison is not None
    first = chapter.findings.comparison.measures[0]
    assert (first.measure.name, first.measure.higher_is_better) == ("hallucination_rate", False)
    assert order(ranked_by(runs, "accuracy")) == [("naive", "recommended"), ("kg", "worse")]


def test_a_cost_ranks_the_cheapest_first_and_is_no_share(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path, ScoredRun(system=name, scores={"accuracy": share(20)}, input_tokens=tokens))
        for name, tokens in (("naive", 900), ("kg", 100))
    ]
    found = ranked_by(runs, "tokens").findings.verdict
    assert [one.system for one in found.standings] == ["kg", "naive"]
    assert found.standings[0].score is not None
    assert (found.standings[0].score.value, found.is_share) == (124.5, False)


def test_a_run_without_the_chosen_measure_stands_last_without_a_rank_and_is_compared_with_nobody(
    written: Written,
) -> None:
    chapter = ranked_by(
        written(
            community={"accuracy": share(40)},
            naive={"accuracy": share(20), "token_f1": share(35)},
            broken={"accuracy": share(20), "token_f1": [FAILED] * 40},
            kg={"accuracy": share(20), "token_f1": share(5)},
        ),
        "token_f1",
    )
    assert order(chapter) == [
        ("naive", "recommended"),
        ("kg", "worse"),
        ("community", "not ranked"),
        ("broken", "not ranked"),
    ]
    assert chapter.findings.comparison is not None
    assert [run.label for run in chapter.findings.comparison.runs] == ["naive", "kg"]


def test_a_measure_that_one_run_alone_has_describes_that_run(written: Written) -> None:
    findings = ranked_by(
        written(naive={"accuracy": share(20), "token_f1": share(35)}, kg={"accuracy": share(20)}), "token_f1"
    ).findings
    assert (findings.measure, findings.comparison) == ("token_f1", None)


def test_a_measure_that_no_run_has_is_refused_with_the_nearest(written: Written) -> None:
    runs = written(naive={"accuracy": share(20)}, kg={"accuracy": share(30)})
    with pytest.raises(ConfigError, match=r"no run over demo has a value of 'acuracy': did you mean 'accuracy'\?"):
        ranked_by(runs, "acuracy")
    with pytest.raises(ConfigError, match=r"'token_f1' has no value in naive"):
        compare_runs(runs, load_prices(), Choice(("token_f1",)))


def test_a_measure_that_nobody_here_knows_cannot_rank(written: Written) -> None:
    runs = written(naive={"mystery": share(20)}, kg={"mystery": share(30)})
    with pytest.raises(ConfigError, match="'mystery' cannot rank"):
        ranked_by(runs, "mystery")


def test_the_runs_of_another_data_set_must_have_it_too(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path, ScoredRun(dataset=dataset, digest=dataset, scores=scores))
        for dataset, scores in (("demo", {"token_f1": share(9)}), ("ms_marco", {"accuracy": share(9)}))
    ]
    with pytest.raises(ConfigError, match=r"no run over ms_marco has a value of 'token_f1'"):
        load_chapters(runs, load_prices(), "token_f1")


@pytest.mark.slow
def test_the_command_line_refuses_it_in_one_line(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})
    names = [
        write_run(cli.results, ScoredRun(system=name, scores={"accuracy": share(20)})).run_id
        for name in ("naive", "kg")
    ]
    assert "did you mean 'accuracy'?" in cli.refused("report", *names, "--measure", "acuracy")
    assert "did you mean 'accuracy'?" in cli.refused("compare", *names, "--measure", "acuracy")
    assert not (cli.results / "reports").exists()
