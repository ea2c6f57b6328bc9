"""What is recorded of the machine and the code."""

import os
import subprocess
from pathlib import Path

import pytest

import harness
from harness.runner import machine_info


def test_asking_for_the_commit_changes_nothing_in_the_checkout() -> None:
    """Killed while it wrote the index, `git status` would leave a lock that stops the user's git."""
    code = Path(harness.__file__)
    if not machine_info.git_commit():
        pytest.skip("not in a checkout")
    asked = ("git", "-C", str(code.parent), "rev-parse", "--path-format=absolute", "--git-path", "index")
    index = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    looked_at, before = code.stat(), index.read_bytes()
    try:
        os.utime(code, (looked_at.st_atime, looked_at.st_mtime - 100))
        machine_info.git_commit()
        assert index.read_bytes() == before
    finally:
        os.utime(code, ns=(looked_at.st_atime_ns, looked_at.st_mtime_ns))
