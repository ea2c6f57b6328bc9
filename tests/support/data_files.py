"""The real data files, if available."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from harness.datasets import local_files

ROOT = Path(__file__).resolve().parents[2]


def _absent(folder: Path) -> NoReturn:
    why = f"{folder} is missing; point {local_files.ENV} at the folder of data/README.md"
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the real files: RAG_HARNESS_DATA, otherwise ../shared/data next to the repository."""
    named = os.environ.get(local_files.ENV)
    folder = Path(named).expanduser() if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        _absent(folder)
    return folder.resolve()
