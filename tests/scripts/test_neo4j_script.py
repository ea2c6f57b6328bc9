"""scripts/neo4j as a user calls it: stand-ins for Java and Neo4j where it refuses, the real ones else."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from neo4j_server import SCRIPT, Neo4jServer, call_script, neo4j_home, server_of, unset

from harness.core.errors import ServiceUnavailable
from systems.common.graph_stores.neo4j_server import Neo4jSettings, check_neo4j, connect, rows_of

Call = Callable[..., "subprocess.CompletedProcess[str]"]
PASSWORD = "s3cret 'quoted\" \\n $HOME `x` #é"


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

    def run(
        command: str, script: Path | str = SCRIPT, cwd: Path | None = None, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        return call_script(command, {**environment, **more}, script, cwd)

    return run


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
    limits = {"db.transaction.timeout", "db.memory.transaction.max", "dbms.memory.transaction.total.max"}
    assert limits <= set(keys)
    container = SCRIPT.with_suffix(".compose.yaml").read_text()
    assert all(f"NEO4J_{name.replace('.', '_')}:" in container for name in limits)


@pytest.fixture
def slow_home(home: Path) -> Path:
    """A distribution whose server runs and never answers."""
    server = "while :; do sleep 0.1; done"
    executable(
        home / "bin" / "neo4j",
        'mkdir -p "$NEO4J_CONF/../data/databases"',
        f'sh -c "{server}" server --config-dir="$NEO4J_CONF" --console >/dev/null 2>&1 </dev/null &',
        'echo $! >"$NEO4J_CONF/../run/neo4j.pid"',
    )
    return home


def test_a_server_that_is_slower_than_the_wait_runs_on_and_its_password_is_told(
    call: Call, slow_home: Path, tmp_path: Path
) -> None:
    done = call("start", NEO4J_HOME=str(slow_home), NEO4J_BOLT_PORT="0", NEO4J_WAIT_S="1")
    pid = int((tmp_path / "state" / "run" / "neo4j.pid").read_text())
    try:
        assert done.returncode == 2
        assert "NEO4J_WAIT_S waits longer" in done.stderr.splitlines()[-1]
        told = server_of(done.stdout, tmp_path / "state")
        assert len(told.password) >= 8
        assert told.password not in done.stderr
        assert any(f"--config-dir={tmp_path}" in line for line in command_lines())
        assert call("stop --remove", NEO4J_HOME=str(slow_home)).returncode == 0
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not (tmp_path / "state").exists()


def test_a_start_that_is_interrupted_leaves_no_server_with_a_password_that_nobody_knows(
    call: Call, slow_home: Path, tmp_path: Path
) -> None:
    executable(tmp_path / "interrupted", f"exec timeout --foreground -s TERM 1 '{SCRIPT}' start")
    done = call("", script=tmp_path / "interrupted", NEO4J_HOME=str(slow_home), NEO4J_BOLT_PORT="0")
    assert done.stdout == ""
    assert not (tmp_path / "state" / "data").exists()
    assert not any(f"--config-dir={tmp_path}" in line for line in command_lines())


def test_where_nothing_runs_status_is_3_and_stop_is_content(call: Call, tmp_path: Path) -> None:
    done = call("status")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"no Neo4j answers from {tmp_path / 'state'}: scripts/neo4j start\n"
    for command in ("stop", "stop --remove"):
        done = call(command)
        assert (done.returncode, done.stderr) == (0, f"no Neo4j runs in {tmp_path / 'state'}\n")


def test_remove_takes_what_start_made_and_nothing_else(call: Call, home: Path, tmp_path: Path) -> None:
    call("start", NEO4J_HOME=str(home), NEO4J_BOLT_PORT="0")
    mine = tmp_path / "state" / "mine.txt"
    mine.write_text("x")
    assert call("stop --remove").returncode == 0
    assert list((tmp_path / "state").iterdir()) == [mine]


# --- the default folder, by every name it has


@dataclass(frozen=True)
class Clone:
    """A repository with the script, in a folder with a space in its name, and a link to it beside."""

    root: Path

    @property
    def state(self) -> Path:
        """The default folder of its server."""
        return self.root / "data" / "neo4j"

    def calls(self, from_outside: Path) -> "list[tuple[Path | str, Path]]":
        """Every way to call the script, and where: in the repository, elsewhere, by links, in a linked folder."""
        folder, script = from_outside / "linked", from_outside / "its-script"
        folder.symlink_to(self.root)
        script.symlink_to(Path("linked") / "scripts" / "neo4j")
        inside = "scripts/neo4j"
        return [
            (inside, self.root),
            (self.root / inside, from_outside),
            (folder / inside, Path("/")),
            (script, self.root / "data"),
            ("./neo4j", folder / "scripts"),
        ]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    root = (tmp_path / "the clone").resolve()
    (root / "data").mkdir(parents=True)
    (root / "scripts").mkdir()
    shutil.copy(SCRIPT, root / "scripts")
    shutil.copy(SCRIPT.with_name("neo4j.compose.yaml"), root / "scripts")
    return Clone(root)


@pytest.fixture
def stand_in(clone: Clone) -> Iterator[Callable[[Path], "subprocess.Popen[bytes]"]]:
    """stand_in(conf): a process that looks like a Neo4j of that folder, as whose server the clone has noted it."""
    started: list[subprocess.Popen[bytes]] = []

    def start(conf: Path) -> "subprocess.Popen[bytes]":
        words = ["-c", "read forever", "--home-dir=/opt/neo4j", f"--config-dir={conf}", "--console"]
        process = subprocess.Popen(["bash", *words], stdin=subprocess.PIPE)
        started.append(process)
        for folder in ("conf", "run", "data"):
            (clone.state / folder).mkdir(parents=True, exist_ok=True)
        (clone.state / "conf" / "neo4j.conf").write_text("server.bolt.listen_address=:1\n")
        (clone.state / "run" / "neo4j.pid").write_text(f"{process.pid}\n")
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_stop_ends_the_server_of_the_default_folder_by_whatever_name_it_is_called(
    call: Call, clone: Clone, stand_in: Callable[[Path], "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    for script, cwd in clone.calls(tmp_path):
        process = stand_in(clone.state / "conf")
        done = call("stop", script=script, cwd=cwd, NEO4J_STATE="")
        assert (done.returncode, done.stderr) == (0, f"stopping Neo4j in {clone.state}\n"), script
        assert process.wait(timeout=10) == -signal.SIGTERM
    assert (clone.state / "data").is_dir()
    process = stand_in(clone.state / "conf")
    assert call("stop --remove", cwd=tmp_path, NEO4J_STATE="linked/data/../data/neo4j").returncode == 0
    assert process.wait(timeout=10) == -signal.SIGTERM
    assert not clone.state.exists()


@pytest.mark.parametrize("other", ["/opt/other/conf", "{state}/conf2", "/opt{state}/conf"])
def test_a_number_that_passed_to_another_process_is_not_stopped(
    call: Call, clone: Clone, stand_in: Callable[[Path], "subprocess.Popen[bytes]"], other: str
) -> None:
    process = stand_in(Path(other.format(state=clone.state)))
    for command in ("status", "stop", "stop --remove"):
        done = call(command, NEO4J_STATE=str(clone.state))
        assert done.stderr.startswith("no Neo4j "), command
    assert process.poll() is None
    assert not clone.state.exists()


# --- the real one


@pytest.fixture
def real(clone: Clone) -> Iterator[dict[str, str]]:
    """The environment of a real server in the clone; removed afterwards."""
    dist = neo4j_home()
    if dist is None:
        why = "could not test scripts/neo4j with a distribution: NEO4J_HOME is not set"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    environment = {**unset(os.environ), "NEO4J_HOME": str(dist), "NEO4J_BOLT_PORT": "0"}
    yield environment
    call_script("stop --remove", {**environment, "NEO4J_STATE": str(clone.state)})


def command_lines() -> Iterator[str]:
    """Of every process that runs."""
    for process in psutil.process_iter():
        try:
            yield " ".join(process.cmdline())
        except psutil.Error:
            continue


def ask(server: Mapping[str, str], query: str) -> list[list[object]]:
    driver = connect(Neo4jSettings.from_environment(server))
    try:
        return rows_of(driver, query)
    finally:
        driver.close()


def through_eval(
    environment: Mapping[str, str], clone: Clone, while_it_starts: Callable[[], object]
) -> Neo4jServer:
    """What a shell in the clone knows after `eval "$(scripts/neo4j start)"`; meanwhile something is done."""
    names = " ".join(f'"{name}=${name}"' for name in ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD"))
    code = f'eval "$(scripts/neo4j start)" && printf "export %q\\n" {names}'
    shell = subprocess.Popen(
        ["bash", "-c", code],
        env=dict(environment),
        cwd=clone.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while shell.poll() is None:
        while_it_starts()
        time.sleep(0.05)
    told, noise = shell.communicate()
    assert shell.returncode == 0, noise
    assert PASSWORD not in noise
    return server_of(told, clone.state)


def is_running(clone: Clone) -> Callable[[], bool]:
    """Whether the server that runs now still does."""
    server = psutil.Process(int((clone.state / "run" / "neo4j.pid").read_text()))
    return lambda: server.is_running() and server.status() != psutil.STATUS_ZOMBIE


@pytest.mark.slow
@pytest.mark.long
def test_a_server_of_the_default_folder_from_start_to_removal(
    real: dict[str, str], clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The password is one of any characters, and stands nowhere.
    commands = set[str]()
    first = through_eval({**real, "NEO4J_PASSWORD": PASSWORD}, clone, lambda: commands.update(command_lines()))
    assert first.password == PASSWORD
    assert any("set-initial-password" in command for command in commands)
    assert not any(PASSWORD[:6] in command for command in commands)
    files = [path for path in clone.state.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path for path in files if PASSWORD[:6].encode() in path.read_bytes()] == []
    here, still_runs = first.environment, is_running(clone)

    calls = clone.calls(tmp_path)
    for script, cwd in calls:
        done = call_script("status", real, script, cwd)
        assert (done.returncode, done.stderr) == (0, f"Neo4j answers at {first.uri}\n"), script
    linked, elsewhere = calls[2]
    again = call_script("start", real, linked, elsewhere)
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

    assert call_script("stop", real, linked, elsewhere).returncode == 0
    assert not still_runs()
    with socket.create_server(("127.0.0.1", port)):
        pass
    assert call_script("status", real, *calls[0]).returncode == 3
    with pytest.raises(ServiceUnavailable, match="does not answer"):
        check_neo4j()
    assert "has a password already" in refusal(call_script("start", real, *calls[0]))

    assert call_script("stop --remove", real, *calls[0]).returncode == 0
    assert not clone.state.exists()
