"""Whole folders of results with one damaged file: no traceback, and nothing used without a word."""

import random
from pathlib import Path

import pytest
from damaging import Bench

pytestmark = pytest.mark.slow


def test_damage_is_never_a_traceback_and_never_used_without_a_word(tmp_path: Path) -> None:
    """scripts/research/damage_runs.py does more of it."""
    bench = Bench(tmp_path / "bench")
    found = [bench.damaged(number, random.Random(number), resumes=number % 4 == 0) for number in range(12)]
    assert [(seen.file, seen.damage, seen.tracebacks) for seen in found if seen.tracebacks] == []
    assert [(seen.file, seen.damage, seen.silent) for seen in found if seen.silent] == []
    assert any(seen.refusals for seen in found)
