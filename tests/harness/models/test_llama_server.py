"""The local model server: what is refused before anything starts. The server itself: test_local_model.py."""

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.core.errors import ConfigError, ModelUnavailable
from harness.models.huggingface_hub_files import MINILM_ONNX, MINILM_TOKENIZER, QWEN_CODER, WeightFile
from harness.models.llama_server import ServerAccess, local_options, serve_local, weights_digest
from harness.models.providers import provider_of, resolve_embedder, resolve_generator


def local(**options: Any) -> GeneratorConfig:
    return resolve_generator(GeneratorConfig(options=options))


def refusal(config: GeneratorConfig, log: Path) -> str:
    with pytest.raises(ModelUnavailable) as caught, serve_local(config, log):
        pass
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    return line


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    """A file of the user's own that is no model."""
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF, or so it says")
    return path


@pytest.fixture
def python_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """python_is(script): a shell script is started in place of the server's process."""

    def be(script: str) -> None:
        (tmp_path / "python").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "python").chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    return be


def test_weights_that_are_not_there_are_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "none.gguf"
    line = refusal(local(path=str(missing)), tmp_path / "server.log")
    assert line == f"no weights at {missing}: correct models.generator.options.path"
    with pytest.raises(ModelUnavailable, match="no weights at"):
        weights_digest(local(path=str(missing)))


def test_own_weights_that_changed_since_the_run_was_planned_are_not_run(
    tmp_path: Path, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = local(path=str(gguf))
    planned, before = weights_digest(config), gguf.stat()
    gguf.write_bytes(gguf.read_bytes().swapcase())
    os.utime(gguf, ns=(before.st_atime_ns, before.st_mtime_ns))
    for line in (refusal(config, tmp_path / "server.log"), refusal(config, tmp_path / "server.log")):
        assert line == f"{gguf} has changed since the run was planned: run the same command again"
    assert not (tmp_path / "server.log").exists(), "nothing was started"
    # Who plans again, runs again.
    assert weights_digest(config) == hashlib.sha256(gguf.read_bytes()).hexdigest() != planned
    monkeypatch.setattr(sys, "executable", "/bin/true")
    assert "the local model server stopped" in refusal(config, tmp_path / "server.log")


def test_a_port_is_free_at_once_when_its_server_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its closed connections linger for a minute; whoever resumes a run does not wait for them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            connection, _ = server.accept()
            connection.close()
            assert client.recv(1) == b""
    line = refusal(local(path=str(tmp_path / "none"), port=port), tmp_path / "log")
    assert "no weights" in line
    gguf = tmp_path / "own.gguf"
    gguf.write_bytes(b"")
    # What would run the weights only dies, before or after it was told what to run: the port was not refused.
    monkeypatch.setattr(sys, "executable", "/bin/true")
    for _ in range(3):
        assert "the local model server stopped (" in refusal(local(path=str(gguf), port=port), tmp_path / "log")


def test_a_server_that_stops_at_once_is_told_with_the_last_line_of_its_log(
    tmp_path: Path, python_is: Callable[[str], None], gguf: Path
) -> None:
    python_is("read spec\necho loading >&2\necho 'unknown architecture' >&2\nexit 1")
    log = tmp_path / "server.log"
    # Of an endless log only the end is read.
    with log.open("wb") as file:
        file.seek(1 << 40)
        file.write(b"\n")
    assert refusal(local(path=str(gguf)), log) == (
        f"the local model server stopped (unknown architecture): its log is {log}"
    )


def test_a_server_that_never_answers_is_given_up_and_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python_is: Callable[[str], None], gguf: Path
) -> None:
    python_is(f"echo $$ > {tmp_path}/pid\nexec sleep 60")
    monkeypatch.setattr("harness.models.llama_server._READY_TIMEOUT_S", 0.3)
    assert "did not answer in" in refusal(local(path=str(gguf)), tmp_path / "server.log")
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_each_start_has_its_own_key_that_nobody_sees(
    tmp_path: Path, python_is: Callable[[str], None], gguf: Path
) -> None:
    python_is(f'read spec\necho "$spec" >>{tmp_path}/told\n(echo "$@"; env) >>{tmp_path}/seen')
    for _ in range(2):
        assert "(its log is empty)" in refusal(local(path=str(gguf)), tmp_path / "server.log")
    first, second = (json.loads(line)["api_key"] for line in (tmp_path / "told").read_text().splitlines())
    assert first != second
    assert min(len(first), len(second)) >= 32
    seen = (tmp_path / "seen").read_text()
    assert "harness.models.llama_server" in seen
    for key in (first, second):
        assert key not in seen + str(ServerAccess(base_url="", api_key=key))


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ({}, {"GOMP_SPINCOUNT": "10000"}),
        ({"GOMP_SPINCOUNT": "5"}, {"GOMP_SPINCOUNT": "5"}),
        ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
    ],
)
def test_the_engine_yields_cores_it_waits_on_unless_the_environment_says_how_to_wait(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    python_is: Callable[[str], None],
    gguf: Path,
    said: dict[str, str],
    seen: dict[str, str],
) -> None:
    names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    python_is(f"read spec\nenv >{tmp_path}/seen")
    refusal(local(path=str(gguf)), tmp_path / "server.log")
    lines = (line.partition("=") for line in (tmp_path / "seen").read_text().splitlines())
    assert {name: value for name, _, value in lines if name in names} == seen


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends when Python runs again")
def test_a_server_process_ends_with_its_parent_even_where_python_cannot_run(tmp_path: Path) -> None:
    """As while it loads weights. A call by PyDLL keeps other threads of Python from running."""
    code = (
        "import ctypes, sys; from harness.models.llama_server import end_with_input\n"
        "end_with_input(0); print(flush=True); ctypes.PyDLL(None).sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        time.sleep(0.1)
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=2) != 1


