"""A server of OpenAI's protocol that puts every received key into all parts of its replies."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any
from urllib.parse import quote, quote_plus

from serving import serving

WAYS = {
    "answer": "in an answer",
    "refused": "in a body of JSON and in the reason of its status, HTTP 400",
    "unauthorised": "likewise, HTTP 401",
    "missing": "likewise, HTTP 404",
    "quota": "likewise, HTTP 429, where no money is left",
    "text": "in a body that is no JSON, HTTP 200",
    "status line": "in a status line that cannot be read",
    "header": "in a header that cannot be read",
    "chunk": "in place of the length of a chunk",
}
"""Where a reply contains the keys."""
_STATUS = {"answer": 200, "refused": 400, "unauthorised": 401, "missing": 404, "quota": 429, "text": 200}


def written_forms(key: str) -> list[str]:
    """The key as a server may write it: plain, in a URL, in JSON, by basic authentication."""
    basic = base64.b64encode(f"rag:{key}".encode()).decode()
    return [key, quote(key, safe=""), quote_plus(key).lower(), json.dumps(key)[1:-1], basic, key.upper()]


def files_with_keys(folder: Path, keys: list[str]) -> list[str]:
    """Every file below the folder that holds a key in any form."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if keys_in(path.read_bytes(), keys)]


def keys_in(content: bytes, keys: list[str]) -> list[str]:
    """The keys whose middle occurs in any form; in base64 the ends depend on the neighbouring bytes."""
    lower = content.lower()
    forms = {key: [form.lower().encode()[8:-4] for form in written_forms(key)] for key in keys}
    return [key for key, written in forms.items() if any(form in lower for form in written)]


class EchoingServer(ThreadingTCPServer):
    """Serves on a free port of 127.0.0.1; `way` is one of `WAYS`."""

    daemon_threads = allow_reuse_address = True

    def __init__(self, way: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.way = way
        self.embeds = False
        """Always answer embedding requests, so that later requests are reached."""
        self.heard: list[str] = []
        """Every received key, in order."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(StreamRequestHandler):
    server: EchoingServer

    def handle(self) -> None:
        lines = []
        while (line := self.rfile.readline()).strip():
            lines.append(line)
        head = b"".join(lines)
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if length is None:
            # A request that only checks whether the server answers.
            return
        body = json.loads(self.rfile.read(int(length[1])))
        key = re.search(rb"authorization: bearer ([^\r\n]*)", head, re.IGNORECASE)
        if key and key[1].decode() not in self.server.heard:
            self.server.heard.append(key[1].decode())
        self.wfile.write(self._reply("input" in body, body))

    def _reply(self, is_embedding: bool, body: dict[str, Any]) -> bytes:
        way = "answer" if is_embedding and self.server.embeds else self.server.way
        said = " ".join(form for key in self.server.heard for form in written_forms(key))
        if way == "status line":
            return f"HTTP/1.1 {said}\r\n\r\n".encode()
        if way == "header":
            return f"HTTP/1.1 200 OK\r\n{said}\r\n\r\n".encode()
        if way == "chunk":
            return f"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{said}\r\n\r\n".encode()
        content: object = {"error": {"message": said, "code": "insufficient_quota" if way == "quota" else said}}
        if way == "answer":
            content = _embeddings(body) if is_embedding else _chat(said)
        payload = said.encode() if way == "text" else json.dumps({"said": said, **dict(content)}).encode()  # type: ignore[call-overload]
        status = f"HTTP/1.1 {_STATUS[way]} {said}".encode()
        length = f"content-length: {len(payload)}\r\nconnection: close\r\nx-echo: {said}\r\n".encode()
        return status + b"\r\n" + length + b"\r\n" + payload


def _chat(said: str) -> dict[str, object]:
    usage = {"prompt_tokens": 5, "completion_tokens": 5}
    return {"choices": [{"message": {"role": "assistant", "content": said}}], "usage": usage}


def _embeddings(body: dict[str, Any]) -> dict[str, object]:
    rows = [{"index": at, "embedding": [1.0, len(text) % 7]} for at, text in enumerate(body["input"])]
    return {"data": rows, "usage": {"prompt_tokens": 5, "total_tokens": 5}}


def serve_echoes(way: str = "answer") -> Iterator[EchoingServer]:
    """A running server, for a fixture."""
    with serving(EchoingServer(way)) as server:
        yield server
