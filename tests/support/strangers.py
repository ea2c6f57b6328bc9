"""External packages, built and installed next to the harness like a user would."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import patch

from command_line import REPOSITORY, CommandLine, CommandLineHere
from damaging import WorkersHere

from harness import registry

EXAMPLES = REPOSITORY / "docs" / "examples"


def install_package(source: Path, work: Path) -> Path:
    """The folder below `work` with the installed package from `source`; built from a copy, offline."""
    shutil.copytree(source, work / "source", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(work / "site")]
    # In half of the time of pip.
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        command = [str(uv), "pip", "install", "--no-cache", "--python", sys.executable]
    else:
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-cache-dir"]
    subprocess.run([*command, *options, str(work / "source")], check=True, cwd=work)
    return work / "site"


class InstalledHere(CommandLineHere):
    """A command and its workers in this process, which finds the packages of its PYTHONPATH during the call."""

    def call(self, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        sites = [site for site in self.env["PYTHONPATH"].split(os.pathsep) if site not in {"", *inherited}]
        registry._found.cache_clear()
        try:
            with patch.object(sys, "path", [*sites, *sys.path]), WorkersHere():
                return super().call(*words, **env)
        finally:
            registry._found.cache_clear()
            for name, module in [*sys.modules.items()]:
                if (getattr(module, "__file__", None) or "").startswith(tuple(sites)):
                    del sys.modules[name]


def command_line(folder: Path, *sites: Path, kind: type[CommandLine] = InstalledHere) -> CommandLine:
    """`rag-harness` in `folder`, with the packages in `sites`, and its own caches."""
    path = os.pathsep.join(filter(None, [*map(str, sites), os.environ.get("PYTHONPATH")]))
    return kind(folder, {"RAG_HARNESS_CACHE": str(folder / "cache"), "COLUMNS": "200", "PYTHONPATH": path})


def says(stranger: CommandLine, *words: str) -> str:
    """The output of a command that must succeed."""
    done = stranger.call(*words)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def keeps_its_contract(stranger: CommandLine, package: Path) -> Counter[str]:
    """Numbers of passed and skipped tests of the package; run outside of the harness, without its settings."""
    # A bare pytest: no plugin, no config, and every warning is an error.
    bare = ["-q", "-W", "error", "-p", "no:asyncio", "-p", "no:langsmith_plugin", "-p", "no:cacheprovider"]
    places = [
        "-c",
        str(package / "pyproject.toml"),
        f"--basetemp={stranger.folder / 'inner'}",
        str(package / "tests"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *bare, *places],
        check=False,
        cwd=stranger.folder,
        env={key: value for key, value in stranger.environment().items() if not key.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    summary = re.findall(r"(\d+) (passed|skipped)", done.stdout.strip().splitlines()[-1])
    return Counter({what: int(count) for count, what in summary})
