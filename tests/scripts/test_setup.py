"""scripts/setup: what it says, and whom it has pip and uv trust, which are programs here that write that down."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "python": """case "$*" in
  "-m pip config list") printf '%s\\n' "$PIP_SETTINGS" ;;
  "-m venv .venv") mkdir -p .venv/bin && cp python pip .venv/bin ;;
  -V) echo Python 3.11.9 ;;
esac""",
    "pip": 'echo "pip $PIP_CERT" >> told; cp uv .venv/bin',
    "uv": 'echo "uv $SSL_CERT_FILE $UV_SYSTEM_CERTS" >> told',
}
Setup = Callable[..., "subprocess.CompletedProcess[str]"]
STORES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")
STORE = next((path for path in STORES if os.access(path, os.R_OK)), "")


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    """setup(NAME="value") -> what the script did in a folder of its own."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup", tmp_path / "scripts" / "setup")
    shutil.copytree(ROOT / "scripts" / "locks", tmp_path / "scripts" / "locks")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "company.pem").write_text("")
    for name, does in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)

    def run(**env: str) -> "subprocess.CompletedProcess[str]":
        told = {"PATH": os.environ["PATH"], "PYTHON": str(tmp_path / "python"), **env}
        command = ["bash", "scripts/setup", "bench"]
        return subprocess.run(command, cwd=tmp_path, env=told, capture_output=True, text=True, check=False)

    return run


def told(folder: Path) -> list[str]:
    return [line.rstrip() for line in dict.fromkeys((folder / "told").read_text().splitlines())]


def test_it_says_each_step_and_the_second_time_nothing(setup: Setup) -> None:
    done = setup()
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert said[0] == "setup: making .venv with Python 3.11.9"
    assert "setup: installing uv by pip (about 25 MB)" in said
    assert any(line.startswith("setup: installing scripts/locks/bench.txt (wheels: 1") for line in said)
    assert said[-1].startswith("setup: ready in ")
    again = setup()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"])
def test_the_file_that_anybody_was_told_to_trust_is_told_to_pip_and_uv(
    setup: Setup, tmp_path: Path, name: str
) -> None:
    company = str(tmp_path / "company.pem")
    assert setup(**{name: company}).returncode == 0
    assert told(tmp_path) == [f"pip {company}", f"uv {company}"]


def test_else_it_is_the_store_of_the_system(setup: Setup, tmp_path: Path) -> None:
    assert setup().returncode == 0
    assert told(tmp_path) == [f"pip {STORE}".rstrip(), "uv  true"]


def test_whose_pip_has_a_file_of_its_own_keeps_it(setup: Setup, tmp_path: Path) -> None:
    assert setup(PIP_SETTINGS="global.cert='/etc/company.pem'").returncode == 0
    assert told(tmp_path) == ["pip", "uv  true"]


def test_a_file_that_is_not_there_is_one_line(setup: Setup) -> None:
    done = setup(SSL_CERT_FILE="/nowhere/company.pem")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith(
        "error: the file of certificates /nowhere/company.pem is not there: correct or unset"
    )
