"""scripts/neo4j as a user calls it: stand-ins for Java and Neo4j where it refuses, the real ones else."""

import os
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from neo4j_server import SCRIPT, Neo4jServer, call_script, neo4j_home, server_of, unset

from harness.errors import ServiceUnavailable
from systems.parts.graph_stores.neo4j_server import Neo4jSettings, check_neo4j, connect, rows_of

Call = Callable[..., "subprocess.CompletedProcess[str]"]


def executable(file: Path, *lines: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    file.chmod(0o755)


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """The script where Java is 17, nothing is in NEO4J_HOME, and no Docker engine runs."""
    tools = tmp_path / "tools"
    executable(tools / "java", "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2")
    executable(tools / "docker", "exit 1")
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    environment = {**unset(os.environ), "PATH": path, "NEO4J_STATE": str(tmp_path / "state")}
    environment.pop("JAVA_HOME", None)
    return lambda command, **more: call_script(command, {**environment, **more})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A distribution whose server ends as soon as it starts."""
    folder = tmp_path / "home"
    executable(folder / "bin" / "neo4j-admin", "exit 0")
    executable(
        folder / "bin" / "neo4j",
        'mkdir -p "$NEO4J_CONF/../data/databases"',
        'echo "the last words" >"$NEO4J_CONF/../logs/neo4j.log"',
    )
    (folder / "conf").mkdir()
    (folder / "conf" / "neo4j.conf").write_text("server.bolt.listen_address=:7687\nkept.setting=1\n")
    return folder


def refusal(done: "subprocess.CompletedProcess[str]") -> str:
    """The one line on stderr of a call that did nothing."""
    assert (done.returncode, done.stdout) == (2, ""), done
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("command", ["", "restart", "start now", "stop --all"])
def test_other_words_show_the_usage(call: Call, command: str) -> None:
    done = call(command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "scripts/neo4j start|stop [--remove]|status" in done.stderr
    assert "NEO4J_WAIT_S" in done.stderr
    assert "set -euo" not in done.stderr


def test_without_docker_and_a_distribution_start_says_how_to_get_one(call: Call) -> None:
    assert refusal(call("start")).startswith("error: no Neo4j to start: start Docker, or set NEO4J_HOME to ")


def test_a_home_without_a_server_is_refused(call: Call, tmp_path: Path) -> None:
    line = refusal(call("start", NEO4J_HOME=str(tmp_path)))
    assert line == f"error: NEO4J_HOME is {tmp_path}: name the folder that holds bin/neo4j"


@pytest.mark.parametrize(("version", "said"), [("11.0.2", "11"), ("1.8.0_292", "1")])
def test_an_old_java_is_refused(call: Call, home: Path, tmp_path: Path, version: str, said: str) -> None:
    executable(tmp_path / "tools" / "java", f"echo 'java version \"{version}\"' >&2")
    line = refusal(call("start", NEO4J_HOME=str(home)))
    assert line == f"error: Neo4j needs Java 17 or later, this is {said}: install it, or set JAVA_HOME"


def test_no_java_is_refused(call: Call, home: Path, tmp_path: Path) -> None:
    line = refusal(call("start", NEO4J_HOME=str(home), JAVA_HOME=str(tmp_path)))
    assert line == "error: Neo4j needs Java 17 or later: install it, or set JAVA_HOME"


@pytest.mark.parametrize(
    ("password", "said"), [("seven77", "is too short"), ("new\nline 8", "a control character")]
)
def test_a_password_that_cannot_be_is_refused(call: Call, home: Path, password: str, said: str) -> None:
    line = refusal(call("start", NEO4J_HOME=str(home), NEO4J_PASSWORD=password))
    assert said in line
    assert password not in line


def test_a_port_that_is_taken_is_refused(call: Call, home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        line = refusal(call("start", NEO4J_HOME=str(home), NEO4J_BOLT_PORT=str(port)))
    assert line.startswith(f"error: port {port} is taken: ")
    assert refusal(call("start", NEO4J_HOME=str(home), NEO4J_BOLT_PORT="bolt")).startswith(
        "error: NEO4J_BOLT_PORT is"
    )


def test_data_without_a_password_is_refused_with_both_ways_out(call: Call, home: Path, tmp_path: Path) -> None:
    (tmp_path / "state" / "data" / "databases").mkdir(parents=True)
    assert refusal(call("start", NEO4J_HOME=str(home))) == (
        f"error: the server in {tmp_path / 'state'} has a password already: "
        "set NEO4J_PASSWORD to it, or scripts/neo4j stop --remove"
    )


def test_a_server_that_ends_shows_its_last_words_and_keeps_no_unknown_password(
    call: Call, home: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        done = call("start", NEO4J_HOME=str(home), NEO4J_BOLT_PORT="0")
        assert (done.returncode, done.stdout) == (2, "")
        assert "the last words" in done.stderr
        assert done.stderr.splitlines()[-1].startswith("error: Neo4j did not answer on port ")
    conf = (tmp_path / "state" / "conf" / "neo4j.conf").read_text().splitlines()
    assert "kept.setting=1" in conf
    keys = [line.split("=")[0] for line in conf]
    assert len(keys) == len(set(keys))
    assert "server.default_listen_address=127.0.0.1" in conf
    assert "server.http.enabled=false" in conf


def test_where_nothing_runs_status_is_3_and_stop_is_content(call: Call, tmp_path: Path) -> None:
    done = call("status")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"no Neo4j answers from {tmp_path / 'state'}: scripts/neo4j start\n"
    assert call("stop").returncode == call("stop --remove").returncode == 0


def test_remove_takes_what_start_made_and_nothing_else(call: Call, home: Path, tmp_path: Path) -> None:
    call("start", NEO4J_HOME=str(home), NEO4J_BOLT_PORT="0")
    mine = tmp_path / "state" / "mine.txt"
    mine.write_text("x")
    assert call("stop --remove").returncode == 0
    assert list((tmp_path / "state").iterdir()) == [mine]


# --- the real one


@pytest.fixture
def real(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a server in a folder with a space in its name; removed afterwards."""
    dist = neo4j_home()
    if dist is None:
        why = "could not test scripts/neo4j with a distribution: NEO4J_HOME is not set"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    environment = {
        **unset(os.environ),
        "NEO4J_HOME": str(dist),
        "NEO4J_STATE": str(tmp_path / "the state"),
        "NEO4J_BOLT_PORT": "0",
    }
    yield environment
    call_script("stop --remove", environment)


def ask(server: Mapping[str, str], query: str, write: bool = False) -> list[list[object]]:
    driver = connect(Neo4jSettings.from_environment(server))
    try:
        return rows_of(driver, query, write=write)
    finally:
        driver.close()


def through_eval(environment: Mapping[str, str]) -> Neo4jServer:
    """What a shell knows after `eval "$(scripts/neo4j start)"`."""
    names = " ".join(f'"{name}=${name}"' for name in ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD"))
    code = f'eval "$({shlex.quote(str(SCRIPT))} start)" && printf "export %q\\n" {names}'
    done = subprocess.run(
        ["bash", "-c", code], env=dict(environment), capture_output=True, text=True, check=True, timeout=300
    )
    return server_of(done.stdout, Path(environment["NEO4J_STATE"]))


@pytest.mark.slow
@pytest.mark.long
def test_a_server_from_start_to_removal(real: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = through_eval(real)
    here = first.environment
    ask(here, "CREATE (:Kept)", write=True)
    assert call_script("status", real).returncode == 0
    assert first.uri in call_script("status", real).stderr

    again = call_script("start", real)
    assert again.returncode == 0
    assert again.stdout == f"export NEO4J_URI={first.uri}\nexport NEO4J_USERNAME=neo4j\n"
    assert again.stderr == "Neo4j runs already\n"

    port = int(first.uri.rpartition(":")[2])
    listeners = {item.laddr.ip for item in psutil.net_connections("tcp") if item.laddr and item.laddr.port == port}
    assert listeners <= {"127.0.0.1", "::ffff:127.0.0.1"}
    for name, value in here.items():
        monkeypatch.setenv(name, value)
    check_neo4j()
    # Of APOC nothing that reads files or the network.
    assert ask(here, "SHOW PROCEDURES YIELD name WHERE name STARTS WITH 'apoc.load' RETURN name") == []

    assert call_script("stop", real).returncode == 0
    assert call_script("status", real).returncode == 3
    with pytest.raises(ServiceUnavailable, match="does not answer"):
        check_neo4j()
    assert "has a password already" in refusal(call_script("start", real))

    second = through_eval({**real, "NEO4J_PASSWORD": first.password})
    assert ask(second.environment, "MATCH (n:Kept) RETURN count(n)") == [[1]]
    assert call_script("stop --remove", real).returncode == 0
    assert not Path(real["NEO4J_STATE"]).exists()


@pytest.mark.slow
def test_a_password_of_any_characters_works_and_stands_nowhere(real: dict[str, str]) -> None:
    password = "s3cret 'quoted\" \\n $HOME `x` #é"
    starting = subprocess.Popen(
        [SCRIPT, "start"],
        env={**real, "NEO4J_PASSWORD": password},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    seen = set()
    while starting.poll() is None:
        for process in psutil.process_iter():
            try:
                seen.add(" ".join(process.cmdline()))
            except psutil.Error:
                continue
    told, noise = starting.communicate()
    assert starting.returncode == 0, noise
    server = server_of(told, Path(real["NEO4J_STATE"]))
    assert server.password == password
    assert ask(server.environment, "RETURN 1") == [[1]]
    assert any("set-initial-password" in command for command in seen)
    assert not any("s3cret" in command for command in seen)
    assert "s3cret" not in noise
    files = [path for path in Path(real["NEO4J_STATE"]).rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path for path in files if b"s3cret" in path.read_bytes()] == []
