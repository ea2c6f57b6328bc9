"""Runs `rag-harness` as a user does: in real processes, in its own folder."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from harness.cli.main import main
from harness.core.process_environment import python_command
from harness.models.fake_server import FakeServer

REPOSITORY = Path(__file__).resolve().parents[2]
SMOKE = REPOSITORY / "configs" / "bench" / "smoke.yaml"


@dataclass
class CommandLine:
    """`rag-harness` in its own folder."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    timeout_s: float = 300.0

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def command(self, *words: str) -> list[str]:
        return python_command("harness.cli.main", *words)

    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
        return {**kept, **self.env}

    def call(self, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env={**self.environment(), **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=self.timeout_s,
        )

    def begin(
        self, *words: str, stdout: int = subprocess.DEVNULL, stderr: int = subprocess.PIPE
    ) -> "subprocess.Popen[str]":
        """Start a command in its own process."""
        return subprocess.Popen(
            self.command(*words),
            cwd=self.folder,
            env=self.environment(),
            stdout=stdout,
            stderr=stderr,
            text=True,
        )

    def run(self, *words: str) -> dict[str, Any]:
        """`rag-harness run --config smoke --json ...`; returns its one run."""
        done = self.call("run", "--config", str(SMOKE), "--json", "--records-only", *words)
        assert done.stdout, done.stderr
        runs = json.loads(done.stdout)["runs"]
        assert len(runs) == 1
        return {**runs[0], "rc": done.returncode, "stderr": done.stderr}

    def refused(self, *words: str, **env: str) -> str:
        """The one-line error of a command with exit code 2."""
        done = self.call(*words, **env)
        assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
        assert done.stdout == ""
        lines = done.stderr.strip().splitlines()
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("error: ")
        return lines[0]


class CommandLineHere(CommandLine):
    """The same within this process; workers are still started as processes. For tests of a command's output or
    effects and not of its process, because starting Python takes most of the time.
    """

    def call(self, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        command, code = ["rag-harness", *words], 0
        terminated = signal.getsignal(signal.SIGTERM)
        with (
            patch.object(sys, "excepthook"),
            patch.dict(os.environ, {**self.environment(), **env}, clear=True),
            patch.object(sys, "argv", command),
            chdir(self.folder),
            redirect_stdout(StringIO()) as out,
            redirect_stderr(StringIO()) as err,
        ):
            try:
                main()
            except SystemExit as ended:
                code = int(ended.code or 0)
            finally:
                signal.signal(signal.SIGTERM, terminated)
        return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


def over_http(role: str, server: FakeServer, **settings: object) -> list[str]:
    """The --set words that send a model role to `server`."""
    wanted: Mapping[str, object] = {
        "provider": "openai-compatible",
        "base_url": server.base_url,
        "model": "fake",
        **settings,
    }
    return [word for key, value in wanted.items() for word in ("--set", f"models.{role}.{key}={value}")]
