"""No command reaches another machine by itself, and none leaves files but in results and in our cache."""

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from command_line import REPOSITORY
from connection_guard import Guard

from harness.core.process_environment import python_command
from harness.models.huggingface_hub_files import MINILM_ONNX, MINILM_TOKENIZER
from harness.models.weights import fetch

pytestmark = [pytest.mark.slow, pytest.mark.long]
FAKE = ("-d", "demo", "--set", "models.generator.provider=fake", "--set", "models.judge.provider=fake")
EVALUATORS = "evaluators=[kg_nlp, cosine, ragas]"
LIBRARY = """
import harness.api as rag
settings = {"models.generator.provider": "fake", "models.generator.options.latency_s": 2.8}
rag.run(systems=["naive"], settings={**settings, "dataset.sample.per_type": 6}, records_only=True)
"""
"""Takes more than a minute, after which some libraries report their use."""


@pytest.fixture
def commands(tmp_path: Path) -> list[list[str]]:
    """What a user who has the weights runs in `tmp_path`: from Python, and by the command line."""
    weights = tmp_path / "cache" / "weights"
    weights.mkdir(parents=True)
    for file in (MINILM_ONNX, MINILM_TOKENIZER):
        (weights / file.name).symlink_to(fetch(file))
    shutil.copy(REPOSITORY / "docs" / "examples" / "pipelines" / "my_chain.py", tmp_path)
    few = ("--set", "dataset.sample.per_type=1", "--set", "models.embedder.provider=fake")
    systems = ("-s", "kg", "-s", "lightrag", "-s", "langchain:my_chain:make_chain")
    run = python_command("harness.cli.main", "run", *systems, *FAKE, *few, "--set", EVALUATORS)
    return [[sys.executable, "-c", LIBRARY], run]


def test_nothing_is_sent_or_left_behind(tmp_path: Path, guard: Guard, commands: list[list[str]]) -> None:
    environment = {**guard.environment, "RAG_HARNESS_CACHE": str(tmp_path / "cache")}

    def call(command: Sequence[str]) -> float:
        start = time.monotonic()
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return time.monotonic() - start

    with ThreadPoolExecutor() as threads:
        long_s, _ = threads.map(call, commands)
    assert long_s > 60
    assert guard.hosts() == set()
    ours = (sys.prefix, str(tmp_path / "results"), str(tmp_path / "cache"), environment["TMPDIR"] + "/")
    assert {path for path in guard.files() if not path.startswith(ours)} == set()
    assert [path for path in Path(environment["TMPDIR"]).rglob("*") if path.is_file()] == []
    assert list(Path(environment["HOME"]).iterdir()) == []


def test_the_guard_sees_hosts_and_files_of_native_code(tmp_path: Path, guard: Guard) -> None:
    code = (
        "import ctypes, socket\n"
        "native = ctypes.CDLL(None)\n"
        "native.getaddrinfo(b'elsewhere.example', None, None, ctypes.byref(ctypes.c_void_p()))\n"
        "native.fopen(b'written', b'w')\n"
        "socket.socket().connect_ex(('192.0.2.1', 80))\n"
        "socket.socket().connect_ex(('127.0.0.1', 9))\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=guard.environment, check=True)
    assert guard.hosts() == {"elsewhere.example", "192.0.2.1:80"}
    assert guard.files() == {str(tmp_path / "written")}
