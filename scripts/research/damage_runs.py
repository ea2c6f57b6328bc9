"""Is damage to files of the store ever used silently?

Two runs of the demo with the scripted model are made, then copies of their folder: results, index, corpus,
journals and caches. In each copy one file is damaged at random, with a seed: bits flipped, cut off, emptied,
removed, swapped with another of its kind, a line cut or doubled, a value of another type, a block of zeros. Then
everything is read through the store. In one of `--commands-every` copies, `show`, the reader of `report`, and
`evaluate` are used instead; in one of `--resume-every`, the run is first interrupted, and `run` resumes it.

It counts tracebacks, refusals (one line, exit 2) and silent changes: a number, an answer or a line of `show` that
differs or is missing, without a note. It lists tracebacks and silent changes. Seconds, CPU and RAM are not
compared.

Examples:

  .venv/bin/python scripts/research/damage_runs.py --folders 100
  nice -n 19 .venv/bin/python scripts/research/damage_runs.py --folders 2000 --seed 7 > damage.md
"""

import random
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from common import command_line, import_from_tests, print_table, started

import_from_tests()
from damaging import DAMAGES, Bench, Seen  # noqa: E402 - found by import_from_tests


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--folders", type=int, default=100, help="damaged copies (default 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first copy, to resume or to repeat one"
    )
    parser.add_argument(
        "--commands-every", type=int, default=5, help="one of this many copies is for the commands"
    )
    parser.add_argument("--resume-every", type=int, default=16, help="one of this many copies is resumed")
    options = parser.parse_args()
    found: list[Seen] = []
    with TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        bench = Bench(Path(folder) / "bench")
        for number in range(options.first, options.first + options.folders):
            draw = random.Random(f"{options.seed}/{number}")  # noqa: S311 - damage, no secret
            depth = "resume" if not number % options.resume_every else "read"
            seen = bench.damaged(number, draw, "commands" if not number % options.commands_every else depth)
            found.append(seen)
            for kind, lines in (("TRACEBACK", seen.tracebacks), ("SILENT", seen.silent)):
                for line in lines:
                    print(f"{kind} copy {number}, {seen.file}, {seen.damage}: {line}", flush=True)
            if not number % 100:
                print(f"{len(found):,} of {options.folders:,} copies", file=sys.stderr, flush=True)
    _print(found)


def _print(found: list[Seen]) -> None:
    counts = Counter(seen.damage for seen in found)
    rows = []
    for name in [*DAMAGES, "all"]:
        those = [seen for seen in found if name in (seen.damage, "all")]
        rows.append(
            [
                name,
                f"{counts.total() if name == 'all' else counts[name]:,}",
                *(f"{sum(bool(getattr(seen, kind)) for seen in those):,}" for kind in ("refusals", "tracebacks")),
                f"{sum(bool(seen.silent) for seen in those):,}",
            ]
        )
    print_table(["damage", "copies", "refused", "tracebacks", "silent changes"], rows)


if __name__ == "__main__":
    started(main)
