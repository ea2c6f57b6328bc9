"""How long do commands take that run no model? `--help`, a plan of 100 cells, `show` of a run.

Each command is a separate process, compared with a Python process that does nothing; the first of each is left
out, because it may read files that are not in memory yet. CPU seconds are user and system; on a busy machine they
vary less than wall time.

Examples:
  .venv/bin/python scripts/bench/startup.py
  .venv/bin/python scripts/bench/startup.py --repeats 20
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benching import command_line, print_table, said_of_machine, started

_SWEEP = """
systems: [naive]
models: {generator: {provider: fake}}
matrix:
  answer.top_k: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  answer.fetch_k: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
"""
_FEW = ("models.generator.provider=none", "dataset.sample.per_type=1")


def main() -> None:
    """A row for each command."""
    parser = command_line(__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="repeats of each command, in turn (default 7)")
    repeats = parser.parse_args().repeats
    print(said_of_machine())
    with tempfile.TemporaryDirectory() as scratch:
        commands = _commands(Path(scratch))
        rounds = [{name: _timed(words) for name, words in commands.items()} for _ in range(repeats + 1)][1:]
    floor = statistics.median(one["python -c pass"][1] for one in rounds)
    print()
    header = ("command", "wall s", "slowest", "processor s", "times Python's own")
    print_table(header, (_row(name, [one[name] for one in rounds], floor) for name in commands))


def _row(name: str, times: Sequence[tuple[float, float]], floor: float) -> tuple[str, ...]:
    walls, busy = [wall for wall, _ in times], statistics.median(own for _, own in times)
    return name, f"{statistics.median(walls):.2f}", f"{max(walls):.2f}", f"{busy:.2f}", f"{busy / floor:.0f}"


def _commands(scratch: Path) -> dict[str, list[str]]:
    command, results = str(Path(sys.executable).with_name("rag-harness")), scratch / "results"
    sweep = scratch / "sweep.yaml"
    sweep.write_text(_SWEEP, encoding="utf-8")
    settings = [word for setting in _FEW for word in ("--set", setting)]
    subprocess.run(
        [command, "run", "--system", "naive", *settings, "--records-only", "--quiet", "--results", str(results)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (run,) = results.glob("*--naive--*")
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "rag-harness --help": [command, "--help"],
        "rag-harness plan, 100 cells": [command, "plan", "--config", str(sweep), "--results", str(results)],
        "rag-harness show RUN": [command, "show", str(run)],
    }


def _timed(words: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    began, before = time.perf_counter(), os.times()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    own = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, own


if __name__ == "__main__":
    started(main)
