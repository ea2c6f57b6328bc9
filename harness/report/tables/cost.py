"""What answering takes: tokens, seconds and dollars, of a query and of each phase."""

from __future__ import annotations

from collections.abc import Iterable

from harness.analysis import Aggregate
from harness.analysis.judging import PREFIX
from harness.display import Entry, Quantity, Table, printable
from harness.report.aggregates import amount, count, plain, population, value_of
from harness.report.view import Group, RunView

_USED = ("model_calls", "input_tokens", "output_tokens", "cached_tokens", "usd")

_WALL = ("wall_s_p50", "wall_s")
THROTTLED = "mean seconds in which every open model call of a query waited for a limit of its provider"

Used = tuple[float | None, ...]
"""As `_USED`; None: not known."""


def query_cost_table(group: Group) -> Table:
    """Tokens, calls, seconds and dollars of one query."""
    header: tuple[str, ...] = ("system", "input tokens", "output tokens", "model calls", "latency p50, s")
    header += ("p95, s", "mean, s", "n", "wall p50, s", "wall mean, s", "throttled, s", "USD per query")
    header += ("USD for all answers",)
    rows = []
    for view in group.views:
        means = [plain(view.value(name)) for name in ("input_tokens", "output_tokens", "model_calls")]
        times = [plain(view.value(f"latency_s{end}")) for end in ("_p50", "_p95", "")]
        rest = [plain(view.value(name)) for name in (*_WALL, "throttled_s", "usd", "answer_usd_total")]
        rows.append((printable(view.label), *means, *times, population(view.row("latency_s")), *rest))
    return Table("query_cost", "Cost and time of a query", header, tuple(rows))


def latency_table(group: Group) -> Table | None:
    """Quantiles and mean with intervals, waiting for limits of providers apart; None where no run has a latency."""
    views = [view for view in group.views if view.row("latency_s")]
    if not views:
        return None
    header: tuple[str, ...] = ("system", "p50, s", "p90, s", "p95, s", "p99, s", "mean, s", "wall p50, s")
    header += ("wall mean, s", "throttled, s", "throttled, %", "n", "left out")
    rows: list[tuple[Entry, ...]] = []
    for view in views:
        times = [amount(view.row(f"latency_s{end}")) for end in ("_p50", "_p90", "_p95", "_p99", "")]
        mean = view.row("latency_s")
        counts = (count(mean.n_scored), count(mean.n_failed)) if mean else (None, None)
        wall = [amount(view.row(name)) for name in _WALL]
        throttled = (amount(view.row("throttled_s")), _throttled_share(view))
        rows.append((printable(view.label), *times, *wall, *throttled, *counts))
    note = (
        "[low, high]: 95 % interval; of a quantile with few answers or with repeats there is none. Wall: from the "
        f"question to the answer. Throttled: {THROTTLED}, and their part of the wall time; latency is wall without "
        "them. Left out: not answered, failed, or replayed after an interruption."
    )
    return Table("latency", "Latency", header, tuple(rows), note=note)


def phases_table(group: Group) -> Table:
    """What models were asked to build the index and to answer, and a query's share of both; judges apart."""
    header = ("system", "phase", "model calls", "input tokens", "output tokens", "cached tokens", "USD", "n")
    rows = tuple(
        (printable(view.label), phase, *map(plain, used), n)
        for view in group.views
        for phase, used, n in _phases(view)
    )
    note = (
        "A query with the index: a query and its share of the index, over the n answers of this run; more queries "
        "make it cheaper. Judges are what the evaluation took: no cost of the system, and in no other row."
    )
    title = "Tokens and dollars by phase"
    return Table("tokens_by_phase", title, header, rows, note=note, is_detail=True)


def _phases(view: RunView) -> Iterable[tuple[str, Used, Entry]]:
    index = tuple(view.value(f"index_{name}") for name in _USED)
    query_rows = [view.row(name) for name in _USED]
    query = tuple(value_of(row) for row in query_rows)
    answers = tuple(_whole(view, row) for row in query_rows)
    n = view.n_answered
    population_of = population(view.row("input_tokens"))
    yield "index", index, ""
    yield "all answers", answers, population_of
    yield "a query", query, population_of
    if n:
        with_index = tuple(_shared(one, whole, n) for one, whole in zip(query, index, strict=True))
        yield "a query with the index", with_index, count(n)
    judged = _judged(view)
    if judged is not None:
        yield "judges", judged, ""


def _whole(view: RunView, row: Aggregate | None) -> float | None:
    """The sum behind a mean; with repeats only where none is missing, for the mean weighs queries alike."""
    if row is None or row.mean is None or (row.n_failed and view.frame.repeats > 1):
        return None
    return round(row.mean * row.n_scored, 9)


def _shared(query: float | None, index: float | None, n: int) -> float | None:
    return None if query is None or index is None else query + index / n


def _judged(view: RunView) -> Used | None:
    asking = [evaluation.evaluator for evaluation in view.evaluations if evaluation.models]
    if not asking:
        return None
    return tuple(_sum([view.value(f"{PREFIX}{evaluator}_{name}") for evaluator in asking]) for name in _USED)


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _throttled_share(view: RunView) -> Quantity | None:
    wall, throttled = view.value("wall_s"), view.value("throttled_s")
    return None if throttled is None or not wall else Quantity(throttled / wall, unit="%")
