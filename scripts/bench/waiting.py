"""How should the threads of the local model wait, and how many should there be?

llama.cpp's threads synchronise after every layer. A waiting thread may spin, which is fast if each thread has its
own core, but otherwise takes CPU time from other work on that core. Every way sends the same prompts to its own
server: on an idle machine, beside one busy process, and beside four. No prompts share a prefix, except those of
`shared prefix`, which differ only in the last line, so that the rest need not be processed again.

Seconds are the wall time of a request, medians; a ratio is relative to `default`, the engine's own choice. The
machine must be idle at the start; other load matters most with many busy processes.

Examples:
  .venv/bin/python scripts/bench/waiting.py
  .venv/bin/python scripts/bench/waiting.py --ways default passive --busy 0 1 --repeats 5
"""

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benching import command_line, machine, print_table, started
from local_requests import ANSWER_TOKENS, WORDS, Asked, ask, busy_beside, prompt_of

from harness.config import GeneratorConfig
from harness.models.llama_server import LocalServer, serve_local


@dataclass(frozen=True)
class Way:
    """How a server's threads wait, and their number."""

    environment: tuple[tuple[str, str], ...] = ()
    threads: int | None = None


WAYS = {
    "default": Way(),
    "passive": Way((("OMP_WAIT_POLICY", "PASSIVE"), ("GOMP_SPINCOUNT", "0"))),
    "spin 1,000": Way((("GOMP_SPINCOUNT", "1000"),)),
    "spin 3,000": Way((("GOMP_SPINCOUNT", "3000"),)),
    "spin 10,000": Way((("GOMP_SPINCOUNT", "10000"),)),
    "spin 100,000": Way((("GOMP_SPINCOUNT", "100000"),)),
    "one thread": Way(threads=1),
}


def main() -> None:
    """Every way with each number of busy processes, one row per way."""
    asked = _arguments()
    print(f"{asked.model}, {machine()}: seconds for {WORDS} words in and {ANSWER_TOKENS} tokens out\n")
    header = ["way", *(f"{count} busy" for count in asked.busy), "shared prefix", "tokens/s out"]
    print_table(header, (_row(name, asked) for name in asked.ways))


def _row(name: str, asked: argparse.Namespace) -> list[str]:
    config = GeneratorConfig(provider="local", model=asked.model, options=_options(WAYS[name]))
    with (
        _environment(WAYS[name]),
        tempfile.TemporaryDirectory() as folder,
        serve_local(config, Path(folder) / "server.log") as server,
    ):
        ask(server, prompt_of("warm"))
        cells = [_beside(server, count, asked.repeats) for count in asked.busy]
        shared = [ask(server, prompt_of("prefix", n)) for n in range(asked.repeats + 1)][1:]
    alone = cells[0]
    return [
        name,
        *(_seconds(times) for times in cells),
        _seconds(shared),
        f"{statistics.median(one.written_per_s for one in alone):.0f}",
    ]


def _beside(server: LocalServer, busy: int, repeats: int) -> list[Asked]:
    with busy_beside(busy):
        return [ask(server, prompt_of(f"{busy} busy {n}")) for n in range(repeats)]


@contextmanager
def _environment(way: Way) -> Iterator[None]:
    before = dict(os.environ)
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        os.environ.pop(name, None)
    os.environ.update(dict(way.environment))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _options(way: Way) -> dict[str, int]:
    return {} if way.threads is None else {"threads": way.threads}


def _seconds(asked: list[Asked]) -> str:
    return f"{statistics.median(one.seconds for one in asked):.2f}"


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--busy", nargs="+", type=int, default=[0, 1, 4], help="busy processes beside the server")
    parser.add_argument("--repeats", type=int, default=3, help="requests per way and number of busy processes")
    return parser.parse_args()


if __name__ == "__main__":
    started(main)
