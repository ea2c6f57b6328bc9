"""Whole runs through the command line, with workers in real processes and the scripted model."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, CommandLineHere
from serving import serving
from smoke_index import Indexed

from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """The command line in an empty folder with caches of its own."""
    return CommandLine(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})


@pytest.fixture
def here(cli: CommandLine) -> CommandLineHere:
    """The same with the command itself in this process, and its workers in theirs."""
    return CommandLineHere(cli.folder, cli.env)


@pytest.fixture
def indexed(here: CommandLineHere, with_index: Indexed) -> CommandLineHere:
    """`here`, where the index of the smoke config is built: for what is about answers."""
    with_index(here)
    return here


@pytest.fixture
def serve() -> Iterator[Any]:
    """serve(script) -> a running FakeServer; all are stopped afterwards."""
    with ExitStack() as stack:
        yield lambda script=None: stack.enter_context(serving(FakeServer(script or FakeScript())))
