"""A page is served to the person with its address only."""

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from question_reviews import ROWS, question_file, review, rows_in

from harness.core.errors import ConfigError
from harness.extensions.testset.review_session import review_page
from harness.extensions.web.server import PageServer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return question_file(tmp_path)


@pytest.fixture
def server(file: Path) -> Iterator[PageServer]:
    with PageServer(review_page(review(file))) as server:
        serving = threading.Thread(target=server.serve)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def ask(server: PageServer, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
    """What the server replies to a request with these headers and, by default, the token."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    named = {"X_Page_Token": server.token, "Content_Type": "application/json", **headers}
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    with contextlib.closing(connection):
        connection.request(method, path, sent, {name.replace("_", "-"): one for name, one in named.items()})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()


def test_only_the_address_with_the_token_shows_anything(server: PageServer) -> None:
    assert server.url == f"http://127.0.0.1:{server.port}/?token={server.token}"
    assert len(server.token) >= 24
    status, page = ask(server, "GET", f"/?token={server.token}")
    assert status == 200
    assert ROWS[0]["question"] not in page
    for path in ("/", "/?token=", "/?token=wrong", "/rows", "/row?id=a", "/../review.js"):
        status, text = ask(server, "GET", path, X_Page_Token="")
        assert (path, status) == (path, 403)
        assert "Tarnby" not in text


REJECT = {"id": "a", "verdict": "reject", "edit": None}


@pytest.mark.parametrize(
    "wrong",
    [
        {"X_Page_Token": ""},
        {"X_Page_Token": "wrong"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
    ],
)
def test_a_page_of_somebody_else_decides_nothing(server: PageServer, file: Path, wrong: dict[str, str]) -> None:
    assert ask(server, "POST", "/decide", REJECT, **wrong)[0] == 403
    assert rows_in(file) == ROWS


def test_a_decision_is_kept_and_an_invalid_one_is_one_line_and_changes_nothing(
    server: PageServer, file: Path
) -> None:
    long = {"question": "x" * 5_000, "answers": [], "evidence": []}
    for body in (
        b"no json",
        b"{}",
        {**REJECT, "id": "zzz"},
        {**REJECT, "verdict": "burn"},
        {**REJECT, "edit": {"question": 7}},
        {**REJECT, "verdict": "accept", "edit": long},
    ):
        status, text = ask(server, "POST", "/decide", body)
        assert (body, status) == (body, 400)
        assert json.loads(text)["error"]
    assert ask(server, "POST", "/decide", None, Content_Length="99999999999")[0] == 413
    assert rows_in(file) == ROWS
    status, text = ask(server, "POST", "/decide", {**REJECT, "verdict": "accept"})
    assert (status, json.loads(text)["state"]) == (200, "seen")
    assert rows_in(file)[0]["seen_by"] == "ada"


def test_done_ends_the_serving_and_a_port_that_is_taken_is_one_line(server: PageServer, file: Path) -> None:
    page = review_page(review(file))
    with pytest.raises(ConfigError, match="cannot be used"):
        PageServer(page, server.port)
    with PageServer(page) as another:
        serving = threading.Thread(target=another.serve, daemon=True)
        serving.start()
        assert ask(another, "POST", "/done", {})[0] == 200
        serving.join(timeout=5)
        assert not serving.is_alive()


# Other programs of this machine may send anything: the page goes on, prints no traceback and does not grow.


SERVER = """
from harness.extensions.web.pages import LocalPage
from harness.extensions.web.server import PageServer
page = LocalPage("t", "b", "", "", {"/rows": lambda asked: ["row"]}, {"/say": lambda body: len(body)})
with PageServer(page) as server:
    print(server.port, server.token, flush=True)
    server.serve()
"""
MOST_THREADS = 40
MOST_GROWTH = 12_000_000
AT_ONCE_S = 1.0
TOKEN = b"X-Page-Token: TOKEN\r\nContent-Type: application/json\r\n"
POST = b"POST /say HTTP/1.1\r\nHost: HOST\r\n"
ATTACKS = {
    "nothing": b"",
    "half a head": b"POST /say HTTP/1.1\r\nHost: HOST\r\nX-Page-",
    "a head without an end": POST + b"X-Filler: y\r\n" * 20_000,
    "a line without an end": b"GET /" + b"a" * 2_000_000,
    "a header without an end": POST + b"X-Filler: " + b"y" * 2_000_000,
    "no request": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" * 20,
    "a path that is none": b"GET //[ HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "an unknown method": b"BREW / HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "a version that is none": b"GET / HTTP/9.9.9\r\n\r\n",
    "a body without a token": POST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1_000_000,
    "a wrong token and a body that never comes": POST + b"X-Page-Token: x\r\nContent-Length: 1000000\r\n\r\n",
    "letters in the token": POST + b"X-Page-Token: \xff\xfe\x00\r\nContent-Length: 2\r\n\r\n{}",
    "no length": POST + TOKEN + b"\r\n{}",
    "chunks": POST + TOKEN + b"Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n",
    **{
        f"the length {length[:12].decode('latin-1')}": POST + TOKEN + b"Content-Length: " + length + b"\r\n\r\n{}"
        for length in (b"-1", b"+2", b"0x2", b"2.0", b"nan", b"1e9", b"9" * 5_000, b"99999999999", b"\xb2")
    },
    "a body cut short": POST + TOKEN + b"Content-Length: 1000000\r\n\r\n{",
}


class Served:
    """A page in a process of its own, seen from outside."""

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        with errors.open("wb") as file:
            command = [sys.executable, "-c", SERVER]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)
        assert self.process.stdout
        port, self.token = self.process.stdout.readline().split()
        self.port = int(port)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=5)

    def send(self, attack: bytes, *, reads: bool = True) -> bytes:
        """What it answers; `reads`: False: the connection is reset at once."""
        host = f"127.0.0.1:{self.port}".encode()
        sent = attack.replace(b"HOST", host).replace(b"TOKEN", self.token.encode())
        with self.connect() as connection, contextlib.suppress(OSError):
            if not reads:
                reset = (1).to_bytes(4, sys.byteorder) + bytes(4)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            connection.sendall(sent)
            if reads:
                connection.shutdown(socket.SHUT_WR)
                return connection.recv(1 << 16)
        return b""

    def answers_s(self) -> float:
        """Seconds until a request with the token is answered."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", "/rows", headers={"X-Page-Token": self.token})
        assert json.loads(connection.getresponse().read()) == ["row"]
        connection.close()
        return time.monotonic() - began

    def status(self, name: str) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))

    @contextlib.contextmanager
    def unharmed(self) -> Iterator[None]:
        """Afterwards it answers at once, has printed nothing, and is as large as before."""
        before = self.status("VmHWM")
        yield
        assert self.answers_s() < AT_ONCE_S
        assert self._errors.read_text() == ""
        assert 1024 * (self.status("VmHWM") - before) < MOST_GROWTH
        assert self.status("Threads") <= MOST_THREADS


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if not Path("/proc/self/status").exists():
        pytest.skip("memory and threads of another process are read from /proc")
    served = Served(tmp_path_factory.mktemp("served") / "errors.txt")
    served.answers_s()
    yield served
    served.process.kill()
    served.process.communicate()


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_leaves_no_trace(served: Served, name: str) -> None:
    with served.unharmed():
        for reads in (True, False) * 5:
            answer = served.send(ATTACKS[name], reads=reads)
            assert b" 200 " not in answer[:20] or name == "a body cut short"


def test_hundreds_of_silent_connections_do_not_block_the_page(served: Served) -> None:
    with contextlib.ExitStack() as stack, served.unharmed():
        silent = [stack.enter_context(served.connect()) for _ in range(300)]
        for connection in silent[-20:]:
            with contextlib.suppress(OSError):
                connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")


def test_a_connection_with_the_token_is_not_closed_for_others(served: Served) -> None:
    body = b'"x"'
    with served.connect() as ours, contextlib.ExitStack() as stack:
        head = POST + TOKEN + b"Content-Length: %d\r\n\r\n" % len(body)
        ours.sendall(head.replace(b"HOST", b"localhost:%d" % served.port).replace(b"TOKEN", served.token.encode()))
        time.sleep(0.2)
        for _ in range(100):
            stack.enter_context(served.connect())
        ours.sendall(body)
        assert ours.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_a_head_that_arrives_letter_by_letter_is_cut_off(served: Served) -> None:
    began = time.monotonic()
    with served.connect() as connection, contextlib.suppress(OSError):
        while time.monotonic() - began < 30:
            connection.sendall(b"x")
            time.sleep(0.5)
    assert time.monotonic() - began < 20
