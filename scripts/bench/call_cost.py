"""How much CPU time of a model call does each part of the harness take?

The same calls, 64 at once, over HTTP to a server that answers immediately, by layers: HTTP alone, openai's client
on top (the client's minimum), and as a run makes them: with journal, meter, limiter, budget and retries. The cost
of a layer is its difference to the one below. Parts of the harness are also measured separately; the remainder of
their layer is `rest`. For comparison, openai's own `chat.completions.create`, which the harness does not use.

Layers are measured in turn, for several rounds; medians, with minimum and maximum. CPU time is of this process
only, so a busy machine increases it only through shared caches.

Examples:
  .venv/bin/python scripts/bench/call_cost.py
  .venv/bin/python scripts/bench/call_cost.py --rounds 15
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
from benching import counted
from common import command_line, machine, print_table
from many_calls import messages, question
from model_server import serving

from harness.config import GeneratorConfig
from harness.core.hashing import digest
from harness.core.records import Cost, Prediction, RunRecord, Usage
from harness.models.budget import Budget, Call
from harness.models.clients import OpenAIChat, chat_request, open_client
from harness.models.connection_pool import ConnectionPool
from harness.models.metering import Meter, metered
from harness.models.providers import resolve_generator
from harness.models.rate_limits import AdaptiveLimiter
from harness.models.reply_parsing import read_usage
from harness.models.transport import CallContext
from harness.store import CallKey, Journal, StoredCall
from harness.store.record_lines import RecordLines

HEADER = ("", "what", "ms a call", "least to most")
_CALLS_OF_A_QUERY = 8
Ask = Callable[[int], Awaitable[Any]]


def main() -> None:
    asked = _arguments()
    print(f"{machine()}\n")
    with TemporaryDirectory(prefix="bench-calls-") as folder:
        with serving(0.0) as url:
            layers = asyncio.run(layered(url, Path(folder), asked))
        parts = asyncio.run(measured_parts(Path(folder), asked))
    print_table(HEADER, table(layers, parts), words=2)


async def layered(url: str, folder: Path, asked: argparse.Namespace) -> dict[str, list[float]]:
    """Layer -> milliseconds per call, round by round."""
    from openai import AsyncOpenAI

    config = resolve_generator(
        GeneratorConfig(provider="openai-compatible", base_url=url, model="fake", max_concurrency=asked.at_once)
    )
    http, numbers = ConnectionPool(), count()
    plain = AsyncOpenAI(
        api_key="none", base_url=url, max_retries=0, http_client=httpx2.AsyncClient(transport=http)
    )

    async def over_http(number: int) -> None:
        content = json.dumps(body(config, number)).encode()
        request = httpx2.Request("POST", f"{url}/chat/completions", content=content)
        response = await http.handle_async_request(request)
        json.loads(await response.aread())
        await response.aclose()

    async def by_the_client(number: int) -> None:
        options: Any = {"security": {"bearer_auth": True}}
        await plain.post("/chat/completions", body=body(config, number), cast_to=object, options=options)

    async def by_create(number: int) -> None:
        await plain.chat.completions.create(**body(config, number))

    with closing(Journal(folder / "layers.sqlite", payer="bench")) as journal:
        chat = OpenAIChat(config, open_client(config, CallContext(journal)))

        async def by_the_harness(number: int) -> None:
            with metered(Meter(f"answer/{next(numbers)}/0/1")):
                await chat.complete(messages(question(number), 0))

        asks: dict[str, Ask] = {
            "http": over_http,
            "client": by_the_client,
            "harness": by_the_harness,
            "create": by_create,
        }
        # The first round opens connections and loads modules.
        found = await rounds_of(asks, asked.rounds + 1, asked.calls, asked.at_once)
        await chat.close()
        await plain.close()
    return {name: took[1:] for name, took in found.items()}


async def rounds_of(asks: Mapping[str, Ask], rounds: int, calls: int, at_once: int) -> dict[str, list[float]]:
    """CPU milliseconds per call, round by round."""
    found: dict[str, list[float]] = {name: [] for name in asks}
    for _ in range(rounds):
        for name, ask in asks.items():
            found[name].append(await side_by_side(ask, calls, at_once))
    return found


async def side_by_side(ask: Ask, calls: int, at_once: int) -> float:
    """CPU milliseconds per call."""
    numbers = iter(range(calls))

    async def some() -> None:
        for number in numbers:
            await ask(number)

    began = time.process_time()
    await asyncio.gather(*(some() for _ in range(at_once)))
    return 1000 * (time.process_time() - began) / calls


async def measured_parts(folder: Path, asked: argparse.Namespace) -> dict[str, list[float]]:
    """Part of the harness -> milliseconds per call, round by round; each does its work for one call."""
    config = resolve_generator(GeneratorConfig(provider="fake"))
    request = json.dumps(body(config, 0)).encode()
    reply = json.dumps({"choices": [{"message": {"content": "Marta"}}], "usage": {"prompt_tokens": 400}}).encode()
    usage, numbers = read_usage(reply), count()
    lines = RecordLines(folder / "records.jsonl", lambda: "run")
    with closing(Journal(folder / "parts.sqlite", payer="bench")) as journal:
        budget, limiter = Budget(), AdaptiveLimiter(64)

        async def keeps(_number: int) -> None:
            key = CallKey(f"answer/{next(numbers)}/0/1", "generator", "0" * 64, 0)
            journal.find(key)
            journal.add(key, StoredCall("fake", request, reply, usage, 0.05, "2026-01-01T00:00:00+00:00"))

        async def identifies(_number: int) -> None:
            digest(["completions", json.loads(request)])

        async def meters(_number: int) -> None:
            meter = Meter("answer/q/0/1")
            meter.next_occurrence("generator", "0")
            with meter.call():
                pass
            meter.add_call("generator", usage)

        async def admits(_number: int) -> None:
            call = Call("generator", "completions", {}, len(request))
            meter = Meter("answer/q/0/1")
            with budget.hold(call, journal) as hold, meter.call() as under_way:
                async with limiter.slot(under_way, len(request)):
                    await hold.take()
                    limiter.succeeded(0.0, len(request), 400)
                hold.paid(usage)

        async def records(_number: int) -> None:
            if not next(numbers) % _CALLS_OF_A_QUERY:
                lines.append([_record(usage)])

        asks: dict[str, Ask] = {
            "journal: looked up, added": keeps,
            "digest of the request": identifies,
            "meter": meters,
            "limiter and budget": admits,
            "record, an eighth, on the disk": records,
        }
        return await rounds_of(asks, asked.rounds, asked.calls, 1)


def _record(usage: Usage) -> RunRecord:
    about: dict[str, Any] = {"query_id": "q-0001", "repeat": 0, "status": "ok", "attempt": 1}
    cost = Cost(wall_s=0.4, usage={"generator": usage})
    return RunRecord(
        **about, prediction=Prediction(answer="Marta"), cost=cost, started_at="2026-01-01T00:00:00+00:00"
    )


def body(config: GeneratorConfig, number: int) -> dict[str, Any]:
    """The body of a request."""
    return chat_request(config, messages(question(number), 0))


def table(layers: dict[str, list[float]], parts: dict[str, list[float]]) -> Iterator[list[str]]:
    """Layers as differences, then the parts of the harness."""
    http, client, harness = layers["http"], layers["client"], layers["harness"]
    yield _row("HTTP", "the request, by httpx2 over kept connections", http)
    yield _row("client", "openai's, on top of that", _less(client, http))
    yield _row("harness", "on top of both", own := _less(harness, client))
    # A record is not part of a call: it is written when its query is done.
    within = [rounds for name, rounds in parts.items() if not name.startswith("record")]
    for name, rounds in parts.items():
        yield _row("", name, rounds)
    yield _row("", "rest: replies read and checked, responses made, retries", _less(own, *within))
    yield _row("sum", "a call of a run", harness)
    yield _row("beside", "openai's `chat.completions.create`, HTTP included, no journal", layers["create"])


def _less(whole: Sequence[float], *parts: Sequence[float]) -> list[float]:
    """Differences, round by round."""
    return [one - sum(others) for one, *others in zip(whole, *parts, strict=True)]


def _row(layer: str, what: str, rounds: Sequence[float]) -> list[str]:
    return [layer, what, f"{median(rounds):.3f}", f"{min(rounds):.3f} to {max(rounds):.3f}"]


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--calls", type=counted, default=320, help="calls per layer and round")
    parser.add_argument("--rounds", type=counted, default=5)
    parser.add_argument("--at-once", type=counted, default=64)
    return parser.parse_args()


if __name__ == "__main__":
    main()