def test_the_server_process_says_what_to_install_where_its_library_is_missing(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['xllamacpp'] = None\n"
        "import runpy; runpy.run_module('harness.models.llama_server', run_name='__main__')"
    )
    spec = b'{"path": "x", "alias": "x", "port": 0, "context_tokens": 256, "parallel": 1, "threads": 1}\n'
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(spec)
        process.stdin.flush()
        *_, line = process.stderr.read().splitlines()
        assert process.wait() == 1
    assert b"xllamacpp is not installed" in line
    assert b"pip install 'rag-bench-harness[provider-local]'" in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"contxt_tokens": 1}, "'models.generator.options.contxt_tokens': did you mean 'context_tokens'"),
        ({"context_tokens": 1}, "models.generator.options.context_tokens: "),
        ({"port": 70000}, "models.generator.options.port: "),
        ({"threads": 0}, "models.generator.options.threads: "),
    ],
)
def test_an_option_that_cannot_be_is_one_line_that_names_it(options: dict[str, int], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        local_options(GeneratorConfig(options=options))
    assert said in str(caught.value)


def test_what_a_run_needs_can_be_fetched_beforehand(gguf: Path) -> None:
    def needed(config: ModelConfig) -> list[WeightFile]:
        return list(provider_of(config).weights(config))

    named = local()
    assert needed(named) == [QWEN_CODER[str(named.model)]]
    assert needed(local(path=str(gguf))) == []
    assert needed(resolve_embedder(EmbedderConfig())) == [MINILM_ONNX, MINILM_TOKENIZER]
    assert needed(resolve_embedder(EmbedderConfig(provider="fake"))) == []
    assert needed(resolve_generator(GeneratorConfig(provider="fake"))) == []


def test_the_identity_of_local_weights_is_their_bytes_wherever_they_lie(gguf: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.gguf"
    copy.write_bytes(gguf.read_bytes())
    expected = hashlib.sha256(gguf.read_bytes()).hexdigest()
    assert weights_digest(local(path=str(gguf))) == weights_digest(local(path=str(copy))) == expected
    assert weights_digest(local()) == QWEN_CODER["qwen2.5-coder-0.5b"].sha256
