"""The packages of docs/examples, each installed as a stranger would."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from command_line import CommandLine
from strangers import EXAMPLES, command_line, install_package

Stranger = Callable[..., CommandLine]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """site(kind) -> the folder in which that example is installed; each is built once."""
    return cache(lambda kind: install_package(EXAMPLES / kind, tmp_path_factory.mktemp(kind)))


@pytest.fixture
def stranger(site: Callable[[str], Path], tmp_path: Path) -> Stranger:
    """stranger(kind, ...) -> the command line in an empty folder, with these examples installed."""
    return lambda *kinds: command_line(tmp_path, *map(site, kinds))
