"""scripts/locks as it stands: what `make setup` installs is named exactly, by hash, and listed."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import chain
from pathlib import Path

import pytest
from command_line import REPOSITORY
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "scripts" / "locks"
NAMES = sorted(path.stem for path in LOCKS.glob("*.txt"))


def entries(name: str) -> list[tuple[Requirement, list[str]]]:
    """(requirement, its hashes) of each entry of a lock."""
    text = (LOCKS / f"{name}.txt").read_text().replace("\\\n", " ")
    words = [re.split(r"\s+--hash=", line.strip()) for line in text.splitlines()]
    return [(Requirement(first), hashes) for first, *hashes in words]


def pins(*names: str) -> dict[tuple[str, str], str]:
    """(package, marker) -> version."""
    found = [requirement for name in names for requirement, _ in entries(name)]
    return {(item.name, str(item.marker)): str(item.specifier).removeprefix("==") for item in found}


@pytest.mark.parametrize("name", NAMES)
def test_every_package_is_one_version_with_the_hashes_of_its_files(name: str) -> None:
    for requirement, hashes in entries(name):
        (only,) = requirement.specifier
        assert only.operator == "==", requirement
        assert hashes, requirement
        for value in hashes:
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", value), requirement


def test_no_lock_names_an_index() -> None:
    assert {"bench", "dev", "st", "torch", "uv"} <= set(NAMES)
    for path in LOCKS.iterdir():
        assert not re.search(r"pypi\.org|pythonhosted|--(extra-)?index-url|--find-links", path.read_text()), path


def test_setup_installs_nothing_but_locked_wheels_and_this_repository() -> None:
    text = (ROOT / "scripts" / "setup").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    calls = [line for line in lines if re.search(r"\bpip install\b", line)]
    assert len(calls) == 2
    assert all("--no-deps" in line for line in calls)
    (by_name,) = [line for line in lines if re.search(r"by_(pip|uv)\b.*[a-z]==", line)]
    assert "TORCH_INDEX" in by_name
    assert "--require-hashes $no_build" in text
    assert "no_build=--no-build" in text


def test_what_setup_bench_and_setup_dev_have_in_common_is_the_same() -> None:
    # Whoever wants a package decides where it is wanted: markers differ, versions do not.
    dev, bench, st = (
        {name: version for (name, _), version in pins(lock).items()} for lock in ("dev", "bench", "st")
    )
    assert bench.items() <= dev.items()
    shared = {name: version for name, version in st.items() if name in dev}
    assert shared.items() <= dev.items()


def test_the_locks_hold_what_the_package_asks_for() -> None:
    """A range that was changed without scripts/lock is seen here."""
    locked = {canonicalize_name(name): version for (name, _), version in pins("dev", "st", "torch").items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = chain(project["dependencies"], *project["optional-dependencies"].values())
    asked = [item for item in map(Requirement, listed) if item.name != project["name"]]
    assert len(asked) > 40
    found = [(item, locked.get(canonicalize_name(item.name), "")) for item in asked]
    wrong = [str(item) for item, version in found if not item.specifier.contains(version)]
    assert wrong == []


def test_the_bill_of_materials_is_that_of_the_locks() -> None:
    bill = json.loads((LOCKS / "sbom.json").read_text())
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "rag-bench-harness")
    listed = sorted((item["name"], item["version"]) for item in bill["components"])
    wanted = [(name, version) for (name, _), version in pins("uv", "bench", "nodeps").items()]
    assert listed == sorted(wanted)
    assert {item["purl"] for item in bill["components"]} == {
        f"pkg:pypi/{name}@{version}" for name, version in wanted
    }


# The audit of the locked packages, with advisories of our own.


FOUND = ("numpy", "GHSA-of-mine")


class Advisories(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        found = [{"vulns": [{"id": FOUND[1]}]} if one["package"]["name"] == FOUND[0] else {} for one in queries]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"results": found}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def advisories() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Advisories) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def audit(url: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(REPOSITORY / "scripts" / "audit.py")]
    return subprocess.run(command, env={"OSV_URL": url}, capture_output=True, text=True, check=False)


def test_a_locked_version_with_an_advisory_is_named_and_the_audit_fails(advisories: str) -> None:
    done = audit(advisories)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if FOUND[0] in line and FOUND[1] in line]


def test_where_no_advisories_can_be_had_the_audit_says_so_in_one_line_and_passes() -> None:
    done = audit("http://127.0.0.1:1")
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 1, "")


# scripts/setup: what it says, and whom it has pip and uv trust, which are programs here that write that down.


CHECKOUT = Path(__file__).resolve().parents[2]
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
    shutil.copy(CHECKOUT / "scripts" / "setup", tmp_path / "scripts" / "setup")
    shutil.copytree(CHECKOUT / "scripts" / "locks", tmp_path / "scripts" / "locks")
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
