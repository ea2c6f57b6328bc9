"""The audit of the locked packages, with advisories of our own."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from command_line import REPOSITORY

FOUND = ("numpy", "GHSA-of-mine")


class Advisories(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        found = [{"vulns": [{"id": FOUND[1]}]} if one["package"]["name"] == FOUND[0] else {} for one in queries]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"results": found}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def advisories() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Advisories) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def audit(url: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(REPOSITORY / "scripts" / "audit.py")]
    return subprocess.run(command, env={"OSV_URL": url}, capture_output=True, text=True, check=False)


def test_a_locked_version_with_an_advisory_is_named_and_the_audit_fails(advisories: str) -> None:
    done = audit(advisories)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if FOUND[0] in line and FOUND[1] in line]


def test_where_no_advisories_can_be_had_the_audit_says_so_in_one_line_and_passes() -> None:
    done = audit("http://127.0.0.1:1")
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 1, "")
