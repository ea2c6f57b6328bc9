"""`rag-harness route` as a user calls it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from command_line import CommandLine
from paired_runs import IMPUTED, ScoredRun, Value, write_run

MEASURE = "accuracy"
TYPES = ("comparison_query", "temporal_query")
FIRST: tuple[Value, ...] = (1.0, 0.0) * 30
SECOND: tuple[Value, ...] = (0.0, 1.0) * 30


def made(cli: CommandLine, system: str, values: Sequence[Value], **plan: Any) -> str:
    words = {
        f"q{number:03d}": f"Is A{number} the same as B?" if number % 2 == 0 else f"Has A{number} changed since B?"
        for number in range(len(values))
    }
    given = {"scores": {MEASURE: values}, "types": TYPES, "texts": words, **plan}
    return write_run(cli.results, ScoredRun(system=system, **given)).run_id


def routed(cli: CommandLine, *arguments: str) -> dict[str, Any]:
    done = cli.call("route", *arguments, "--measure", MEASURE, "--splits", "20", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def policy(found: dict[str, Any], beginning: str) -> dict[str, Any]:
    (one,) = [one for one in found["policies"] if one["policy"].startswith(beginning)]
    return dict(one)


def test_systems_that_serve_one_type_each_are_worth_a_route(cli: CommandLine) -> None:
    found = routed(cli, made(cli, "s0", FIRST), made(cli, "s1", SECOND))
    assert found["is_shown"] is True
    assert found["verdict"].startswith("Route: ")
    assert found["routes"]["rules"]["types"] == {"comparison": "s0", "temporal": "s1"}
    assert policy(found, "learnt table, types told by rules")["gain"] == pytest.approx(0.5, abs=0.1)


@pytest.mark.slow
def test_tables_and_a_figure_are_written_and_the_same_twice(cli: CommandLine) -> None:
    runs = made(cli, "s0", FIRST), made(cli, "s1", SECOND)
    written = []
    for folder in ("one", "two"):
        done = cli.call("route", *runs, "-m", MEASURE, "--splits", "10", "--out", folder)
        assert done.returncode == 0, done.stderr
        written.append({path.name: path.read_bytes() for path in (cli.folder / folder).glob("[!.]*")})
    assert sorted(written[0]) == ["routes.json", "routes.md", "routes.svg"]
    assert written[0] == written[1]


def test_a_policy_is_a_config_that_can_be_planned(cli: CommandLine) -> None:
    runs = made(cli, "naive", FIRST), made(cli, "recursive", SECOND)
    done = cli.call("route", *runs, "-m", MEASURE, "--splits", "10", "--policy", "policy.yaml")
    assert done.returncode == 0, done.stderr
    planned = cli.call("plan", "-c", "policy.yaml", "-d", "demo", "--json")
    (cell,) = json.loads(planned.stdout)["cells"]
    assert cell["system"] == "router"

    # Nor can a router run a pipeline of one's own, or imported answers.
    imported = runs[0], made(cli, "mine", (1.0,) * 60)
    line = cli.refused("route", *imported, "-m", MEASURE, "--splits", "10", "--policy", "mine.yaml")
    assert "'mine' cannot be run from a config" in line
    assert not (cli.folder / "mine.yaml").exists()


def test_a_system_that_is_as_good_everywhere_is_chosen_alone(cli: CommandLine) -> None:
    found = routed(cli, made(cli, "s0", (1.0,) * 60), made(cli, "s1", SECOND))
    assert found["verdict"] == "Choose s0: a table gains nothing over it on any split."
    assert policy(found, "learnt table, types told by rules")["gain"] == 0


def test_failed_queries_count_as_the_worst_value(cli: CommandLine) -> None:
    failing = tuple(IMPUTED if value == 0.0 else value for value in SECOND)
    found = routed(cli, made(cli, "s0", FIRST), made(cli, "s1", failing))
    assert (found["n_queries"], [one["mean"] for one in found["systems"]]) == (60, [0.5, 0.5])


def test_a_query_that_costs_more_than_it_brings_goes_to_the_cheaper_system(cli: CommandLine) -> None:
    cheap, dear = made(cli, "s0", FIRST, input_tokens=100), made(cli, "s1", SECOND, input_tokens=9000)
    assert routed(cli, cheap, dear)["routes"]["rules"]["types"]["temporal"] == "s1"
    found = routed(cli, cheap, dear, "--cost-weight", "20")
    assert found["routes"]["rules"]["types"]["temporal"] == "s0"


def test_unfinished_runs_and_baselines_are_left_out_and_other_samples_compared_over_common_queries(
    cli: CommandLine,
) -> None:
    ids = [f"q{number:03d}" for number in range(40)]
    runs = [
        made(cli, "s0", FIRST),
        made(cli, "s1", SECOND[:40], queries=ids, digest="e" * 64),
        made(cli, "s2", (1.0,) * 60, unfinished=3),
        made(cli, "s3", (1.0,) * 60, baseline="It sees the answers."),
    ]
    found = routed(cli, *runs)
    assert ([one["system"] for one in found["systems"]], found["n_queries"]) == (["s0", "s1"], 40)
    assert "s2 is unfinished and is left out." in found["notes"]
    assert "s3 is a baseline: nothing is routed to it." in found["notes"]
    assert any("other samples" in note for note in found["notes"])


def test_runs_that_cannot_be_studied_are_one_line(cli: CommandLine) -> None:
    first, unmetered = made(cli, "s0", FIRST), made(cli, "s1", SECOND, replayed=2)
    baseline = made(cli, "s2", SECOND, baseline="It sees the answers.")
    few = [[made(cli, f"{name}{n}", FIRST[:n]) for name in ("a", "b")] for n in (1, 7)]
    weighted = ("--cost-weight", "1")
    for runs, arguments, said in (
        ([first, unmetered], ("--measure", "acuracy"), "did you mean"),
        ([first, unmetered], ("-m", MEASURE, *weighted, "--cost", "latency_s"), "'latency_s' is unknown"),
        ([first, unmetered], ("-m", "tokens", *weighted), "no known range"),
        *((runs, ("-m", MEASURE), "name runs over 8 or more") for runs in few),
        *((runs, ("-m", MEASURE), "name another RUN") for runs in ([first], [first, first], [first, baseline])),
    ):
        assert said in cli.refused("route", *runs, *arguments)


def test_few_queries_give_no_interval_and_no_verdict(cli: CommandLine) -> None:
    found = routed(cli, made(cli, "s0", (1.0, 0.0, 1.0) * 6), made(cli, "s1", (0.0, 1.0, 0.0) * 6))
    assert found["is_shown"] is False
    assert policy(found, "learnt table, types told by rules")["ci_low"] is None
