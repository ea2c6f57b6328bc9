"""A leaderboard by what a query takes: over which queries, in which mix, and what is only a lower bound."""

from collections.abc import Callable
from pathlib import Path

import pytest
from paired_runs import ScoredRun, close_again, write_run
from report_groups import group_of, right

from harness.core.records import OWN_MODELS, Failure, Usage
from harness.display import Quantity, format_value
from harness.report.page.leaderboard import Leaderboard, leaderboard
from harness.report.tables import answers
from harness.report.view import Group
from harness.report.words.findings import find
from harness.statistics import NATURAL
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
N = 40


def boards(group: Group, measure: str) -> tuple[Leaderboard, dict[str, Quantity]]:
    """Of the page; and of the tables the mean of each run."""
    findings = find(group, measure)
    rows = answers.leaderboard(group, findings).rows
    return leaderboard(group, findings), {str(row[0]): row[2] for row in rows if isinstance(row[2], Quantity)}


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
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)}, latency_s=seconds, replayed=10)),
        write_run(tmp_path, ScoredRun("kg", {"accuracy": right(20, N)}, latency_s=seconds)),
    )
    page, table = boards(group, "latency_s")
    last_30 = sum(seconds[10:]) / 30
    assert {name: mean.value for name, mean in table.items()} == {"naive": last_30, "kg": last_30}
    assert [one.score and one.score.value for one in page.standings] == [last_30, last_30]
    assert [format_value(one.n) for one in page.standings] == ["30 of 40", "30 of 40"]


def test_queries_whose_tokens_were_not_all_counted_are_in_no_mean_that_ranks(tmp_path: Path) -> None:
    group = group_of(
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)})), not_all_counted(tmp_path, 3)
    )
    page, table = boards(group, "tokens")
    assert (table["kg"].value, table["kg"].at_least) == (1_000 + 18 + 5, False)
    assert table["naive"].value == 100 + 18 + 5
    remarks = {one.label: one.remarks for one in page.standings}
    assert remarks == {"naive": (), "kg": ("3 not counted in full",)}


def test_what_timed_out_makes_a_mean_a_lower_bound_and_is_called_that(make_run: MakeRun) -> None:
    late = Failure(kind="timeout", message="no answer within 9 s")
    types = {"inference_query": 120}
    group = group_of(
        make_run(types=types, sessions=()),
        make_run(system="kg", types=types, failing=1, failure=late, sessions=()),
    )
    page, table = boards(group, "latency_s")
    assert {name: mean.at_least for name, mean in table.items()} == {"naive": False, "kg": True}
    assert {one.label: one.score and format_value(one.score).startswith("≥ ") for one in page.standings} == {
        "naive": False,
        "kg": True,
    }
    assert {one.label: one.remarks for one in page.standings} == {"naive": (), "kg": ("1 timed out",)}
    # By a measure of answers the same query failed.
    page, _ = boards(group, "accuracy")
    assert {one.label: one.remarks for one in page.standings}["kg"] == ("1 failed, counted as worst",)


def test_a_lower_bound_over_all_queries_is_one_too(make_run: MakeRun) -> None:
    late = Failure(kind="timeout", message="no answer within 9 s")
    types = {"inference_query": 120}
    runs = [make_run(system=name, types=types, sessions=()) for name in ("naive", "kg")]
    unfinished = make_run(system="slow", types=types, failing=1, failure=late, missing=60, sessions=())
    _, table = boards(group_of(*runs, unfinished), "latency_s")
    assert table["slow (not finished)"].at_least


def test_a_small_cost_keeps_its_digits_on_the_page(make_run: MakeRun) -> None:
    types = {"inference_query": 20}
    usages = (Usage(calls=1, input_tokens=1_000), Usage(calls=1, input_tokens=2_000))
    group = group_of(*(make_run(system=str(usage.input_tokens), types=types, usage=usage) for usage in usages))
    page, _ = boards(group, "usd")
    assert [format_value(one.score).split()[0] for one in page.standings] == ["0.000150", "0.000300"]


def test_page_and_tables_show_costs_in_one_mix(tmp_path: Path) -> None:
    # Later queries take more tokens, and the second half is of the type that the data set has more of.
    types, mix = ("inference_query",) * 20 + ("null_query",) * 20, {"inference_query": 10, "null_query": 90}
    group = group_of(
        *(
            write_run(tmp_path, ScoredRun(name, {"accuracy": right(count, N)}, types=types, type_mix=mix))
            for name, count in (("naive", 25), ("kg", 35))
        )
    )
    page, _ = boards(group, "accuracy")
    natural = group.views[0].row("tokens", NATURAL)
    assert natural is not None
    assert natural.mean != group.views[0].value("tokens")
    assert page.costs[0].measure == "tokens"
    shown = [one.costs[0] for one in page.standings]
    assert [cost and cost.value for cost in shown if isinstance(cost, Quantity)] == [natural.mean, natural.mean]


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
