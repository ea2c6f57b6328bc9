"""The answer in words: who wins, who ties, what it costs, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

from harness.report.comparison.compare import Comparison


@dataclass(frozen=True)
class Findings:
    """What a group of runs says."""

    headline: str
    """One sentence: the answer that somebody who reads nothing else takes away."""
    sentences: tuple[str, ...]
    """What supports it: differences, ties, costs, refusals, what this many queries could have told apart."""
    measure: str | None
    """The measure that ranks; None where no run has a score."""
    order: tuple[int, ...]
    """Positions in `group.views`, the best first; brackets, which do not compete, at the end."""
    ranks: tuple[str, ...]
    """Of each view, by position: `1`, `1-3` for a tie, "–" where nothing ranks it."""  # noqa: RUF001
    comparison: Comparison | None
    """All pairs by the main measures; None: see `why_not`."""
    why_not: str = ""
    """Why nothing was compared."""
