"""A real Neo4j for a test session, started and stopped with scripts/neo4j like a user."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "neo4j"
_UNTESTED = "could not test Neo4j"
# Ends the server when told to, at the end of the session, or when its pipe closes, because pytest was killed. A
# closed pipe alone may stay unseen for minutes: processes that pytest forked hold it open.
_WATCH = """
import subprocess, sys
sys.stdin.readline()
sys.exit(subprocess.run([sys.argv[1], "stop", "--remove"]).returncode)
"""


@dataclass(frozen=True)
class Neo4jServer:
    """A running server."""

    uri: str
    username: str
    password: str = field(repr=False)
    state: Path
    """NEO4J_STATE at its start."""

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for clients."""
        return {"NEO4J_URI": self.uri, "NEO4J_USERNAME": self.username, "NEO4J_PASSWORD": self.password}


@contextmanager
def running_neo4j(state: Path, home: Path | None) -> Iterator[Neo4jServer]:
    """A separate server in the folder `state`, on a free port; removed afterwards."""
    environment = {**unset(os.environ), "NEO4J_STATE": str(state), "NEO4J_BOLT_PORT": "0"}
    if home is not None:
        environment["NEO4J_HOME"] = str(home)
    watch = subprocess.Popen(
        [sys.executable, "-c", _WATCH, str(SCRIPT)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        told = call_script("start", environment)
        if told.returncode:
            pytest.fail(f"scripts/neo4j start: {told.stderr}")
        yield server_of(told.stdout, state)
    finally:
        watch.communicate(b"\n", timeout=120)


def call_script(
    command: str, environment: Mapping[str, str], script: Path | str = SCRIPT, cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """scripts/neo4j (or `script`) with these arguments in this environment."""
    return subprocess.run(
        [script, *command.split()],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def server_of(exports: str, state: Path) -> Neo4jServer:
    """The server described by the output of `start`."""
    told = dict(word.split("=", 1) for line in exports.splitlines() for word in shlex.split(line)[1:])
    return Neo4jServer(told["NEO4J_URI"], told["NEO4J_USERNAME"], told.get("NEO4J_PASSWORD", ""), state)


def unset(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables of another server, in which Java starts in half of the time."""
    kept = {key: value for key, value in environment.items() if not key.startswith("NEO4J_")}
    return {**kept, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}


def neo4j_home() -> Path | None:
    """The distribution of NEO4J_HOME, otherwise the one in ../shared/neo4j next to the repository."""
    named = os.environ.get("NEO4J_HOME")
    home = Path(named).expanduser() if named else ROOT.parent / "shared" / "neo4j" / "dist"
    return home if named or home.is_dir() else None


def has_docker_engine() -> bool:
    """Whether containers can be started."""
    try:
        return subprocess.run(["docker", "info"], capture_output=True, check=False, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """One server for all tests of the session, with its variables in the environment, so that processes find it
    too.

    Without a server the tests are skipped, or fail if CI=true.
    """
    home = neo4j_home()
    if home is None and not has_docker_engine():
        why = f"{_UNTESTED}: no Docker engine, and NEO4J_HOME is not set"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    state = tmp_path_factory.mktemp("neo4j") / "state"
    with running_neo4j(state, home) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server


@cache
def asks_for_a_server(file: Path) -> bool:
    """Whether tests of that file, or the fixtures next to it, use `neo4j_server`."""
    texts = (one.read_text("utf-8") for one in (file, file.with_name("conftest.py")) if one.is_file())
    return any(re.search(r"\bneo4j_server\b[:\"]", text) for text in texts)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Under `--dist loadscope` all tests with a server run in one process: each process would start its own, which
    takes half a minute.
    """
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    scheduling: Any = LoadScopeScheduling(config, log)
    scope_of = scheduling._split_scope

    def one_server(nodeid: str) -> str:
        asks = asks_for_a_server(config.rootpath / nodeid.partition("::")[0])
        return "neo4j" if asks else str(scope_of(nodeid))

    scheduling._split_scope = one_server
    return scheduling


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report at the end which real components were missing."""
    reasons = {str(report.longrepr[2]) for report in terminalreporter.getreports("skipped")}
    for reason in sorted(reason.removeprefix("Skipped: ") for reason in reasons if _UNTESTED in reason):
        terminalreporter.write_line(reason, yellow=True)
