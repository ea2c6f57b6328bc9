"""How much of a provider's allowance do calls use, how many of them are rejected, and is any lost?

A server over real HTTP (`harness.models.fake_server`) lets 60 requests and 20,000 tokens through in any minute,
as providers do. The seam that every run calls models through asks it for several minutes, with as many calls at
once as the table says; prompts differ in length. The server's own log is what is counted: the share of the
allowance is that of the kind (requests, tokens) of which more was used, from the second minute on, as is the share
of requests that were rejected. A call is lost where it raised.

What the server says when it rejects: nothing, Retry-After, or x-ratelimit-* headers with each answer besides. All
rows are measured at once, and with `--minute` a minute may be shorter: then delays of this machine weigh more.

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
from harness.models.transport import Seam
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
    parser.add_argument("--minute", type=float, default=60.0, help="seconds of a minute (default 60)")
    parser.add_argument("--minutes", type=int, default=6, help="how many of them (default 6)")
    parser.add_argument("--words", type=int, nargs=2, default=(200, 800), help="of a prompt (default 200 800)")
    parser.add_argument("--at-once", type=int, nargs="+", default=(1, 8, 64), help="calls (default 1 8 64)")
    parser.add_argument("--kinds", nargs="+", default=("sliding", "bucket"), choices=("sliding", "bucket"))
    parser.add_argument("--latency", type=float, default=0.1, help="seconds of an answer (default 0.1)")
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
        chat = build_chat(config, Seam(kept))
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
