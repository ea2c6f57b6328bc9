"""How much of a provider's rate limit do calls use, how many are rejected, and is any lost?

A server over real HTTP (`harness.models.fake_server`) accepts 60 requests and 20,000 tokens per minute, as
providers do. The client of real runs calls it for several minutes, with the concurrency in the table; prompts
differ in length. The counts are from the server's own log: the share used is that of the limit (requests, tokens)
that was used more, from the second minute on, as is the share of rejected requests. A call is lost if it raised.

A rejecting server sends nothing, Retry-After, or also x-ratelimit-* headers with each reply. All rows are measured
concurrently. `--minute` shortens the minute; then delays of this machine weigh more.

Examples:
  .venv/bin/python scripts/research/check_limiter.py
  .venv/bin/python scripts/research/check_limiter.py --minute 6 --words 20 60
"""

from __future__ import annotations

import asyncio
import itertools
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from common import command_line, machine, print_table, started

from harness.config import GeneratorConfig
from harness.models.clients import build_chat
from harness.models.fake_model import FakeScript
from harness.models.fake_rate_limits import Arrival, FakeLimits
from harness.models.fake_server import FakeServer
from harness.models.metering import Meter, metered
from harness.models.transport import CallContext
from harness.protocols import ChatModel, Message
from harness.store import Journal

REQUESTS, TOKENS = 60, 20_000
SAYS = {
    "nothing": {"says_retry_after": False, "says_headers": False},
    "Retry-After": {"says_retry_after": True, "says_headers": False},
    "headers": {"says_retry_after": False, "says_headers": True},
    "both": {"says_retry_after": True, "says_headers": True},
}
HEADER = ("server", "says", "at once", "answered", "rejected", "allowance used", "rejected later", "lost")


class Setting(NamedTuple):
    """One row of the table."""

    kind: str
    says: str
    at_once: int


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--minute", type=float, default=60.0, help="seconds per minute (default 60)")
    parser.add_argument("--minutes", type=int, default=6, help="number of minutes (default 6)")
    parser.add_argument(
        "--words", type=int, nargs=2, default=(200, 800), help="lengths of prompts (default 200 800)"
    )
    parser.add_argument(
        "--at-once", type=int, nargs="+", default=(1, 8, 64), help="concurrent calls (default 1 8 64)"
    )
    parser.add_argument("--kinds", nargs="+", default=("sliding", "bucket"), choices=("sliding", "bucket"))
    parser.add_argument("--latency", type=float, default=0.1, help="seconds per answer (default 0.1)")
    chosen = parser.parse_args()
    settings = [Setting(*row) for row in itertools.product(chosen.kinds, SAYS, chosen.at_once)]
    with tempfile.TemporaryDirectory() as folder, patch("harness.models.rate_limit.MINUTE_S", chosen.minute):
        rows = asyncio.run(_measured(settings, chosen, Path(folder)))
    print_table(HEADER, rows)
    print(f"\n{chosen.minutes} minutes of {chosen.minute:g} s, {machine()}")


async def _measured(settings: list[Setting], chosen: Any, folder: Path) -> list[tuple[str, ...]]:
    tasks = [_row(setting, chosen, folder / f"{n}.sqlite") for n, setting in enumerate(settings)]
    return list(await asyncio.gather(*tasks))


async def _row(setting: Setting, chosen: Any, journal: Path) -> tuple[str, ...]:
    limits = FakeLimits(
        requests=REQUESTS, tokens=TOKENS, minute_s=chosen.minute, kind=setting.kind, **SAYS[setting.says]
    )
    script = FakeScript(reply="yes", latency_s=chosen.latency, limits=limits)
    with _serving(script) as server, closing(Journal(journal)) as kept:
        config = GeneratorConfig(
            provider="openai-compatible", model="m", base_url=server.base_url, max_concurrency=setting.at_once
        )
        chat = build_chat(config, CallContext(kept))
        assert chat is not None  # noqa: S101
        began = time.monotonic()
        until, lost = began + chosen.minutes * chosen.minute, list[str]()
        asking = [_ask(chat, n, chosen.words, until, lost) for n in range(setting.at_once)]
        await asyncio.wait([asyncio.create_task(work) for work in asking], timeout=until - time.monotonic())
        assert server.model.limit is not None  # noqa: S101
        return (
            *map(str, setting),
            *_counted(server.model.limit.seen, began, until, chosen.minute),
            str(len(lost)),
        )


async def _ask(chat: ChatModel, worker: int, words: tuple[int, int], until: float, lost: list[str]) -> None:
    draw = random.Random(worker)  # noqa: S311
    for n in itertools.count():
        text = f"{worker} {n} " + "word " * draw.randint(*words)
        if time.monotonic() >= until:
            return
        with metered(Meter(f"answer/{worker}-{n}/0/1")):
            try:
                await chat.complete([Message("user", text)])
            except Exception as error:
                lost.append(repr(error))


def _counted(seen: list[Arrival], began: float, until: float, minute_s: float) -> tuple[str, ...]:
    """answered, rejected; after the first minute: share used, share rejected."""
    passed = [one for one in seen if one.was_let_through]
    later = [one for one in seen if began + minute_s <= one.at_s < until]
    through = [one for one in later if one.was_let_through]
    minutes = (until - began) / minute_s - 1
    used = max(len(through) / REQUESTS, sum(one.tokens for one in through) / TOKENS) / minutes
    rejected = 1 - len(through) / max(1, len(later))
    return str(len(passed)), str(len(seen) - len(passed)), f"{100 * used:.1f} %", f"{100 * rejected:.1f} %"


@contextmanager
def _serving(script: FakeScript) -> Iterator[FakeServer]:
    with FakeServer(script) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield server
        server.shutdown()


if __name__ == "__main__":
    started(main)
