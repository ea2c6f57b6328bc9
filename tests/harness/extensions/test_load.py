"""`rag-harness load`: servers of known speed are measured as they are, and no fault costs what was measured."""

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLineHere, over_http
from damaging import WorkersHere
from paired_runs import ScoredRun, write_run
from report_groups import group_of
from serving import serving
from virtual_time import run_in_virtual_time

from harness.core.records import Usage
from harness.display.plotting import plotting
from harness.extensions.load.findings import fit_law, saturation, sentences
from harness.extensions.load.levels import Ask, Level, Outcome, ask_closed, ask_open
from harness.extensions.load.load_file import LoadFile, LoadLevel, LoadTest, load_file, read_load, summarised
from harness.extensions.load.output import SPEC, content, draw
from harness.models.fake_faults import Reply
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.report.chapter import sections_of
from harness.report.sections import Reported
from harness.report.verdict.findings import find

SERVICE_S = 0.5
"""Of each query, at the server of a test in virtual time."""
USERS = (1, 2, 4, 8, 16)


def server(slots: int) -> Ask:
    """Answers so many queries at once, first come, first served, each in `SERVICE_S`."""
    free = asyncio.Semaphore(slots)

    async def ask(_number: int) -> Outcome:
        began = time.monotonic()
        async with free:
            await asyncio.sleep(SERVICE_S)
        usage = Usage(calls=1, input_tokens=8, output_tokens=2)
        return Outcome("", time.monotonic() - began, SERVICE_S, 0.0, usage)

    return ask


def measured(slots: int, *, users: int | None = None, per_s: float | None = None, queries: int = 20) -> LoadLevel:
    level = Level(users, per_s, queries)

    async def work() -> None:
        asked = server(slots)
        await (ask_closed(level, asked) if users else ask_open(level, asked, SERVICE_S))

    run_in_virtual_time(work())
    return summarised(level, 1.0, {})


def as_test(*levels: LoadLevel) -> LoadTest:
    return LoadTest(measured_at="2026-11-27", cores=2, slots=None, n_queries=8, levels=levels)


@pytest.mark.parametrize("slots", [1, 3, 4])
def test_a_closed_loop_finds_the_saturation_of_a_server_of_so_many_slots(slots: int) -> None:
    levels = [measured(slots, users=users) for users in USERS]
    for level in levels:
        users = level.users or 0
        assert level.answers_per_s == pytest.approx(min(users, slots) / SERVICE_S, rel=0.1)
        assert level.latency and level.latency.mean_s == pytest.approx(max(1, users / slots) * SERVICE_S, rel=0.1)
    assert (found := saturation(levels))
    assert found.is_reached
    assert (found.per_s, found.users) == pytest.approx((slots / SERVICE_S, slots), rel=0.1)
    test = as_test(*levels)
    assert test.queue_s(levels[-1]) == pytest.approx(USERS[-1] / slots * SERVICE_S - SERVICE_S, rel=0.1)
    assert "model server" in sentences(LoadFile(run_id="x", closed=test))[0]


def test_the_fitted_law_has_the_parameters_that_the_throughput_was_made_with() -> None:
    def level(users: int) -> LoadLevel:
        per_s = 3 * users / (1 + 0.1 * (users - 1) + 0.01 * users * (users - 1))
        return measured(1, users=users).model_copy(update={"answers_per_s": per_s})

    assert (law := fit_law([level(users) for users in USERS]))
    assert (law.per_user, law.contention, law.coherency) == pytest.approx((3, 0.1, 0.01), rel=0.01)
    assert law.peak_users == pytest.approx((0.9 / 0.01) ** 0.5, rel=0.01)
    assert fit_law([level(1), level(2)]) is None


def test_a_server_is_saturated_if_its_engine_reports_waiting_and_not_if_there_is_room() -> None:
    levels = [measured(1, users=users).model_copy(update={"answers_per_s": 2.0 * users}) for users in (1, 2)]
    assert (found := saturation(levels))
    assert (found.is_reached, found.users) == (True, 1)
    assert (roomy := saturation([measured(64, users=users) for users in USERS]))
    assert not roomy.is_reached


@pytest.mark.parametrize("slots", [1, 2])
def test_in_an_open_loop_waiting_grows_as_theory_says(slots: int) -> None:
    capacity = slots / SERVICE_S
    below, beyond = measured(slots, per_s=0.9 * capacity), measured(slots, per_s=2 * capacity, queries=40)
    assert below.keeps_up and not beyond.keeps_up
    assert below.latency and below.latency.longest_s == pytest.approx(SERVICE_S)
    assert beyond.answers_per_s == pytest.approx(capacity, rel=0.1)
    # Each arrival waits longer than the one before, by what its service takes longer than the gap.
    growth_s = 1 / capacity - 1 / (2 * capacity)
    assert beyond.latency and beyond.latency.longest_s == pytest.approx(SERVICE_S + 43 * growth_s, rel=0.1)


def test_a_rate_beyond_the_machine_ends_and_says_so() -> None:
    level = measured(1, per_s=1000, queries=100_000)
    assert not level.keeps_up and level.n_given_up > 0
    assert level.latency and level.latency.at_least
    (said, *_) = sentences(LoadFile(run_id="x", open=as_test(level)))
    assert "does not keep up" in said
    assert "500 were unanswered" in level.ended


