"""Whole folders of results with one damaged file: no traceback, and nothing used without a word."""

import random
from pathlib import Path

import pytest
from damaging import Bench, Depth

pytestmark = pytest.mark.slow


def test_damage_is_never_a_traceback_and_never_used_without_a_word(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bench")
    wanted: dict[Depth, int] = {"read": 60, "commands": 5, "resume": 3}
    found = [
        bench.damaged(number, random.Random(f"{depth}/{number}"), depth)
        for depth, count in wanted.items()
        for number in range(count)
    ]
    assert [(seen.file, seen.damage, seen.tracebacks) for seen in found if seen.tracebacks] == []
    assert [(seen.file, seen.damage, seen.silent) for seen in found if seen.silent] == []
    assert any(seen.refusals for seen in found)
