"""The command line in a folder of its own."""

from pathlib import Path

import pytest
from command_line import CommandLine, CommandLineHere


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """Within this process, 200 columns wide."""
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "COLUMNS": "200"})
