"""How much time does a run need beyond its model calls, compared with the limit and with ragas' executor?

A system with 8 consecutive calls per query answers 100 queries, 64 at once, over HTTP; the server answers each
call after 0, 50 or 200 ms and runs in separate processes. Two ways make the same calls, in turn:

- `rag-harness run`, as users get it: in its worker process, every call in the journal, every record synced.
  Measured from its first query's start to its last record; the last column has the whole command, with start-up;
- `ragas.executor`, with openai's client and no journal, warmed up by one query.

The critical path is the time of the calls of one query, times the rounds of 100 queries in 64 slots; work is all
calls in 64 slots without a gap. No way can be faster than either. CPU milliseconds are of the processes that make
the calls; for `rag-harness run` the time of the same command with a single query is subtracted.

A cell's queries are answered by one worker process: calls/s at 0 ms is the rate of one core. The line above the
table shows the rate of the server alone. With one core, server and caller share it.

Examples:
  .venv/bin/python scripts/bench/runner.py
  .venv/bin/python scripts/bench/runner.py --latencies 0.05 --repeats 5
  .venv/bin/python scripts/bench/runner.py --queries 400 --at-once 128 --servers 2
"""

import argparse
import asyncio
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import median

from benching import counted, ended, in_turn, seconds, set_keys, spread
from common import command_line, machine, print_table
from many_calls import NAME, installed
from model_server import ceiling, serving

from harness.store import RunDir

HEADER = (
    *("latency", "way", "seconds", "of the critical path", "of work", "calls/s"),
    *("processor ms a call", "whole command, s"),
)


@dataclass(frozen=True)
class Load:
    """The parameters of the calls."""

    queries: int
    calls: int
    at_once: int
    latency_s: float

    @property
    def path_s(self) -> float:
        return self.calls * self.latency_s * math.ceil(self.queries / self.at_once)

    @property
    def work_s(self) -> float:
        """All calls, in the concurrent slots without a gap."""
        return self.queries * self.calls * self.latency_s / self.at_once


@dataclass(frozen=True)
class Took:
    """One measurement of one way."""

    wall_s: float
    cpu_s: float
    calls: int
    command_s: float
    """Of the whole command, with start-up."""


def main() -> None:
    """Measure each way in turn for each latency, and print a table."""
    asked = _arguments()
    print(machine())
    with serving(0.0, processes=asked.servers) as url:
        alone = asyncio.run(ceiling(url, asked.at_once))
        print(f"the server alone, in {asked.servers} process(es): {alone:,.0f} calls/s\n")
    print_table(HEADER, _rows(asked), words=2)


def _rows(asked: argparse.Namespace) -> Iterator[list[str]]:
    for latency_s in asked.latencies:
        load = Load(asked.queries, asked.calls, asked.at_once, latency_s)
        with serving(latency_s, processes=asked.servers) as url:
            ways = {name: partial(WAYS[name], load, url) for name in asked.ways}
            taken = in_turn(ways, asked.repeats)
        for name, times in taken.items():
            yield row(name, load, times)


def row(name: str, load: Load, times: Sequence[Took]) -> list[str]:
    """Medians, with minimum and maximum of seconds and milliseconds if there are several."""
    walls = [one.wall_s for one in times]
    of_limits = (f"{median(walls) / part:.2f}" if part else "-" for part in (load.path_s, load.work_s))
    calls_a_s = f"{median(one.calls / one.wall_s for one in times):,.0f}"
    cpu_ms, whole = [1000 * one.cpu_s / one.calls for one in times], median(one.command_s for one in times)
    told = f"{1000 * load.latency_s:g} ms", name, spread(walls), *of_limits
    return [*told, calls_a_s, spread(cpu_ms), f"{whole:.1f}"]


def by_the_harness(load: Load, url: str) -> Took:
    """`rag-harness run`, minus the CPU time of the same command with a single query."""
    whole, start = one_run(load, url), one_run(replace(load, queries=1), url)
    return replace(whole, cpu_s=max(0.0, whole.cpu_s - start.cpu_s))


def one_run(load: Load, url: str) -> Took:
    """`rag-harness run` over generated questions, in its own folder."""
    with installed(load.queries) as (folder, variables):
        settings = {
            "models.generator.provider": "openai-compatible",
            "models.generator.base_url": url,
            "models.generator.model": "fake",
            "models.generator.max_concurrency": load.at_once,
            "limits.concurrency": load.at_once,
            "dataset.sample.per_type": load.queries,
            "answer.calls": load.calls,
        }
        words = [
            "run",
            "--docs",
            "docs",
            "--questions",
            "questions.jsonl",
            "--system",
            NAME,
            "--records-only",
            "-q",
        ]
        command = [sys.executable, "-P", "-m", "harness.cli.main", *words, *set_keys(settings)]
        whole = ended(command, folder, variables)
        (run,) = (folder / "results").glob("*/records.jsonl")
        records = list(RunDir(run.parent).records().values())
        assert len(records) == load.queries  # noqa: S101 - every query was answered, or this is no measurement
        assert all(one.status == "ok" for one in records), records[0].failure  # noqa: S101
        starts = [datetime.fromisoformat(one.started_at).timestamp() for one in records]
        calls = sum(one.cost.usage["generator"].calls for one in records)
        # The modification time is that of the last record.
        return Took(run.stat().st_mtime - min(starts), whole.cpu_s, calls, whole.wall_s)


def by_ragas(load: Load, url: str) -> Took:
    """Its executor, with openai's client only."""
    words = [url, "--queries", load.queries, "--calls", load.calls, "--at-once", load.at_once]
    whole = ended([sys.executable, Path(__file__).with_name("ragas_executor.py"), *words])
    return Took(**json.loads(whole.printed.splitlines()[-1]), command_s=whole.wall_s)


WAYS: dict[str, Callable[[Load, str], Took]] = {"rag-harness run": by_the_harness, "ragas.executor": by_ragas}


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--latencies", nargs="+", type=seconds, default=[0.0, 0.05, 0.2], help="seconds")
    parser.add_argument("--queries", type=counted, default=100)
    parser.add_argument("--calls", type=counted, default=8, help="consecutive calls per query")
    parser.add_argument("--at-once", type=counted, default=64, help="concurrent queries, and so calls")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--repeats", type=counted, default=1, help="repeats of each way; medians are shown")
    parser.add_argument("--servers", type=counted, default=1, help="processes of the model server")
    return parser.parse_args()


if __name__ == "__main__":
    main()
