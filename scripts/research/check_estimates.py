"""Do runs take the seconds that were estimated? The range in each run's estimate.json, and what was measured.

An index counts for the run that built it, answers by the time in which any of them was in progress; of runs that a
budget ended, the answers that are there stand for all. Starting processes and scoring are not compared. The
estimates are those of the version that made the runs.

Examples:
  .venv/bin/python scripts/research/check_estimates.py results
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from common import command_line, print_table, started

from harness.core.errors import HarnessError
from harness.core.records import Estimate, Range
from harness.statistics.estimate import answers_spent
from harness.store import RunDir, find_runs

HEADER = ("run", "phase", "low, s", "high, s", "took, s", "outside by")
_LEAST_S = 5.0
"""Shorter phases are lost in the start of processes, which every estimate adds."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("results", type=Path, nargs="+", help="folders of finished runs")
    rows, kinds = [], {"within": 0, "less": 0, "more": 0}
    for folder in parser.parse_args().results:
        for run in find_runs(folder, []):
            for phase, expected, took in phases(run):
                kind, by = judged(expected, took)
                kinds[kind] += 1
                cells = (f"{expected.low:.0f}", f"{expected.high:.0f}", f"{took:.0f}", by)
                rows.append((run.run_id, phase, *cells))
    print_table(HEADER, rows, words=2)
    print(", ".join(f"{n} {kind}" for kind, n in kinds.items()))


def phases(run: RunDir) -> Iterator[tuple[str, Range, float]]:
    """Phase, its estimate and its seconds, of a run that was measured live."""
    try:
        estimate, index, records = run.estimate(), run.index(), list(run.iter_records())
    except HarnessError:
        return
    if estimate is None or run.done() is None:
        return
    built = index.cost.wall_s if index and index.built_by == run.run_id else None
    spent = answers_spent(records)
    answered = spent.seconds * estimate.n_answers / spent.units if spent.seconds and spent.units else None
    for phase, took in (("index", built), ("answers", answered)):
        expected = _expected(estimate, phase)
        if expected and took and max(took, expected.high) >= _LEAST_S:
            yield phase, expected, took


def _expected(estimate: Estimate, phase: str) -> Range | None:
    return estimate.index.seconds if phase == "index" else estimate.answer.seconds


def judged(expected: Range, took: float) -> tuple[str, str]:
    """Whether it took what was expected, and how many times less than the low end or more than the high one."""
    if took < expected.low:
        return "less", f"x{took / expected.low:.1f}"
    return ("more", f"x{took / max(expected.high, 0.1):.1f}") if took > expected.high else ("within", "")


if __name__ == "__main__":
    started(main)
