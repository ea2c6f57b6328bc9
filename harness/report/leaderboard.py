"""The leaderboard as a table, and with bars for the page: score, difference to the best, and cost of every run."""

from __future__ import annotations

from collections.abc import Callable

from harness.display import Entry, NumberForm, Quantity, Table, format_value, printable
from harness.report.verdict.headline import advice, stand_in_of
from harness.report.verdict.types import OPEN, Number, Outcome, Standing, Verdict
from harness.statistics.cost import TIMES

MOST_COLUMNS = 7
_Column = tuple[str, Callable[[Standing], Entry]]


def leaderboard(verdict: Verdict, *, brief: bool = False) -> Table:
    """The runs in order, the best first; `brief`: at most `MOST_COLUMNS` columns, those that matter most."""
    has_behind = any(one.behind is not None for one in verdict.standings)
    mean: NumberForm = "± %" if verdict.is_share else "±"
    gap: NumberForm = "points" if verdict.is_share else "two"
    # Beside the median in the column of seconds.
    mean_of = "mean " if verdict.metric in TIMES else ""
    columns: list[_Column] = [
        ("system", lambda one: printable(one.system, 100)),
        ("", lambda one: status_of(verdict, one, brief=brief)),
        *([(f"{mean_of}{verdict.metric_title}", lambda one: _number(one.score, mean))] if verdict.metric else []),
        *([("against the best", lambda one: _number(one.behind, gap, signed=True) or "")] if has_behind else []),
        *([(verdict.unranked_title, _unranked)] if verdict.unranked_title else []),
        *_others(verdict),
    ]
    kept = columns[:MOST_COLUMNS] if brief else [*columns, *_details(verdict)]
    rows = tuple(tuple(of(one) for _, of in kept) for one in verdict.standings)
    is_half = any("±" in format_value(entry) for row in rows for entry in row)
    header = tuple(title for title, _ in kept)
    return Table("leaderboard", "Leaderboard", header, rows, note=_note(verdict, is_half=is_half))


def status_of(verdict: Verdict, one: Standing, *, brief: bool = False) -> str:
    """Empty for the best of systems of which none is advised; brief: without why a run is not ranked."""
    if one.status == "recommended":
        if not advice(verdict):
            return ""
        chosen = "leads" if stand_in_of(verdict) else "choose"
        return chosen if brief else one.status
    if verdict.outcome == Outcome.INCONCLUSIVE and one.n_missing and one.status in OPEN:
        return "unknown"
    if verdict.outcome == Outcome.TOO_FEW and one.status == "tied":
        return "inconclusive"
    return one.why if one.status == "not ranked" and one.why and not brief else one.status


def _others(verdict: Verdict) -> list[_Column]:
    """What else is shown, the most important first: failures, costs, the other metrics."""
    standings = verdict.standings
    failed: _Column = ("failed", lambda one: _share(one.failed))
    dollars: _Column = ("$ per 1,000", lambda one: _number(one.usd_per_1000))
    tokens: _Column = ("tokens", lambda one: _number(one.tokens))
    seconds: _Column = ("seconds", lambda one: _number(one.seconds))
    has_failed = any(one.failed for one in standings)
    has_dollars = any(one.usd_per_1000 and one.usd_per_1000.value for one in standings)
    has_tokens = any(one.tokens and one.tokens.value for one in standings)
    held = [title for one in standings for title, value in one.columns.items() if value is not None]
    return [
        *([failed] if has_failed else []),
        *([dollars] if has_dollars else [tokens] if has_tokens else []),
        *([seconds] if any(one.seconds for one in standings) else []),
        *([tokens] if has_dollars and has_tokens else []),
        *map(_metric, dict.fromkeys(held)),
        *([] if has_failed else [failed]),
    ]


def _details(verdict: Verdict) -> list[_Column]:
    index: list[_Column] = [
        ("index tokens", lambda one: _number(one.index_tokens)),
        ("index $", lambda one: _number(one.index_usd)),
    ]
    has_index = any(one.index_tokens or one.index_usd for one in verdict.standings)
    return [("n", lambda one: Quantity(one.n, unit="count")), *(index if has_index else [])]


def _metric(title: str) -> _Column:
    return title, lambda one: _share(one.columns.get(title))


def _unranked(one: Standing) -> Entry:
    return Quantity(one.unranked.value, n=one.n_unranked, unit="± %") if one.unranked else None


def _share(value: float | None) -> Entry:
    return None if value is None else Quantity(value, unit="± %")


def _number(found: Number | None, unit: NumberForm = "two", *, signed: bool = False) -> Entry:
    if found is None:
        return None
    return Quantity(
        found.value, found.low, found.high, unit=unit, at_least=found.at_least, signed=signed, mark=found.mark
    )


def _note(verdict: Verdict, *, is_half: bool) -> str:
    if not verdict.metric:
        return ""
    points = "in points, " if verdict.is_share else ""
    half = "± is half of the 95 % interval. " if is_half else ""
    return (
        f"{half}Against the best: the difference, {points}with its 95 % interval, on the same queries, for new "
        "documents too where those of a query are known. Seconds are the median of a query; $ per 1,000 questions "
        "and tokens are without the index."
    )


def bar_width(verdict: Verdict, score: float) -> float:
    """Of the bar of a score, in per cent of the widest, which is 1 for shares."""
    ends = [end for one in verdict.standings if one.score for end in (one.score.value, one.score.high) if end]
    full = max([1.0 if verdict.is_share else 0.0, *ends]) or 1.0
    return round(100 * min(max(score / full, 0.0), 1.0), 2)
