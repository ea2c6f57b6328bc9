"""Does kill -9 at any moment lose or double anything, or cause a call to be paid twice?

The demo with the scripted model over HTTP, in real processes. One run is undisturbed. Others, of the same config,
are killed repeatedly: `run` while it indexes and answers, then `evaluate`, then `report`, each at a random moment
within its undisturbed duration; the command's own process is killed, or a child process. Then the same command
runs to its end, and the script counts

- records that are missing or doubled, and answers or scores that differ from the undisturbed run;
- calls that reached the server beyond those of the undisturbed run, and how many could be in flight at the kills;
- reports that differ from one written into a new folder.

Examples:

  .venv/bin/python scripts/research/kill_runs.py --kills 20
  nice -n 19 .venv/bin/python scripts/research/kill_runs.py --kills 200 --seed 7
"""

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from common import command_line, import_from_tests, print_table, started

from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.store import RunDir

import_from_tests()
from command_line import SMOKE, CommandLine, over_http  # noqa: E402 - found by import_from_tests
from killing import journaled, kill_somewhere, what_was_answered  # noqa: E402

STAGES = ("run", "evaluate", "report")
KILLS = {"run": 6, "evaluate": 2, "report": 2}
"""Kills of each stage, before the command runs to its end."""
_UNDER_WAY = 2
"""Concurrent calls."""


class Killing:
    """Runs that are killed, and an undisturbed one."""

    def __init__(self, folder: Path, server: FakeServer, draw: random.Random) -> None:
        self._folder, self._server, self._draw = folder, server, draw
        self.kills, self.wrong = Counter[str](), Counter[str]()
        self.repaid = 0
        self._seconds: dict[str, float] = {}
        before = self._calls
        self._whole = self._begun("whole")
        for stage in STAGES:
            began = time.monotonic()
            self._end(self._whole, stage)
            self._seconds[stage] = time.monotonic() - began
        self._calls_of_one = self._calls - before

    def kill_one(self, number: int, most: int) -> None:
        """Kill the stages of one more run, `most` times in all, then compare it with the undisturbed one."""
        cli, before = self._begun(f"killed-{number}"), self._calls
        begun = self.kills.total()
        for stage in STAGES:
            for _ in range(KILLS[stage]):
                if self.kills.total() - begun < most:
                    after_s = self._draw.uniform(0.3, self._seconds[stage])
                    self.kills[stage] += kill_somewhere(cli, self._words(cli, stage), after_s, self._draw)
            self._end(cli, stage)
        self.repaid += self._calls - before - self._calls_of_one
        self._check(cli)

    @property
    def _calls(self) -> int:
        return self._server.model.served["calls"]

    def _begun(self, name: str) -> CommandLine:
        folder = self._folder / name
        folder.mkdir()
        return CommandLine(folder, {"RAG_HARNESS_CACHE": str(folder / "cache")}, timeout_s=3600)

    def _words(self, cli: CommandLine, stage: str) -> list[str]:
        if stage == "run":
            models = (*over_http("generator", self._server), *over_http("embedder", self._server, batch_size=8))
            settings = ("--set", "dataset.sample.per_type=5", "--set", f"limits.concurrency={_UNDER_WAY}")
            return ["run", "--config", str(SMOKE), "--quiet", "--records-only", *settings, *models]
        run = str(self._run(cli).path)
        return ["evaluate", run] if stage == "evaluate" else ["report", run, "--out", "report"]

    def _run(self, cli: CommandLine) -> RunDir:
        (path,) = cli.results.glob("demo--*")
        return RunDir(path)

    def _end(self, cli: CommandLine, stage: str) -> None:
        done = cli.call(*self._words(cli, stage))
        if done.returncode:
            self.wrong[f"`{stage}` did not end well"] += 1
            print(done.stderr, file=sys.stderr)

    def _check(self, cli: CommandLine) -> None:
        whole, run = self._run(self._whole), self._run(cli)
        lines, expected = list(run.iter_records()), what_was_answered(whole)
        self.wrong["records lost"] += len(expected.keys() - {record.query_id for record in lines})
        self.wrong["records doubled"] += len(lines) - len({record.query_id for record in lines})
        self.wrong["answers that differ"] += what_was_answered(run) != expected
        self.wrong["scores that differ"] += sorted(map(repr, run.scores())) != sorted(map(repr, whole.scores()))
        self.wrong["runs that are not closed"] += not run.is_closed()
        for name in ("calls.sqlite", "../indexes/calls.sqlite"):
            calls = journaled(run.path / name)
            self.wrong["calls kept twice"] += len(calls) - len(set(calls))
        fresh = cli.call("report", str(run.path), "--out", "fresh")
        same = not fresh.returncode and _bytes(cli.folder / "report") == _bytes(cli.folder / "fresh")
        self.wrong["reports that differ"] += not same


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def _server() -> Iterator[FakeServer]:
    server = FakeServer(FakeScript(latency_s=0.15))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--kills", type=int, default=20, help="kills in all (default 20); ten per run")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with TemporaryDirectory() as folder, _server() as server:
        killing = Killing(Path(folder), server, random.Random(options.seed))  # noqa: S311 - moments, no secret
        number = 0
        while (left := options.kills - killing.kills.total()) > 0:
            number += 1
            killing.kill_one(number, left)
            print(f"{killing.kills.total():,} kills: {dict(+killing.wrong)}", file=sys.stderr, flush=True)
    print_table(["killed", "times"], [[stage, f"{killing.kills[stage]:,}"] for stage in STAGES])
    print()
    rows = [[what, f"{count:,}"] for what, count in killing.wrong.items()]
    most = _UNDER_WAY * killing.kills["run"]
    rows.append(["calls paid again", f"{killing.repaid:,} (under way at the kills: {most:,} at most)"])
    print_table(["found", f"in {number:,} runs"], rows)


if __name__ == "__main__":
    started(main)
