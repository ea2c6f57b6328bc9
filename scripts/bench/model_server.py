"""A model server that is faster than its clients: one event loop per process, no thread per connection.

`harness.models.fake_server` has a thread for each connection, which keeps its faults simple; here the server must
not be the bottleneck. It implements only the HTTP that clients of OpenAI's protocol need, on 127.0.0.1 only.

Examples:
  .venv/bin/python scripts/bench/model_server.py --latency-s 0.05 < /dev/tty
"""

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar

from harness.models.fake_model import FakeModel, FakeScript, example_of

Respond = Callable[[str, bytes], bytes]
"""respond(path, body of a request) -> body of the reply, as JSON."""
_LENGTH = b"content-length:"
_EMBEDS = FakeModel(FakeScript())
_IN_PROMPT = "specified in JSON Schema:\n"


def _completion(text: str, tokens: int) -> bytes:
    usage = {"prompt_tokens": 400, "completion_tokens": tokens, "total_tokens": 400 + tokens}
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    about = {"id": "fake", "object": "chat.completion", "created": 0, "model": "fake"}
    return json.dumps({**about, "choices": choices, "usage": usage}).encode()


_ONE_WORD = _completion("Marta", 1)


def judged(path: str, body: bytes) -> bytes:
    """For JSON, a value that the schema allows, with verdicts 0 or 1; else a rating of 1. The harness sends the
    schema beside the prompt, ragas writes it into the prompt.
    """
    if path.endswith("/embeddings"):
        return _EMBEDS.respond(path, body).body
    request = json.loads(body)
    prompt = "\n".join(str(one["content"]) for one in request["messages"])
    schema = _schema_of(request, prompt)
    text = "1" if schema is None else json.dumps(example_of(_with_verdicts(schema), prompt))
    return _completion(text, 20)


def _schema_of(request: dict[str, Any], prompt: str) -> Any:
    if wanted := request.get("response_format"):
        return wanted["json_schema"]["schema"]
    _, _, behind = prompt.partition(_IN_PROMPT)
    return json.JSONDecoder().raw_decode(behind)[0] if behind else None


def _with_verdicts(schema: Any) -> Any:
    """Restrict every unbounded number to a verdict, 0 or 1."""
    if isinstance(schema, list):
        return [_with_verdicts(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    held = {key: _with_verdicts(value) for key, value in schema.items()}
    if schema.get("type") == "integer" and not {"enum", "minimum", "maximum"} & schema.keys():
        held["enum"] = [0, 1]
    return held


SAYS: dict[str, Respond] = {"one-word": lambda _path, _body: _ONE_WORD, "judge": judged}


@contextmanager
def serving(latency_s: float, says: str = "one-word", processes: int = 1) -> Iterator[str]:
    """The base URL of a server with separate processes that share a port; they end with the block."""
    with ExitStack() as stack:
        port = "0"
        for _ in range(processes):
            options = ["--latency-s", str(latency_s), "--says", says, "--port", port]
            server = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, __file__, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            assert server.stdout  # noqa: S101 - a pipe was asked for
            port = server.stdout.readline().strip()
        yield f"http://127.0.0.1:{port}/v1"


def served(url: str) -> int:
    """Calls that a server with one process has answered."""
    with urllib.request.urlopen(f"{url}/stats", timeout=10) as reply:  # noqa: S310 - our own server
        return sum(json.loads(reply.read()).values())


async def ceiling(url: str, connections: int, seconds: float = 1.0) -> float:
    """Calls per second that the server answers if requests are not composed and replies not parsed."""
    host, port = url.split("/")[2].split(":")
    body = json.dumps({"messages": [{"role": "user", "content": "x" * 2000}]}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    until, answered = asyncio.get_running_loop().time() + seconds, 0

    async def ask() -> None:
        nonlocal answered
        reader, writer = await asyncio.open_connection(host, int(port))
        while asyncio.get_running_loop().time() < until:
            writer.write(head + body)
            await reader.readuntil(_ONE_WORD[-20:])
            answered += 1
        writer.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    return answered / seconds


class _Connection(asyncio.Protocol):
    """One request after the other, each answered after the latency."""

    answered: ClassVar[Counter[str]] = Counter()
    """Calls by path, in this process."""

    def __init__(self, latency_s: float, respond: Respond) -> None:
        self._latency_s, self._respond = latency_s, respond
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is a server of streams
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, end, rest = self._read.partition(b"\r\n\r\n")
        if not end:
            return
        _, _, told = head.lower().partition(_LENGTH)
        length = int(told.split(b"\r\n", 1)[0]) if told else 0
        if len(rest) < length:
            return
        self._read, path = rest[length:], head.split(b" ", 2)[1].decode()
        if self._latency_s:
            asyncio.get_running_loop().call_later(self._latency_s, self._reply, path, rest[:length])
        else:
            self._reply(path, rest[:length])

    def _reply(self, path: str, body: bytes) -> None:
        content = self._respond(path, body) if body else json.dumps(self.answered).encode()
        self.answered[path] += bool(body)
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        self._transport.write(head.encode() + content)


async def _serve(latency_s: float, respond: Respond, port: int) -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(("127.0.0.1", port))
        server = await loop.create_server(
            lambda: _Connection(latency_s, respond), sock=listening, backlog=1024, start_serving=True
        )
        print(listening.getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)
        server.close()


def main() -> None:
    """Print the port, then serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency-s", type=float, default=0.05, help="latency of each answer (default 0.05)")
    parser.add_argument("--says", choices=SAYS, default="one-word", help="kind of answers (default one-word)")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    asked = parser.parse_args()
    asyncio.run(_serve(asked.latency_s, SAYS[asked.says], asked.port))


if __name__ == "__main__":
    main()
