"""The real llama.cpp server with the real 0.5B model: it answers, it counts, and it never outlives its run."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from harness.config import GeneratorConfig
from harness.llm_utils.logprob_entailment import LogprobEntailment
from harness.models.clients import OpenAIChat, open_client
from harness.models.llama_server import LocalServer, serve_local
from harness.models.metering import Meter, metered
from harness.models.providers import resolve_generator
from harness.models.transport import CallContext
from harness.protocols import Message
from harness.store import Journal

pytestmark = [pytest.mark.slow, pytest.mark.alone]

CONFIG = resolve_generator(
    GeneratorConfig(model="qwen2.5-coder-0.5b", max_tokens=24, options={"context_tokens": 1024}, max_retries=1)
)
QUESTION = [Message("user", "What is the capital of France? Answer with one word.")]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "sure": {"type": "boolean"}},
    "required": ["city", "sure"],
    "additionalProperties": False,
}


def is_gone(pid: int, within_s: float) -> bool:
    """Whether the process ends in time; one that nobody has waited for yet has ended too."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "server.log"


@pytest.fixture(scope="module")
def server(log: Path) -> Iterator[LocalServer]:
    with serve_local(CONFIG, log) as running:
        yield running
        assert running.is_alive()
    assert not running.is_alive()
    assert is_gone(running.pid, within_s=10)


async def ask(
    server: LocalServer, call_context: CallContext, meter: Meter, schema: dict[str, object] | None = None
) -> str:
    async with open_client(CONFIG, call_context, server.access) as client:
        with metered(meter):
            return await OpenAIChat(CONFIG, client).complete(QUESTION, json_schema=schema)


async def test_it_answers_counts_and_is_replayed_from_the_journal(
    server: LocalServer, call_context: CallContext
) -> None:
    first, again = Meter("index"), Meter("index")
    answer = await ask(server, call_context, first)
    assert "Paris" in answer
    usage = first.usage["generator"]
    assert (usage.calls, usage.unmetered_calls) == (1, 0)
    assert usage.input_tokens > 10
    assert 0 < usage.output_tokens <= 24
    assert await ask(server, call_context, again) == answer
    assert (again.replayed_calls, again.usage) == (1, first.usage)


async def test_a_json_schema_constrains_the_reply(server: LocalServer, call_context: CallContext) -> None:
    reply = json.loads(await ask(server, call_context, Meter("index"), SCHEMA))
    assert set(reply) == {"city", "sure"}
    assert isinstance(reply["city"], str)
    assert isinstance(reply["sure"], bool)


async def test_a_letter_says_what_follows_from_a_sentence(server: LocalServer, call_context: CallContext) -> None:
    async with open_client(CONFIG, call_context, server.access) as client:
        with metered(Meter("index")):
            entailment = LogprobEntailment(OpenAIChat(CONFIG, client))
            # Raises where the model would rather begin a sentence.
            (share,) = await entailment.shares(["The bridge opened in May 1998."], "The bridge opened in 1998.")
    assert 0 < share < 1


async def test_template_tokens_in_a_text_begin_and_end_no_turn(
    server: LocalServer, call_context: CallContext
) -> None:
    """The engine finds them wherever they stand: a request past the call context has one token for each."""

    async def n_tokens(text: str) -> int:
        async with open_client(CONFIG, call_context, server.access) as client:
            with metered(Meter("index")) as meter:
                await OpenAIChat(CONFIG, client).complete([Message("user", text)], max_tokens=1)
        return meter.usage["generator"].input_tokens

    def n_tokens_past_the_seam(text: str) -> int:
        body = {"messages": [{"role": "user", "content": text}], "max_tokens": 1}
        headers = {"Authorization": f"Bearer {server.access.api_key}", "Content-Type": "application/json"}
        url = f"{server.base_url}/chat/completions"
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as reply:
            found: int = json.load(reply)["usage"]["prompt_tokens"]
        return found

    without = await n_tokens("x")
    assert n_tokens_past_the_seam("x") == without
    for token in (
        "<|im_end|>",
        "<|im_start|>",
        "<|endoftext|>",
        "<|fim_prefix|>",
        "<|repo_name|>",
        "<|file_sep|>",
    ):
        assert n_tokens_past_the_seam(f"x{token}") == without + 1, "the engine knows it"
        assert await n_tokens(f"x{token}") > without + 2, token


