"""The fake model over real HTTP: `python -m harness.models.fake_server --port 8099 '{"latency_s": 0.1}'`.

GET /stats returns its counts. It serves any model name, on 127.0.0.1 only.
"""

import argparse
import json
import socket
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.models.fake_faults import Reply
from harness.models.fake_model import FakeModel, FakeScript


class FakeServer(ThreadingHTTPServer):
    """A threading HTTP server around one FakeModel; port 0 picks a free one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, script: FakeScript, port: int = 0, key: str | None = None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.model = FakeModel(script)
        self.key = key
        """If set, requests without `Authorization: Bearer <key>` are refused with 401."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError | ValueError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """Otherwise every answer waits 40 ms for the client's delayed acknowledgement."""
    server: FakeServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.server.key and self.headers.get("authorization") != f"Bearer {self.server.key}":
            error = {"error": {"message": "invalid key", "code": "invalid_api_key"}}
            self._reply(401, json.dumps(error).encode(), {})
            return
        reply = self.server.model.respond(self.path, body)
        if reply.wire:
            self._misbehave(reply)
        else:
            self._reply(reply.status, reply.body, reply.headers)

    def _misbehave(self, reply: Reply) -> None:
        self.close_connection = True
        if reply.wire == "bad_header":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nno header\x00at all\r\n\r\n")
            return
        self.send_response(reply.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(10**15 if reply.wire == "endless" else len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body[: len(reply.body) // 2])
        while reply.wire == "endless":
            self.wfile.write(b" " * 65_536)
        if reply.wire == "reset":
            # Without lingering, closing discards pending data and resets the connection.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def do_GET(self) -> None:
        found = {"/stats": self.server.model.served, "/health": {"status": "ok"}, "/v1/models": {"data": []}}
        payload = found.get(self.path)
        self._reply(200 if payload is not None else 404, json.dumps(payload or {}).encode(), {})

    def _reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """No logging: a log of requests could contain texts of the corpus."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", nargs="?", default="{}", help="a FakeScript as JSON")
    parser.add_argument("--port", type=int, default=8099)
    options = parser.parse_args()
    with FakeServer(FakeScript.model_validate_json(options.script), options.port) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
