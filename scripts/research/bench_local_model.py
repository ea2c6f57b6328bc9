"""How should the threads of the local model wait, and how many should there be?

llama.cpp's threads meet after every layer. While one waits it may spin, which is quick where each thread has a
core of its own, and burns the time of whoever works on that core where it has not. Every way asks the same prompts
of a server of its own: with nothing beside it, beside one busy process, and beside four. No prompt begins as
another does, but those of `shared prefix`, which share all but their last line: what need not be read again.

Seconds are the wall of a request, medians; a ratio is against `default`, what the engine does unasked. The machine
must be idle at the start; what else runs weighs most where many processes are busy.

Examples:
  .venv/bin/python scripts/research/bench_local_model.py
  .venv/bin/python scripts/research/bench_local_model.py --ways default passive --busy 0 1 --repeats 5
"""

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from common import command_line, machine, print_table, started

from harness.config import GeneratorConfig
from harness.models.local_server import LocalServer, serve_local

ANSWER_TOKENS = 15
WORDS = 300
"""340 tokens with the chat's own words around them."""


@dataclass(frozen=True)
class Way:
    """How a server's threads wait, and how many it has."""

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
    """Every way in every company, one row for each way."""
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
        _ask(server, _prompt("warm"))
        cells = [_beside(server, count, asked.repeats) for count in asked.busy]
        shared = [_ask(server, _prompt("prefix", n)) for n in range(asked.repeats + 1)][1:]
    alone = cells[0]
    return [
        name,
        *(_seconds(times) for times in cells),
        _seconds(shared),
        f"{statistics.median(one.tokens_per_s for one in alone):.0f}",
    ]


@dataclass(frozen=True)
class Asked:
    """One request."""

    seconds: float
    tokens_per_s: float


def _beside(server: LocalServer, busy: int, repeats: int) -> list[Asked]:
    with _busy(busy):
        return [_ask(server, _prompt(f"{busy} busy {n}")) for n in range(repeats)]


def _ask(server: LocalServer, prompt: str) -> Asked:
    body = {
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": ANSWER_TOKENS,
        "temperature": 0,
        # As many tokens in every request, whatever the model would say.
        "ignore_eos": True,
    }
    request = urllib.request.Request(  # noqa: S310 - the loopback
        f"{server.base_url}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {server.access.api_key}"},
    )
    begun = time.perf_counter()
    with urllib.request.urlopen(request, timeout=900) as reply:  # noqa: S310
        said = json.load(reply)
    return Asked(time.perf_counter() - begun, said["timings"]["predicted_per_second"])


def _prompt(first: str, last: int = 0) -> str:
    words = " ".join(f"word{(n * 7919) % 97}" if n % 4 == 0 else "and the other" for n in range(WORDS // 3))
    return f"{first}. {words}\nQuestion {last}: which words were named?"


@contextmanager
def _busy(count: int) -> Iterator[None]:
    processes = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _spin() -> None:
    while True:
        sum(range(100_000))


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
    parser.add_argument("--repeats", type=int, default=3, help="requests in each company")
    return parser.parse_args()


if __name__ == "__main__":
    started(main)
