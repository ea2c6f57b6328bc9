"""Does any config, answer file or data set file end in a traceback, a hang or gigabytes?

Thousands of configs (YAML texts and --set words: strange values, types and nesting at every key), files of
answers and files of every data set are made by hypothesis and read in this process. Each must be taken, or refused
in one line with exit 2, within 20 seconds. Nothing is asked of a network. The table counts how they ended; what is
wrong is printed once for each place where it came from. Exit 1 where anything was wrong.

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
    """How they ended: the last line of what was wrong -> how many; an empty line for what was right."""
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
    parser.add_argument("--files", type=int, default=1_000, help="of answers, and of each data set")
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
