"""The page is for whoever was given its address, and for nobody else."""

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from question_reviews import DOCUMENTS, ROWS, question_file, rows_in

from harness.core.errors import ConfigError
from harness.extensions.testset.review_decisions import Review
from harness.extensions.testset.review_session import review_page
from harness.extensions.web.server import PageServer, open_page


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return question_file(tmp_path)


@pytest.fixture
def server(file: Path) -> Iterator[PageServer]:
    with open_page(review_page(Review(file, "ada", DOCUMENTS))) as server:
        serving = threading.Thread(target=server.serve)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def ask(server: PageServer, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, sent, named)
    reply = connection.getresponse()
    try:
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def ours(server: PageServer) -> dict[str, str]:
    return {"X_Page_Token": server.token, "Content_Type": "application/json"}


def test_it_listens_on_this_machine_alone_and_its_address_holds_the_token(server: PageServer) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    assert server.token in server.url
    assert len(server.token) >= 24
    status, page = ask(server, "GET", f"/?token={server.token}")
    assert status == 200
    assert ROWS[0]["question"] not in page


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/rows", "/row?id=a", "/../review.js"])
def test_without_the_token_nothing_is_said(server: PageServer, path: str) -> None:
    status, text = ask(server, "GET", path)
    assert status == 403
    assert "Tarnby" not in text


@pytest.mark.parametrize(
    "wrong",
    [
        {"X_Page_Token": ""},
        {"X_Page_Token": "wrong"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
    ],
)
def test_a_page_of_somebody_else_decides_nothing(server: PageServer, file: Path, wrong: dict[str, str]) -> None:
    body = {"id": "a", "verdict": "reject", "edit": None}
    status, _ = ask(server, "POST", "/decide", body, **{**ours(server), **wrong})
    assert status == 403
    assert rows_in(file) == ROWS


def test_what_is_decided_there_is_kept(server: PageServer, file: Path) -> None:
    status, text = ask(server, "POST", "/decide", {"id": "a", "verdict": "accept", "edit": None}, **ours(server))
    assert (status, json.loads(text)["state"]) == (200, "seen")
    assert rows_in(file)[0]["seen_by"] == "ada"


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        b"{}",
        {"id": "zzz", "verdict": "accept", "edit": None},
        {"id": "a", "verdict": "burn", "edit": None},
        {"id": "a", "verdict": "accept", "edit": {"question": 7}},
        {"id": "a", "verdict": "accept", "edit": {"question": "x" * 5_000, "answers": [], "evidence": []}},
    ],
)
def test_what_cannot_be_kept_is_one_line_and_changes_nothing(server: PageServer, file: Path, body: object) -> None:
    status, text = ask(server, "POST", "/decide", body, **ours(server))
    assert status == 400
    assert json.loads(text)["error"]
    assert rows_in(file) == ROWS


def test_a_body_without_end_is_not_read(server: PageServer) -> None:
    status, _ = ask(server, "POST", "/decide", None, **{**ours(server), "Content_Length": "99999999999"})
    assert status == 413


def test_done_ends_the_serving(file: Path) -> None:
    with open_page(review_page(Review(file, "ada", DOCUMENTS))) as server:
        serving = threading.Thread(target=server.serve, daemon=True)
        serving.start()
        assert ask(server, "POST", "/done", {}, **ours(server))[0] == 200
        serving.join(timeout=5)
        assert not serving.is_alive()


def test_a_port_that_is_taken_is_one_line(server: PageServer, file: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        open_page(review_page(Review(file, "ada", DOCUMENTS)), server.port)