# The command, with a model server over HTTP of two slots.


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> CommandLineHere:
    folder = tmp_path_factory.mktemp("load")
    return CommandLineHere(folder, {"RAG_HARNESS_CACHE": str(folder / "cache")})


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeServer]:
    with serving(FakeServer(FakeScript(latency_s=0.04, slots=2))) as server:
        yield server


@pytest.fixture(scope="module")
def run(cli: CommandLineHere, fake: FakeServer) -> str:
    with WorkersHere():
        words = over_http("generator", fake, max_retries=0)
        return str(cli.run("--set", "dataset.sample.per_type=1", *words)["run_id"])


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "load.json")
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.slow
def test_every_call_is_made_and_the_run_stays_as_it_was(cli: CommandLineHere, run: str, fake: FakeServer) -> None:
    before, calls = contents(cli.results / run), fake.model.served["calls"]
    words = ("load", run, "--trust", "--concurrency", "1,2,4", "--rate", "5", "--queries", "8", "-q")
    done = cli.call(*words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    ends = ("n_answered", "n_failed", "n_given_up")
    assert [sum(one[end] for end in ends) for one in found["closed"]["levels"]] == [8, 8, 8]
    # Two alone, one of each user, the levels, and the open loop with its warm-up.
    assert fake.model.served["calls"] - calls == 2 + (1 + 2 + 4) + 24 + 9
    assert contents(cli.results / run) == before
    assert found["saturation"]["per_s"] < 1.1 * 2 / 0.04
    assert found["closed"]["levels"][2]["resources"].get("system_rss_bytes", 1) > 0
    shown = cli.call("load", run, "--trust", "--concurrency", "1,2", "--queries", "2", "-q").stdout.splitlines()
    assert len(shown) <= 20
    assert max(map(len, shown)) <= 80
    again = json.loads((cli.results / run / "load.json").read_text())
    assert [one["users"] for one in again["closed"]["levels"]] == [1, 2]
    assert [one["per_s"] for one in again["open"]["levels"]] == [5.0], "the other kind is kept"


def dies() -> None:
    raise ConnectionResetError


def interrupts() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "then", "code"),
    [
        (("--queries", "8"), dies, 2),
        (("--queries", "8"), interrupts, 130),
        (("--queries", "100", "--set", "budget.tokens=60000"), None, 4),
    ],
)
def test_a_dying_server_a_budget_and_an_interrupt_end_it_and_finished_levels_are_kept(
    cli: CommandLineHere,
    run: str,
    fake: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    then: Callable[[], None] | None,
    code: int,
) -> None:
    answer, last, once = fake.model.respond, fake.model.served["calls"] + 20, threading.Lock()

    def respond(path: str, body: bytes) -> Reply:
        # Answers are given at once, so no thread may see exactly so many.
        if fake.model.served["calls"] >= last and then and (then is dies or once.acquire(blocking=False)):
            then()
        return answer(path, body)

    monkeypatch.setattr(fake.model, "respond", respond)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = cli.call("load", run, "--trust", "-n", "1,8", "-q", *words)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert "load.json" in line
    test = json.loads((cli.results / run / "load.json").read_text())["closed"]
    assert test["ended"]
    assert test["levels"][0]["n_answered"] >= 8


@pytest.mark.slow
def test_a_run_that_cannot_be_measured_is_one_line_and_retrieval_alone_can(cli: CommandLineHere, run: str) -> None:
    assert "write whole numbers" in cli.refused("load", run, "--concurrency", "1,x")
    assert "write numbers" in cli.refused("load", run, "--rate", "nan")
    assert "--trust" in cli.refused("load", run)
    assert "no setting of the budget" in cli.refused("load", run, "--trust", "--set", "answer.top_k=1")
    with WorkersHere():
        words = ("--set", "dataset.sample.per_type=1", "--set", "models.generator.provider=none")
        alone = str(cli.run(*words)["run_id"])
    found = json.loads(cli.call("load", alone, "-n", "1,2", "--queries", "4", "--json", "-q").stdout)
    assert [one["n_answered"] for one in found["closed"]["levels"]] == [4, 4]
    assert found["usd"] == 0
    folder, away = cli.results / "indexes", cli.results / "away"
    folder.rename(away)
    assert "rag-harness run" in cli.refused("load", alone)
    away.rename(folder)


# The section of the report.


def test_a_report_shows_what_was_measured_and_damage_is_one_line(tmp_path: Path) -> None:
    run = write_run(tmp_path, ScoredRun(scores={"accuracy": [1.0, 0.0]}))
    group = group_of(run)
    reported = Reported(group, find(group))
    assert content(reported).tables == []
    hostile = measured(2, users=4).model_copy(update={"ended": "\x1b[2J<script>", "n_failed": 1})
    test = as_test(measured(2, users=1), measured(2, users=2), hostile)
    load_file(run).write(LoadFile(run_id=run.manifest().run_id, closed=test, open=as_test(measured(1, per_s=1.0))))
    said = content(reported)
    (table,) = said.tables
    assert len(table.rows) == 4
    assert all(len(row) == len(table.header) for row in table.rows)
    assert "\x1b" not in said.items[0]
    with plotting() as new_figure:
        assert [one.stem for one in draw(reported, new_figure)] == ["load-users", "load-per-s"]
    assert SPEC.name in {spec.name for spec in sections_of(group)[0]}
    path = run.path / "load.json"
    tree: dict[str, Any] = json.loads(path.read_text())
    tree["closed"]["levels"][0]["seconds"] = -1
    path.write_text(json.dumps(tree))
    (line,) = content(reported).items
    assert "load.json" in line
    path.unlink()
    assert read_load(run) is None
