"""Does any config, answer file or data set file cause a traceback, a hang or gigabytes of memory?

Hypothesis makes thousands of configs (YAML texts and --set words: strange values, types and nesting at every key),
answer files and files of every data set, which are read in this process. Each must be accepted, or rejected in one
line with exit 2, within 20 seconds. No network is used. The table counts the outcomes; each failure is printed
once per place of origin. Exit 1 if anything failed.

Examples:

  .venv/bin/python scripts/research/fuzz_configs.py
  .venv/bin/python scripts/research/fuzz_configs.py --configs 500 --files 100
"""

import resource
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import command_line, import_from_tests, print_table, started
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

import_from_tests()


def tried(many: int, draw: int, strange: SearchStrategy[Any], wrong_with: Callable[[Any], str]) -> Counter[str]:
    """Failure (its last line; empty for success) -> how many."""
    endings: Counter[str] = Counter()

    @seed(draw)
    @settings(
        max_examples=many, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strange)
    def each(one: Any) -> None:
        if said := wrong_with(one):
            place = said.strip().splitlines()[-1][:200]
            if place not in endings:
                print(f"WRONG: {one!r:.1500}\n{said}", file=sys.stderr, flush=True)
            endings[place] += 1
        else:
            endings[""] += 1

    each()
    return endings


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--configs", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=1_000, help="answer files, and files of each data set")
    parser.add_argument("--seed", type=int, default=0, help="of another draw")
    options = parser.parse_args()
    import strange_files
    from strange import Strange, commands

    found: dict[str, Counter[str]] = {}
    with TemporaryDirectory() as folder:
        place = Strange(Path(folder))
        found["configs"] = tried(
            options.configs, options.seed, commands(), lambda one: place.wrong_with_command(*one)
        )
        for name, (files, wrong_with) in strange_files.kinds(Path(folder) / "files").items():
            found[name] = tried(options.files, options.seed, files, wrong_with)
    rows = [(name, f"{ends.total():,}", f"{ends.total() - ends['']:,}") for name, ends in found.items()]
    print_table(("what", "tried", "wrong"), rows)
    print(f"\npeak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    sys.exit(any(int(wrong.replace(",", "")) for _, _, wrong in rows))


if __name__ == "__main__":
    started(main)
