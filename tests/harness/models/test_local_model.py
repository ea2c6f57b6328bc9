"""The real llama.cpp server with the real 0.5B model: it answers, it counts, and it never outlives its run."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.config import GeneratorConfig
from harness.models.clients import OpenAIChat, open_client
from harness.models.local_server import LocalServer, serve_local
from harness.models.metering import Meter, metered
from harness.models.providers import resolve_generator
from harness.models.transport import Seam
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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with serve_local(CONFIG, tmp_path_factory.mktemp("server") / "server.log") as running:
        yield running
        assert running.is_alive()
    assert not running.is_alive()
    assert is_gone(running.pid, within_s=10)


async def ask(server: LocalServer, seam: Seam, meter: Meter, schema: dict[str, object] | None = None) -> str:
    async with open_client(CONFIG, seam, server.base_url) as client:
        with metered(meter):
            return await OpenAIChat(CONFIG, client).complete(QUESTION, json_schema=schema)


async def test_it_answers_counts_tokens_and_is_replayed_from_the_journal(server: LocalServer, seam: Seam) -> None:
    first, again = Meter("index"), Meter("index")
    answer = await ask(server, seam, first)
    assert "Paris" in answer
    usage = first.usage["generator"]
    assert (usage.calls, usage.unmetered_calls) == (1, 0)
    assert usage.input_tokens > 10
    assert 0 < usage.output_tokens <= 24
    assert await ask(server, seam, again) == answer
    assert (again.replayed_calls, again.usage) == (1, first.usage)


async def test_the_same_question_has_the_same_answer_at_temperature_zero(server: LocalServer, seam: Seam) -> None:
    answers = {await ask(server, seam, Meter(f"answer/q/{repeat}/1")) for repeat in range(3)}
    assert len(answers) == 1


async def test_a_json_schema_constrains_the_reply(server: LocalServer, seam: Seam) -> None:
    reply = json.loads(await ask(server, seam, Meter("index"), SCHEMA))
    assert set(reply) == {"city", "sure"}
    assert isinstance(reply["city"], str)
    assert isinstance(reply["sure"], bool)


def test_a_file_that_is_no_model_is_one_line_with_the_log(tmp_path: Path) -> None:
    from harness.errors import ModelUnavailable

    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"no model" * 100)
    config = resolve_generator(GeneratorConfig(options={"path": str(wrong)}))
    with pytest.raises(ModelUnavailable) as caught, serve_local(config, tmp_path / "server.log"):
        pass
    assert str(caught.value).startswith("the local model server stopped (")
    assert str(caught.value).endswith(f"its log is {tmp_path / 'server.log'}")


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while it answers"])
def test_it_is_gone_soon_after_its_parent_was_killed(tmp_path: Path, busy: bool) -> None:
    code = """
import json, sys, threading, time, urllib.request
from pathlib import Path
from harness.config import GeneratorConfig
from harness.models.local_server import serve_local
from harness.models.providers import resolve_generator
config = resolve_generator(GeneratorConfig(model="qwen2.5-coder-0.5b", options={"context_tokens": 2048}))
with serve_local(config, Path(sys.argv[1])) as server:
    def ask():
        body = {"messages": [{"role": "user", "content": "Count to a thousand."}], "max_tokens": 1500}
        urllib.request.urlopen(server.base_url + "/chat/completions", json.dumps(body).encode())
    if sys.argv[2] == "True":
        threading.Thread(target=ask, daemon=True).start()
        time.sleep(2)
    print(server.pid, flush=True)
    time.sleep(600)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "server.log"), str(busy)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        parent.send_signal(signal.SIGKILL)
    try:
        assert is_gone(pid, within_s=30)
    finally:
        if not is_gone(pid, within_s=0.1):
            os.kill(pid, signal.SIGKILL)


def test_a_journal_of_its_calls_holds_no_path_of_this_machine(tmp_path: Path, server: LocalServer) -> None:
    journal = Journal(tmp_path / "own.sqlite")
    asyncio.run(ask(server, Seam(journal), Meter("index")))
    journal.close()
    assert str(Path.home()).encode() not in (tmp_path / "own.sqlite").read_bytes()
