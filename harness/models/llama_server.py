"""llama.cpp's OpenAI-compatible server in a process of its own, so that its CPU and RAM are counted separately.

The process is `local_process`. Each start has a key of its own, which is passed only through pipes and headers.
"""

import fcntl
import json
import math
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pydantic import Field

from harness.config import GeneratorConfig
from harness.config.load import checked_options
from harness.core.bounded_files import open_plain, open_to_append
from harness.core.current_process import usable_cores
from harness.core.errors import BudgetExhausted, HarnessError, ModelUnavailable, explained_io, need
from harness.core.process_environment import python_command, python_environment
from harness.core.records import Record
from harness.core.sanitize import keep_made
from harness.models.huggingface_hub_files import QWEN_CODER
from harness.models.weights import check_unchanged, digest_once, fetch
from harness.protocols import Params


def check_local() -> None:
    need("provider-local", "xllamacpp")


def end_with_input(fd: int) -> None:
    """End this process when no one can write to the pipe `fd` any more."""
    # Loading weights blocks Python for many seconds. On Linux the signal of a closing pipe, whose default is to
    # end the process, works meanwhile; other systems wait for Python.
    if sys.platform == "linux":
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)

    def wait() -> None:
        # Also if the pipe closed before.
        os.read(fd, 1)
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    line = sys.stdin.readline()
    if not line:
        return
    end_with_input(sys.stdin.fileno())
    server = _serve(json.loads(line))
    threading.Event().wait()
    del server


