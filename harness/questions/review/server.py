"""The page of a review, for this machine alone: every request names the token that only its address holds.

A page of the web that guesses the port gets nothing: it knows no token, a name that resolves to 127.0.0.1 is no
host of ours, and what writes is JSON with a header that a form cannot send.
"""

import base64
import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import JsonValue, ValidationError

from harness.errors import ConfigError, HarnessError
from harness.questions.review.checking import Edit, evidence_of, verdicts
from harness.questions.review.decisions import PersonsVerdict, Review, ReviewedRow
from harness.records import Record
from harness.store.files import first_error

_ASSETS = Path(__file__).parent / "assets"
_LONGEST_BODY = 1 << 20
_AROUND = 400
"""Characters of a document that are shown on each side of a quote."""
_TOKEN_HEADER = "X-Review-Token"  # noqa: S105 - the name of a header


class Asked(Record):
    """What the page sends."""

    id: str
    verdict: PersonsVerdict
    edit: Edit | None = None


class ReviewServer(ThreadingHTTPServer):
    """Serves one review on 127.0.0.1; port 0 picks a free one."""

    daemon_threads = True

    def __init__(self, review: Review, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.review = review
        self.token = secrets.token_urlsafe(24)
        self.turn = threading.Lock()
        """One decision at a time."""
        self.page, self.policy = _page()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """What opens it."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"


def open_server(review: Review, port: int = 0) -> ReviewServer:
    """The page, not yet served. ConfigError: the port is taken."""
    try:
        return ReviewServer(review, port)
    except OSError as error:
        raise ConfigError(
            f"port {port} cannot be used ({error.strerror})", "leave --port out for a free one"
        ) from error


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ReviewServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        given = (
            parse_qs(url.query).get("token", [""])[0] if url.path == "/" else self.headers.get(_TOKEN_HEADER, "")
        )
        if not self._is_ours(given):
            self._say(403, {"error": "open the address that the command printed"})
        elif url.path == "/":
            self._send(200, "text/html; charset=utf-8", self.server.page)
        elif url.path == "/rows":
            with self.server.turn:
                self._say(200, [_shown(one) for one in self.server.review.rows])
        elif url.path == "/row":
            self._say_row(parse_qs(url.query).get("id", [""])[0])
        else:
            self._say(404, {"error": "there is no such page"})

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        body = self.rfile.read(int(length)) if length.isdecimal() and int(length) <= _LONGEST_BODY else None
        if body is None:
            self.close_connection = True
            self._say(413, {"error": "too long"})
        elif not self._is_ours(self.headers.get(_TOKEN_HEADER, "")) or not self._is_json():
            self._say(403, {"error": "open the address that the command printed"})
        elif urlsplit(self.path).path == "/decide":
            self._decide(body)
        elif urlsplit(self.path).path == "/done":
            self._say(200, {})
            threading.Thread(target=self.server.shutdown, daemon=True).start()
        else:
            self._say(404, {"error": "there is no such page"})

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the address holds the token."""

    def _is_ours(self, token: str) -> bool:
        hosts = {f"127.0.0.1:{self.server.port}", f"localhost:{self.server.port}"}
        host, origin = self.headers.get("host", ""), self.headers.get("origin")
        known = host in hosts and (origin is None or origin in {f"http://{one}" for one in hosts})
        return known and hmac.compare_digest(token.encode(), self.server.token.encode())

    def _is_json(self) -> bool:
        return self.headers.get_content_type() == "application/json"

    def _say_row(self, row_id: str) -> None:
        try:
            with self.server.turn:
                self._say(200, _whole(self.server.review, row_id))
        except HarnessError as error:
            self._say(404, {"error": str(error)})

    def _decide(self, body: bytes) -> None:
        try:
            asked = Asked.model_validate_json(body)
            with self.server.turn:
                self.server.review.decide(asked.id, asked.verdict, asked.edit)
                self._say(200, _whole(self.server.review, asked.id))
        except ValidationError as error:
            self._say(400, {"error": first_error(error)})
        except HarnessError as error:
            self._say(400, {"error": str(error)})

    def _say(self, status: int, value: JsonValue | list[dict[str, Any]] | Mapping[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": self.server.policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _page() -> tuple[bytes, str]:
    """The page, with its style and script in it, and the policy that allows these two and nothing else."""
    style, script = ((_ASSETS / name).read_text("utf-8") for name in ("review.css", "review.js"))
    page = (_ASSETS / "review.html").read_text("utf-8").replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page.encode(), policy


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _shown(one: ReviewedRow) -> dict[str, Any]:
    """What the list needs of a row."""
    return {
        "id": one.row_id,
        "question": one.row.get("question", ""),
        "type": one.row.get("type", ""),
        "state": "rejected" if one.is_rejected else "seen" if one.is_seen else "new",
    }


def _whole(review: Review, row_id: str) -> dict[str, Any]:
    """What the page shows of one."""
    one = review.find(row_id)
    quotes = [_quote(review, item.doc_id, item.fact) for item in evidence_of(one.row)]
    row = {name: one.row.get(name) for name in ("question", "answers", "type", "made_by", "seen_by", "checks")}
    warnings = [
        f"{check.name}: {check.note}" for check in verdicts(one.row, review.documents) if check.passed is False
    ]
    return {**_shown(one), **row, "quotes": quotes, "edited": one.is_edited, "warnings": warnings}


def _quote(review: Review, doc_id: str, quote: str) -> dict[str, str]:
    """With what stands around it in its document."""
    document = review.documents.get(doc_id)
    at = document.text.find(quote) if document and quote else -1
    if document is None or at < 0:
        return {
            "document": doc_id,
            "quote": quote,
            "title": document.title if document else "",
            "before": "",
            "after": "",
        }
    end = at + len(quote)
    return {
        "document": doc_id,
        "quote": quote,
        "title": document.title,
        "before": document.text[max(0, at - _AROUND) : at],
        "after": document.text[end : end + _AROUND],
    }
