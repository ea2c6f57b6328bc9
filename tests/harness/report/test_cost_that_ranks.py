"""A leaderboard by what a query takes: over which queries, in which mix, and what is only a lower bound."""

from pathlib import Path

import pytest
from paired_runs import ScoredRun, close_again, write_run
from report_groups import group_of, right

from harness.core.records import OWN_MODELS, Usage
from harness.report.verdict.findings import find
from harness.report.verdict.types import Standing
from harness.report.view import Group
from harness.statistics import NATURAL
from harness.store import RunDir

N = 40


def standings(group: Group, measure: str) -> dict[str, Standing]:
    return {one.system: one for one in find(group, measure).verdict.standings}


def score_of(standing: Standing) -> float:
    assert standing.score is not None
    return standing.score.value


def not_all_counted(results: Path, n: int) -> RunDir:
    """Of the last n queries a server said less than they took."""
    run = write_run(results, ScoredRun("kg", {"accuracy": right(20, N)}, input_tokens=1_000))
    usage = {"generator": Usage(calls=2, input_tokens=1, unmetered_calls=1)}
    last = list(run.records().values())[-n:]
    again = [
        one.model_copy(update={"attempt": 2, "cost": one.cost.model_copy(update={"usage": usage})}) for one in last
    ]
    close_again(run, *again)
    return run


def test_means_of_a_cost_are_over_the_queries_that_all_ranked_runs_have(tmp_path: Path) -> None:
    seconds = [float(number) for number in range(1, N + 1)]
    group = group_of(
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)}, latency_s=seconds, replayed=2)),
        write_run(tmp_path, ScoredRun("kg", {"accuracy": right(20, N)}, latency_s=seconds)),
    )
    found = standings(group, "latency_s")
    last_38 = sum(seconds[2:]) / 38
    assert {name: score_of(one) for name, one in found.items()} == {"naive": last_38, "kg": last_38}


def test_a_run_whose_tokens_were_not_all_counted_is_not_ranked_by_them(tmp_path: Path) -> None:
    group = group_of(
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)})), not_all_counted(tmp_path, 3)
    )
    found = standings(group, "tokens")
    assert found["kg"].status == "not ranked"
    assert found["kg"].tokens is not None
    assert found["kg"].tokens.at_least


def test_a_run_of_which_many_seconds_are_unknown_is_not_ranked_by_them(tmp_path: Path) -> None:
    group = group_of(
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)}, replayed=10)),
        write_run(tmp_path, ScoredRun("kg", {"accuracy": right(20, N)})),
    )
    assert standings(group, "latency_s")["naive"].status == "not ranked"


def test_costs_are_in_the_mix_in_which_the_score_is(tmp_path: Path) -> None:
    # Later queries take more tokens, and the second half is of the type that the data set has more of.
    types, mix = ("inference_query",) * 20 + ("null_query",) * 20, {"inference_query": 10, "null_query": 90}
    group = group_of(
        *(
            write_run(tmp_path, ScoredRun(name, {"accuracy": right(count, N)}, types=types, type_mix=mix))
            for name, count in (("naive", 25), ("kg", 35))
        )
    )
    natural = group.views[0].row("tokens", NATURAL)
    assert natural is not None
    assert natural.mean != group.views[0].value("tokens")
    assert {one.tokens and one.tokens.value for one in standings(group, "accuracy").values()} == {natural.mean}


@pytest.mark.slow
def test_the_page_says_whose_word_a_number_of_tokens_is(tmp_path: Path) -> None:
    from harness.report.chapter import load_chapters
    from harness.report.write import write_report
    from harness.statistics.prices import load_prices

    told = Usage(calls=1, input_tokens=1, output_tokens=1, unmetered_calls=1)
    runs = [
        write_run(tmp_path, ScoredRun("told", {"accuracy": right(20, N)}, usage={OWN_MODELS: told})),
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)})),
    ]
    out = tmp_path / "out"
    write_report(load_chapters(runs, load_prices()), out)
    page = (out / "report.html").read_text()
    board = page.partition('class="scroll board"')[2].partition("</table>")[0]
    assert '≥ 2 <span class="ci">as reported</span>' in board
