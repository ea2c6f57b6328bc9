"""Requests of a script to a local server, and busy processes beside it."""

import json
import multiprocessing
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from harness.models.llama_server import LocalServer

ANSWER_TOKENS = 15
WORDS = 300
"""340 tokens including the chat template."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    seconds: float
    tokens: int
    """Prompt and completion tokens."""
    written_per_s: float
    """Completion tokens per second of generation."""


def ask(server: LocalServer, prompt: str, tokens: int = ANSWER_TOKENS) -> Asked:
    """Send directly to the server; every request generates the same number of tokens."""
    body = {
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": tokens,
        "temperature": 0,
        # The same number of tokens in every request, whatever the model generates.
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
    seconds = time.perf_counter() - begun
    return Asked(seconds, said["usage"]["total_tokens"], said["timings"]["predicted_per_second"])


def prompt_of(first: str, last: int = 0) -> str:
    """Prompts of one length; those with the same `first` differ only in their last line."""
    words = " ".join(f"word{(n * 7919) % 97}" if n % 4 == 0 else "and the other" for n in range(WORDS // 3))
    return f"{first}. {words}\nQuestion {last}: which words were named?"


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
