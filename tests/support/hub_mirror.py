"""A mirror of the Hugging Face hub on this machine, as far as its library uses it, with configurable faults."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from serving import QuietHandler, serving

_COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Mirror:
    """Files of any repository; settings apply from the next request."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    says: dict[str, str] = field(default_factory=dict)
    """Headers that replace the true ones."""
    status: dict[str, int] = field(default_factory=dict)
    """Method -> status returned instead of the file."""
    cuts: list[int] = field(default_factory=list)
    """Number of bytes after which the next replies break off, in order."""
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    """Method, file, first byte of each request."""

    def downloads(self) -> list[int]:
        """The first byte of each download."""
        return [start for method, name, start in self.asked if method == "GET" and name in self.files]

    def env(self, hf_home: Path) -> dict[str, str]:
        """The environment of a process whose hub is this mirror."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGINGFACE_"))}
        return {
            **kept,
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(hf_home),
            "HF_HUB_DISABLE_XET": "1",
            "NO_PROXY": "127.0.0.1",
        }


@contextmanager
def serve_mirror(files: dict[str, bytes]) -> Iterator[Mirror]:
    """A mirror with these files."""
    mirror = Mirror(files=files)

    class Handler(_Handler):
        served = mirror

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        mirror.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield mirror


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    served: Mirror

    def do_HEAD(self) -> None:
        self._reply()

    def do_GET(self) -> None:
        self._reply()

    def _reply(self) -> None:
        mirror = self.served
        name = self.path.rpartition("/")[2]
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(wanted[1]) if wanted else 0
        mirror.asked.append((self.command, name, start))
        if name not in mirror.files or self.command in mirror.status:
            self.send_response(mirror.status.get(self.command, 404))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = mirror.files[name]
        headers = {
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "X-Repo-Commit": _COMMIT,
            "Content-Length": str(len(content) - start),
            "Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}",
            "Accept-Ranges": "bytes",
        }
        self.send_response(206 if wanted else 200)
        for key, value in {**headers, **mirror.says}.items():
            if key != "Content-Range" or wanted:
                self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            end = start + mirror.cuts.pop(0) if mirror.cuts else len(content)
            self.wfile.write(content[start:end])
            # HTTP/1.0: the connection ends here, too early for the client if the reply was cut.
