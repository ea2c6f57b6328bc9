"""What does the harness cost on top of the bare engine?

The same kind of request, in turn, directly to the local server and through the whole path of a run's call (client,
rate limits and budget, journal, meter), on an idle machine, then beside one busy process. Tokens per second are
prompt tokens over the wall time of a request whose answer is one token, which shows overhead most. No two prompts
share a prefix, both ways use one server, and each goes first every other time.

The machine must be idle at the start.

Examples:
  .venv/bin/python scripts/bench/local_model.py
  .venv/bin/python scripts/bench/local_model.py --model qwen2.5-coder-1.5b --repeats 3 --busy 0
"""

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import benching  # noqa: F401 - makes `common` importable
from common import command_line, machine, print_table, started

from harness.config import GeneratorConfig
from harness.core.errors import ConfigError
from harness.models.clients import OpenAIChat, build_chat
from harness.models.llama_server import LocalServer, serve_local
from harness.models.metering import Meter, metered
from harness.models.transport import CallContext
from harness.protocols import Message
from harness.store import Journal

WORDS = 300
"""340 tokens including the chat template."""


def main() -> None:
    """Both ways with each number of busy processes."""
    asked = _arguments()
    print(machine())
    config = GeneratorConfig(provider="local", model=asked.model, temperature=0, max_tokens=1)
    print(f"\n{asked.model}, medians of {asked.repeats}\n")
    header = ("beside it", "bare tokens/s", "harness tokens/s", "share of the bare engine", "lowest", "highest")
    print_table(header, _rows(config, asked.busy, asked.repeats))


# Requests, and busy processes beside the server


def ask(server: LocalServer, prompt: str) -> float:
    """Prompt and completion tokens per second of a request directly to the server, for an answer of one token."""
    messages = [{"role": "user", "content": prompt}]
    body = {"messages": messages, "max_tokens": 1, "temperature": 0, "ignore_eos": True}
    request = urllib.request.Request(  # noqa: S310 - the loopback
        f"{server.base_url}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {server.access.api_key}"},
    )
    begun = time.perf_counter()
    with urllib.request.urlopen(request, timeout=900) as reply:  # noqa: S310
        said = json.load(reply)
    return float(said["usage"]["total_tokens"] / (time.perf_counter() - begun))


def prompt_of(first: str) -> str:
    """Prompts of one length without a common prefix."""
    words = " ".join(f"word{(n * 7919) % 97}" if n % 4 == 0 else "and the other" for n in range(WORDS // 3))
    return f"{first}. {words}\nQuestion: which words were named?"


@contextmanager
def busy_beside(count: int) -> Iterator[None]:
    """Run so many processes that each keep a core busy."""
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


# The harness beside the bare engine


def _rows(config: GeneratorConfig, busy: Sequence[int], repeats: int) -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as folder, serve_local(config, Path(folder) / "server.log") as server:
        _pair(config, server, "warm", Path(folder), flipped=False)  # The first call loads the client library.
        for count in busy:
            with busy_beside(count):
                pairs = [
                    _pair(config, server, f"{count} {n}", Path(folder), flipped=n % 2 == 1) for n in range(repeats)
                ]
            shares = [harness / bare for bare, harness in pairs]
            bare, ours = (statistics.median(each) for each in zip(*pairs, strict=True))
            share, low, high = statistics.median(shares), min(shares), max(shares)
            yield f"{count} busy", f"{bare:.1f}", f"{ours:.1f}", f"{share:.3f}", f"{low:.3f}", f"{high:.3f}"


def _pair(
    config: GeneratorConfig, server: LocalServer, name: str, folder: Path, *, flipped: bool
) -> tuple[float, float]:
    """Tokens per second, bare and through the harness."""
    with _opened(config, server, folder) as chat:
        ways = {
            "bare": lambda: ask(server, prompt_of(f"bare {name}")),
            "ours": lambda: _through(chat, f"ours {name}"),
        }
        found = {way: ways[way]() for way in sorted(ways, reverse=flipped)}
    return found["bare"], found["ours"]


@contextmanager
def _opened(config: GeneratorConfig, server: LocalServer, folder: Path) -> Iterator[OpenAIChat]:
    with closing(Journal(folder / "calls.sqlite", payer="bench")) as journal:
        chat = build_chat(config, CallContext(journal), server.access)
        if chat is None:
            raise ConfigError("no model was named", "name one: --model qwen2.5-coder-0.5b")
        yield chat


def _through(chat: OpenAIChat, name: str) -> float:
    meter, began = Meter("bench"), time.perf_counter()
    with metered(meter):
        asyncio.run(chat.complete([Message("user", prompt_of(name))]))
    seconds, usage = time.perf_counter() - began, meter.usage["generator"]
    return (usage.input_tokens + usage.output_tokens) / seconds


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument(
        "--repeats", type=int, default=6, help="requests per way and number of busy processes (default 6)"
    )
    parser.add_argument("--busy", nargs="+", type=int, default=[0, 1], help="busy processes beside the server")
    return parser.parse_args()


if __name__ == "__main__":
    started(main)
