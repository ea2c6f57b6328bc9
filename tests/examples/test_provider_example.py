"""llama.cpp's own protocol from a package of its own: asked in its words, journaled, counted, retried."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from journals import usage_by_role

from harness.config import GeneratorConfig
from harness.models.llama_server import ServerAccess, serve_local
from harness.models.providers import resolve_generator

pytestmark = pytest.mark.slow
Stranger = Callable[..., CommandLine]
PROVIDER = "llama-completion"


class LlamaServer(ThreadingHTTPServer):
    """Replies in the form of llama.cpp's server, as the real one does in the last test here."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        """The bodies of /completion that were answered."""
        self.faults: list[int] = []
        """The statuses that completions get instead, when one was answered."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: LlamaServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, reply = 200, self._reply(body)
        if self.path == "/completion" and self.server.asked and self.server.faults:
            status = self.server.faults.pop(0)
            reply = {"error": {"code": status, "message": "so the script says", "type": "scripted"}}
        elif self.path == "/completion":
            self.server.asked.append(body)
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _reply(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.path == "/apply-template":
            return {"prompt": "".join(f"<{turn['role']}>{turn['content']}" for turn in body["messages"])}
        return {"content": "so it is", "tokens_evaluated": 41, "tokens_predicted": 3}

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[LlamaServer]:
    running = LlamaServer()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def closed_book(outside: CommandLine, base_url: str, *settings: str) -> dict[str, Any]:
    """One query of each type, its generator behind `base_url`; nothing else is called."""
    played = (f"models.generator.{key}={value}" for key, value in (("provider", PROVIDER), ("base_url", base_url)))
    wanted = ("dataset.sample.per_type=1", *played, *settings)
    return outside.run("-s", "closed-book", *(word for setting in wanted for word in ("--set", setting)))


def records_of(outside: CommandLine, run: dict[str, Any]) -> list[dict[str, Any]]:
    lines = (outside.folder / run["path"] / "records.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def used(records: list[dict[str, Any]], what: str) -> int:
    return sum(record["cost"]["usage"]["generator"][what] for record in records)


def asked_again(outside: CommandLine, run: dict[str, Any], base_url: str, *settings: str) -> list[dict[str, Any]]:
    """The records of the same command after a kill that left the journal alone."""
    folder = outside.folder / run["path"]
    (folder / "done.json").unlink()
    (folder / "records.jsonl").unlink()
    return records_of(outside, closed_book(outside, base_url, *settings))


def test_the_server_is_asked_in_its_words_and_its_counts_kept(stranger: Stranger, server: LlamaServer) -> None:
    outside = stranger("provider")
    run = closed_book(outside, server.base_url, "models.generator.max_tokens=7")
    records = records_of(outside, run)
    assert [record["prediction"]["answer"] for record in records] == ["so it is"] * 4
    # The first call finds out whether it answers.
    first, *asked = server.asked
    assert first["prompt"].startswith("<user>")
    for body in asked:
        assert body.keys() == {"prompt", "n_predict", "temperature", "seed"}
        assert (body["n_predict"], body["temperature"], body["seed"]) == (7, 0.0, 0)
        assert body["prompt"].startswith("<system>")
    paid = usage_by_role(outside.folder / run["path"] / "calls.sqlite")["generator"]
    assert (paid.calls, paid.input_tokens, paid.output_tokens) == (4, 4 * 41, 4 * 3)
    assert (used(records, "input_tokens"), used(records, "output_tokens")) == (4 * 41, 4 * 3)
    again = asked_again(outside, run, server.base_url, "models.generator.max_tokens=7")
    assert len(server.asked) == 5
    assert [record["prediction"] for record in again] == [record["prediction"] for record in records]


def test_what_may_pass_is_tried_again_else_it_is_a_failure(stranger: Stranger, server: LlamaServer) -> None:
    outside = stranger("provider")
    server.faults = [503, 400]
    run = closed_book(outside, server.base_url)
    assert (run["n_ok"], run["n_error"]) == (3, 1)
    (failed,) = [record for record in records_of(outside, run) if record["status"] == "error"]
    assert "so the script says" in failed["failure"]["message"]


@contextmanager
def llama_cpp(log: Path) -> Iterator[ServerAccess]:
    """llama.cpp's real server with the real 0.5B model; its address without the path of OpenAI's protocol."""
    options = {"context_tokens": 1024}
    config = resolve_generator(GeneratorConfig(model="qwen2.5-coder-0.5b", options=options))
    with serve_local(config, log) as running:
        yield running.access.model_copy(update={"base_url": running.base_url.removesuffix("/v1")})


@pytest.mark.alone
def test_a_real_server_answers_is_counted_and_is_not_asked_twice(
    stranger: Stranger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = stranger("provider")
    short = ("models.generator.max_tokens=8", "models.generator.api_key_env=LLAMA_KEY")
    with llama_cpp(tmp_path / "server.log") as server:
        monkeypatch.setenv("LLAMA_KEY", server.api_key)
        run = closed_book(outside, server.base_url, *short)
        assert (run["status"], run["n_ok"]) == ("done", 4)
        records = records_of(outside, run)
        again = asked_again(outside, run, server.base_url, *short)
    assert [record["prediction"] for record in again] == [record["prediction"] for record in records]
    assert [record["cost"]["replayed_calls"] for record in again] == [1] * 4
    assert all(record["prediction"]["answer"].strip() for record in records)
    assert used(records, "input_tokens") > 4 * 50, "the contract alone is longer"
    assert 0 < used(records, "output_tokens") <= 4 * 8
    assert used(records, "unmetered_calls") == 0
    paid = usage_by_role(outside.folder / run["path"] / "calls.sqlite")["generator"]
    assert (paid.input_tokens, paid.output_tokens) == (
        used(records, "input_tokens"),
        used(records, "output_tokens"),
    )
