"""Does any reply of a judge or an extractor cause a traceback, a NaN or a score out of its range?

Every evaluator that reads model replies (rag_eval, triplet, kg with its extraction, ragas) repeatedly scores one
answer. Each reply of its judge fits the requested schema and is then distorted (tests/support/fuzzed.py): other
values in other places, text around it, cut off, nested 100,000 deep, numbers of 6,000 digits, or anything at all.
Hypothesis draws the distortions and shrinks the first failure; a failed score must give a reason in one line.

Examples:
  .venv/bin/python scripts/research/fuzz_replies.py
  .venv/bin/python scripts/research/fuzz_replies.py --replies 200 --evaluators rag_eval
"""

from __future__ import annotations

import sys
import time
import traceback
from collections import Counter

from common import command_line, import_from_tests, machine, print_table, started
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HEADER = ("evaluator", "replies", "scored", "failed, with a reason", "not applicable", "wrong", "s")


def main() -> None:
    import_from_tests()
    from fuzzed import JUDGED

    parser = command_line(__doc__)
    parser.add_argument("--replies", type=int, default=10_000, help="over all evaluators (default 10,000)")
    parser.add_argument("--evaluators", nargs="+", default=JUDGED, choices=JUDGED)
    chosen = parser.parse_args()
    each = -(-chosen.replies // len(chosen.evaluators))
    rows = [_row(name, each) for name in chosen.evaluators]
    print_table(HEADER, rows)
    print(f"\n{machine()}")
    sys.exit(1 if any(row[-2] != "0" for row in rows) else 0)


def _row(evaluator: str, replies: int) -> tuple[str, ...]:
    from fuzzed import TWISTS, check, counted_replies

    became, wrong, began = Counter[str](), 0, time.monotonic()
    asked = 0
    while asked < replies and not wrong:

        @settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(TWISTS, min_size=1, max_size=6))
        def score_one(twists: list[tuple[str, object]]) -> None:
            nonlocal asked
            before = counted_replies()
            became.update(score.status for score in check(evaluator, twists))
            asked += counted_replies() - before

        try:
            score_one()
        except Exception:
            traceback.print_exc()
            wrong += 1
    statuses = (became["scored"], became["failed"], became["not_applicable"])
    return (evaluator, *map(str, (asked, *statuses, wrong)), f"{time.monotonic() - began:.0f}")


if __name__ == "__main__":
    started(main)
