"""Duration of calls that ran concurrently, and predictions for others."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BusyTime = tuple[float, float]
"""Start and end, in seconds."""


def own_seconds(intervals: Sequence[BusyTime]) -> list[float]:
    """Each interval's part of the covered time: a moment is shared equally by all intervals that contain it.

    The parts sum to the covered time. So a call that shared a server with seven others counts an eighth of its
    duration, and sums predict the duration of many calls that are made in the same way.
    """
    changes: dict[float, int] = {}
    for start, end in intervals:
        changes[start] = changes.get(start, 0) + 1
        changes[max(start, end)] = changes.get(max(start, end), 0) - 1
    moments = sorted(changes)
    credited = dict.fromkeys(moments[:1], 0.0)
    under_way = 0
    for moment, following in pairwise(moments):
        under_way += changes[moment]
        credited[following] = credited[moment] + ((following - moment) / under_way if under_way else 0.0)
    return [credited[max(start, end)] - credited[start] for start, end in intervals]


def covered_seconds(intervals: Sequence[BusyTime]) -> float:
    """The time covered by at least one interval."""
    covered, reached = 0.0, -inf
    for start, end in sorted(intervals):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


@dataclass(frozen=True)
class SecondsFit:
    """seconds = per_call * calls + per_input_token * input tokens + per_output_token * output tokens; none below
    0.
    """

    per_call: float
    per_input_token: float
    """Without tokens from the server's prompt cache, which take no time."""
    per_output_token: float

    def seconds(self, calls: float, input_tokens: float, output_tokens: float) -> float:
        """Seconds for a number of calls with these total tokens."""
        read, written = input_tokens * self.per_input_token, output_tokens * self.per_output_token
        return calls * self.per_call + read + written


def fit_seconds(rows: Sequence[tuple[float, float, float]]) -> SecondsFit | None:
    """Fit (input tokens, output tokens, seconds) of calls by least squares; None without calls."""
    if not rows:
        return None
    columns = [[1.0, read, written] for read, written, _ in rows]
    return SecondsFit(*least_squares(columns, [seconds for *_, seconds in rows]))


def least_squares(rows: Sequence[Sequence[float]], target: Sequence[float]) -> list[float]:
    """The non-negative coefficients with the least sum of squared errors; of equal solutions, the one with the
    fewest above 0.

    Every subset of the (few) columns is tried; the best without a negative coefficient is the exact solution.
    """
    import numpy as np

    x, y = np.asarray(rows, dtype=float), np.asarray(target, dtype=float)
    best, least = np.zeros(x.shape[1]), float(y @ y)
    for size in range(1, x.shape[1] + 1):
        for chosen in combinations(range(x.shape[1]), size):
            found = _solved(x[:, chosen], y)
            error = float(((x[:, chosen] @ found - y) ** 2).sum())
            if (found >= 0).all() and error < least * (1 - 1e-9):
                best, least = np.zeros(x.shape[1]), error
                best[list(chosen)] = found
    return [float(value) for value in best]


def _solved(x: "NDArray[np.float64]", y: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0], dtype=np.float64)


@dataclass(frozen=True)
class Allowed:
    """Limits of a model per minute; None: no limit."""

    requests: float | None = None
    tokens: float | None = None
    """Prompts and replies together."""

    def seconds(self, requests: float, tokens: float) -> float:
        """Minimum seconds for so many requests and tokens."""
        per_minute = ((requests, self.requests), (tokens, self.tokens))
        return max((60 * amount / most for amount, most in per_minute if most), default=0.0)


UNLIMITED = Allowed()
