"""Records connections and files opened for writing by processes, including native code."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_suffix(".c")
_SETTINGS = re.compile(
    r"TELEMETRY|TRACK|TRACING|USAGE_STATS|^(CI|GITHUB_ACTIONS|JENKINS_URL)$|^(XDG|HF|MPL)_|^LD_PRELOAD$"
)
"""Variables that configure libraries, set by the user or by this process for its children."""


@dataclass(frozen=True)
class Guard:
    """A preloaded library that writes a log."""

    library: Path
    log: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a user without settings, with an empty home."""
        kept = {name: value for name, value in os.environ.items() if not _SETTINGS.search(name)}
        home, temporary = self.log.with_name("home"), self.log.with_name("tmp")
        for folder in (home, temporary):
            folder.mkdir(exist_ok=True)
        own = {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
        return {**kept, **own, "LD_PRELOAD": str(self.library)}

    def hosts(self) -> set[str]:
        return self._noted("host")

    def files(self) -> set[str]:
        """Absolute paths, without devices."""
        return {path for path in self._noted("file") if not path.startswith(("/dev/", "/proc/"))}

    def _noted(self, kind: str) -> set[str]:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return {line.removeprefix(f"{kind} ") for line in lines if line.startswith(f"{kind} ")}


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    """Without a C compiler the test is skipped, or fails if CI=true."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        why = "no C compiler: what native code connects to was not tested (apt-get install gcc libc6-dev)"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    made = Guard(tmp_path / "connection_guard.so", tmp_path / "guard.log")
    words = ["-shared", "-fPIC", "-O1", f'-DLOG="{made.log}"', "-o", str(made.library), str(SOURCE), "-ldl"]
    subprocess.run([compiler, *words], check=True)
    return made
