"""A question file for each test of a review."""

from pathlib import Path

import pytest
from question_reviews import question_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return question_file(tmp_path)