def _serve(spec: dict[str, Any]) -> object:
    check_local()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = spec["path"]
    params.model_alias = {spec["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = spec["port"]
    # Every user of this machine, and every page in their browsers, can connect.
    params.api_keys = [spec["api_key"]]
    params.cors_origins = params.cors_methods = params.cors_headers = ""
    params.cors_origins_explicit = True
    params.cors_credentials = False
    params.endpoint_slots = params.endpoint_metrics = params.endpoint_props = False
    params.ui = False
    # llama.cpp divides the context among its slots.
    params.n_ctx = spec["context_tokens"] * spec["parallel"]
    params.n_parallel = spec["parallel"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = spec["threads"]
    # Its cache of old prompts would grow to gigabytes of RAM that are no part of an architecture; the slot's cache
    # of the common prefix stays on.
    params.cache_ram_mib = 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()


_READY_TIMEOUT_S = 300.0
_LAST_WORDS = 1 << 16
"""Bytes at the end of the log in which its last line is looked for."""
_ready_by: ContextVar[float] = ContextVar("ready_by", default=math.inf)
_SPINS = "10000"
"""How often an idle thread of the engine polls before it sleeps. Its default is 30 times as much and blocks cores
that other processes need: docs/PERFORMANCE.md has the cost."""


class LocalOptions(Params):
    """`models.generator.options` (and `models.judge.options`) of the local provider."""

    path: Path | None = None
    """A GGUF file of your own instead of a model by name."""
    context_tokens: int = Field(8192, ge=256)
    """For prompt and answer together, in each of the `parallel` slots."""
    parallel: int = Field(1, ge=1)
    threads: int | None = Field(None, ge=1)
    """None: every core this process may use."""
    port: int = Field(0, ge=0, le=65535)
    """0 picks a free one."""


class ServerAccess(Record):
    """URL and key of a server that was started here."""

    base_url: str
    api_key: str = Field(repr=False)
    """Generated for this start. It is never written to a file."""

    def model_post_init(self, _: object) -> None:
        """Registers the key, so that it is removed from the server's output."""
        keep_made(self.api_key)


class LocalServer:
    def __init__(self, process: "subprocess.Popen[bytes]", port: int, api_key: str) -> None:
        self.pid = process.pid
        self.access = ServerAccess(base_url=f"http://127.0.0.1:{port}/v1", api_key=api_key)
        self._process = process

    @property
    def base_url(self) -> str:
        return self.access.base_url

    def is_alive(self) -> bool:
        return self._process.poll() is None


def local_options(config: GeneratorConfig) -> LocalOptions:
    return checked_options(config, LocalOptions)


def weights_digest(config: GeneratorConfig) -> str:
    """The SHA-256 of a local generator's weights, a part of the run's identity."""
    options = local_options(config)
    if options.path is None:
        return QWEN_CODER[str(config.model)].sha256
    return digest_once(_own_weights(config, options.path))


@contextmanager
def ready_by(until: float | None) -> Iterator[None]:
    """Servers that start within the block must answer by this `time.monotonic`; None: only their own limit."""
    token = _ready_by.set(math.inf if until is None else until)
    try:
        yield
    finally:
        _ready_by.reset(token)


@contextmanager
def serve_local(config: GeneratorConfig, log: Path) -> Iterator[LocalServer]:
    """Start the server and wait until it answers; it is stopped at the end of the context."""
    options = local_options(config)
    if options.path is None:
        path = fetch(QWEN_CODER[str(config.model)])
    else:
        path = _own_weights(config, options.path)
        # Hours may have passed since the run's identity was computed.
        check_unchanged(path)
    port = _claim_port(config, options.port)
    api_key = secrets.token_urlsafe(32)
    spec = {
        "path": str(path),
        "alias": str(config.model),
        "port": port,
        "context_tokens": options.context_tokens,
        "parallel": options.parallel,
        "threads": options.threads or usable_cores(),
        "api_key": api_key,
    }
    environment = python_environment()
    if "OMP_WAIT_POLICY" not in environment:
        environment.setdefault("GOMP_SPINCOUNT", _SPINS)
    with explained_io("write", log), open_to_append(log) as out:
        process = subprocess.Popen(
            python_command("harness.models.llama_server"),
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
        )
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    try:
        # If it died at once, its log below says why.
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(spec).encode() + b"\n")
            process.stdin.flush()
        server = LocalServer(process, port, api_key)
        _wait_until_ready(server, log)
        try:
            yield server
        except HarnessError as error:
            if isinstance(error, BudgetExhausted) or server.is_alive():
                raise
            # "Connection refused" would say less.
            raise ModelUnavailable(
                f"the local model server {_ending(process.returncode)} while it was in use",
                f"run the same command again: it resumes with a new server; its log is {log}",
            ) from error
    finally:
        process.kill()
        process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    hint = " (often: out of memory)" if -code == signal.SIGKILL else ""
    return f"was ended by {signal.Signals(-code).name}{hint}"


def _own_weights(config: GeneratorConfig, path: Path) -> Path:
    if not path.is_file():
        raise ModelUnavailable(f"no weights at {path}", f"correct models.{config.role}.options.path")
    return path


def _claim_port(config: GeneratorConfig, port: int) -> int:
    with socket.socket() as probe:
        # As in the server itself: lingering connections of an earlier server do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ModelUnavailable(
                f"port {port} is taken",
                f"set models.{config.role}.options.port to another, or to 0 for any free one",
            ) from error
        claimed: int = probe.getsockname()[1]
    return claimed


def _wait_until_ready(server: LocalServer, log: Path) -> None:
    began = time.monotonic()
    deadline = min(began + _READY_TIMEOUT_S, _ready_by.get())
    health = server.base_url.removesuffix("/v1") + "/health"
    # Without a proxy of the environment.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline:
        if not server.is_alive():
            # The log may have come with somebody else's run: it can be of any size.
            with open_plain(log) as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_WORDS))
                lines = file.read().decode(errors="replace").strip().splitlines()
            last = lines[-1][:200] if lines else "its log is empty"
            raise ModelUnavailable(f"the local model server stopped ({last})", f"its log is {log}")
        try:
            # 503 while the weights load.
            with direct.open(health, timeout=5) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.1)
    raise ModelUnavailable(
        f"the local model server did not answer in {deadline - began:.0f} s", f"its log is {log}"
    )