def test_a_file_that_is_no_model_is_one_line_with_the_log(tmp_path: Path) -> None:
    from harness.core.errors import ModelUnavailable

    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"no model" * 100)
    config = resolve_generator(GeneratorConfig(options={"path": str(wrong)}))
    with pytest.raises(ModelUnavailable) as caught, serve_local(config, tmp_path / "server.log"):
        pass
    assert str(caught.value).startswith("the local model server stopped (")
    assert str(caught.value).endswith(f"its log is {tmp_path / 'server.log'}")


def status(server: LocalServer, path: str, **headers: str) -> tuple[int, dict[str, str]]:
    """The status and the headers of a reply; a body is what a question would be."""
    ask = urllib.request.Request(server.base_url.removesuffix("/v1") + path, headers=headers)
    if path.endswith("completions"):
        ask.data = b'{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}'
    try:
        with urllib.request.urlopen(ask) as reply:
            return reply.status, dict(reply.headers)
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers)


def test_nobody_but_its_run_is_answered_and_no_page_of_a_browser(server: LocalServer, tmp_path: Path) -> None:
    page = {"Origin": "http://page.example", "Content-Type": "application/json"}
    key = {"Authorization": f"Bearer {server.access.api_key}"}
    for path in ("/slots", "/props", "/metrics", "/v1/models", "/v1/chat/completions", "/completions"):
        for headers in (page, {**page, "Authorization": "Bearer none"}, {**page, "Origin": "http://localhost"}):
            code, said = status(server, path, **headers)
            assert code == 401, path
            assert not said.get("Access-Control-Allow-Origin"), path
    for path in ("/slots", "/metrics"):
        assert status(server, path, **key)[0] == 501, "not even with it"
    assert status(server, "/v1/chat/completions", **page, **key)[0] == 200
    assert not status(server, "/health", **page)[1].get("Access-Control-Allow-Origin")
    assert status(server, "/")[0] == 404


def test_its_key_is_in_no_log_journal_or_list_of_processes(server: LocalServer, log: Path, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "own.sqlite")
    asyncio.run(ask(server, CallContext(journal), Meter("index")))
    journal.close()
    key = server.access.api_key
    assert key[-4:].encode() not in log.read_bytes(), "llama.cpp can show the end of keys"
    assert key.encode() not in (tmp_path / "own.sqlite").read_bytes()
    shown = psutil.Process(server.pid)
    assert key not in str(shown.cmdline()) + str(shown.environ())


@pytest.mark.parametrize("moment", ["while it loads", "while it answers"])
def test_it_is_gone_at_once_when_its_parent_was_killed(tmp_path: Path, moment: str) -> None:
    code = """
import json, sys, threading, time, urllib.request
from pathlib import Path
from harness.config import GeneratorConfig
from harness.models.llama_server import serve_local
from harness.models.providers import resolve_generator
config = resolve_generator(GeneratorConfig(model="qwen2.5-coder-0.5b", options={"context_tokens": 2048}))
with serve_local(config, Path(sys.argv[1])) as server:
    def ask():
        body = {"messages": [{"role": "user", "content": "Count to a thousand."}], "max_tokens": 1500}
        headers = {"Authorization": f"Bearer {server.access.api_key}"}
        url = server.base_url + "/chat/completions"
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers))
    threading.Thread(target=ask, daemon=True).start()
    time.sleep(2)
    print(flush=True)
    time.sleep(600)
"""
    log = tmp_path / "server.log"
    with subprocess.Popen([sys.executable, "-c", code, str(log)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        if moment == "while it answers":
            parent.stdout.readline()
        else:
            while not log.is_file() or b"loading model" not in log.read_bytes():
                time.sleep(0.01)
        (pid,) = (child.pid for child in psutil.Process(parent.pid).children())
        parent.send_signal(signal.SIGKILL)
    try:
        assert is_gone(pid, within_s=2)
    finally:
        if not is_gone(pid, within_s=0.1):
            os.kill(pid, signal.SIGKILL)
