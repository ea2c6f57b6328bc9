"""Reads journals, for tests that count calls."""

import sqlite3
from contextlib import closing
from pathlib import Path

from harness.core.records import Usage


def faults_in(path: Path) -> list[tuple[str, float]]:
    """Reason and waited seconds of each failed attempt in a journal."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT reason, waited_s FROM faults").fetchall()


def usage_by_role(path: Path) -> dict[str, Usage]:
    """The sums over every call in a journal, by role."""
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute(
            "SELECT role, COUNT(*), SUM(input_tokens), SUM(output_tokens), SUM(cached_tokens), SUM(1 - metered)"
            " FROM calls GROUP BY role"
        ).fetchall()
    names = ("calls", "input_tokens", "output_tokens", "cached_tokens", "unmetered_calls")
    return {role: Usage(**dict(zip(names, sums, strict=True))) for role, *sums in rows}
