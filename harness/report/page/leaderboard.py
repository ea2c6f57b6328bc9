"""The leaderboard of the page: the columns of the table, with a bar for each score."""

from __future__ import annotations

from dataclasses import dataclass

from harness.display import Entry
from harness.report.leaderboard import leaderboard
from harness.report.verdict.types import Standing, Verdict

_SCORE, _FIRST_OTHER = 2, 3


@dataclass(frozen=True)
class Bar:
    """Position of a mean and its interval, in per cent of the width."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Row:
    """One run."""

    standing: Standing
    bar: Bar | None
    score: Entry
    entries: tuple[Entry, ...]
    """Below the other columns."""


@dataclass(frozen=True)
class Board:
    """All runs of a group, the best first."""

    metric: str
    header: tuple[str, ...]
    """Titles of the columns after the score."""
    rows: tuple[Row, ...]


def board_of(verdict: Verdict) -> Board:
    """The brief leaderboard; without a score there are no bars."""
    table = leaderboard(verdict, brief=True)
    scored = _SCORE if verdict.metric else None
    first = _FIRST_OTHER if verdict.metric else _SCORE
    ends = [end for one in verdict.standings if one.score for end in (one.score.value, one.score.high) if end]
    full = max([1.0 if verdict.is_share else 0.0, *ends]) or 1.0
    rows = tuple(
        Row(one, _bar(one, full), entries[scored] if scored else None, tuple(entries[first:]))
        for one, entries in zip(verdict.standings, table.rows, strict=True)
    )
    return Board(verdict.metric_title, table.header[first:], rows)


def _bar(standing: Standing, full: float) -> Bar | None:
    score = standing.score
    if score is None:
        return None
    low, high = (None if end is None else _part(end, full) for end in (score.low, score.high))
    return Bar(_part(score.value, full), low, high)


def _part(value: float, full: float) -> float:
    return round(100 * min(max(value / full, 0.0), 1.0), 2)
