"""The real data files, where they are."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from harness.datasets import files

ROOT = Path(__file__).resolve().parents[2]


def _absent(folder: Path) -> NoReturn:
    why = f"no data files: {folder} is not there; point {files.ENV} at the folder that data/README.md describes"
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Where the real files are: RAG_HARNESS_DATA, else ../shared/data beside the repository."""
    named = os.environ.get(files.ENV)
    folder = Path(named).expanduser() if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        _absent(folder)
    return folder.resolve()
