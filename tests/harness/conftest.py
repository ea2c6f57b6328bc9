"""What the tests of several rooms need."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The shared data sets ($RAG_HARNESS_DATA, else ../shared/data); without them tests skip, in CI they fail."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("RAG_HARNESS_DATA") or beside)
    if not folder.is_dir():
        reason = f"no shared data at {folder} (set RAG_HARNESS_DATA)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
