"""How long do commands take that run no model? `--help`, a plan of 100 cells, `show` of a run.

Each command is a separate process, compared with a Python process that does nothing; the first of each is left
out, because it may read files that are not in memory yet. CPU seconds are user and system; on a busy machine they
vary less than wall time.

Examples:
  .venv/bin/python scripts/bench/startup.py
  .venv/bin/python scripts/bench/startup.py --repeats 20
"""

import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benching import HARNESS, Ended, counted, ended, in_turn, set_keys
from common import command_line, machine, print_table, started

_SWEEP = """
systems: [naive]
models: {generator: {provider: fake}}
matrix:
  answer.top_k: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  answer.fetch_k: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
"""
_FEW = {"models.generator.provider": "none", "dataset.sample.per_type": 1}


def main() -> None:
    """A row for each command."""
    parser = command_line(__doc__)
    parser.add_argument("--repeats", type=counted, default=7, help="repeats of each command, in turn (default 7)")
    repeats = parser.parse_args().repeats
    print(machine())
    with tempfile.TemporaryDirectory() as scratch:
        ways = {name: partial(ended, words) for name, words in _commands(Path(scratch)).items()}
        rounds = {name: took[1:] for name, took in in_turn(ways, repeats + 1).items()}
    floor = median(one.cpu_s for one in rounds["python -c pass"])
    print()
    header = ("command", "wall s", "slowest", "processor s", "times Python's own")
    print_table(header, (_row(name, took, floor) for name, took in rounds.items()))


def _row(name: str, took: Sequence[Ended], floor: float) -> tuple[str, ...]:
    walls, busy = [one.wall_s for one in took], median(one.cpu_s for one in took)
    return name, f"{median(walls):.2f}", f"{max(walls):.2f}", f"{busy:.2f}", f"{busy / floor:.0f}"


def _commands(scratch: Path) -> dict[str, list[object]]:
    results, sweep = scratch / "results", scratch / "sweep.yaml"
    sweep.write_text(_SWEEP, encoding="utf-8")
    words = ["run", "--system", "naive", *set_keys(_FEW), "--records-only", "--quiet"]
    ended([HARNESS, *words, "--results", results])
    (run,) = results.glob("*--naive--*")
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "rag-harness --help": [HARNESS, "--help"],
        "rag-harness plan, 100 cells": [HARNESS, "plan", "--config", sweep, "--results", results],
        "rag-harness show RUN": [HARNESS, "show", run],
    }


if __name__ == "__main__":
    started(main)
