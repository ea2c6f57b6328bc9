"""Cost of answering: tokens, seconds and dollars, per query and per phase."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.display import Entry, Quantity, Table, printable
from harness.report.aggregates import amount, cost_quantity, count, population, rare, values_in
from harness.report.comparable_costs import AS_REPORTED, self_reported_mark
from harness.report.notes import calls_at_once
from harness.report.view import Group, RunView
from harness.statistics import Aggregate
from harness.statistics.cost import MOST_FAILED, PREFIX, is_lower_bound

_USED = ("model_calls", "input_tokens", "output_tokens", "cached_tokens", "usd")

_WALL = ("wall_s_p50", "wall_s")
FAILING = (
    f"A run that fails on over {100 * MOST_FAILED:g} % of its queries is called neither cheapest nor fastest."
)
THROTTLED = "mean seconds in which every open model call of a query waited for a rate limit"

Used = tuple[Quantity | None, ...]
"""As `_USED`; None: not known."""


def query_cost_table(group: Group) -> Table:
    """Tokens, calls, seconds and dollars of one query."""
    header: tuple[str, ...] = ("system", "input tokens", "output tokens", "model calls", "latency p50, s")
    header += ("p95, s", "mean, s", "n", "wall p50, s", "wall mean, s", "throttled, s", "USD per query")
    header += ("USD for all answers", "failed, %")
    rows = []
    for view in group.views:
        used = ("input_tokens", "output_tokens", "model_calls")
        means = [cost_quantity(view.row(name), mark=self_reported_mark(view, name)) for name in used]
        times = [cost_quantity(view.row(f"latency_s{end}")) for end in ("_p50", "_p95", "")]
        rest = [cost_quantity(view.row(name)) for name in (*_WALL, "throttled_s", "usd", "answer_usd_total")]
        population_of, failed = population(view.row("latency_s")), failed_share(view)
        rows.append((printable(view.label), *means, *times, population_of, *rest, failed))
    bound = "≥: a lower bound, because a server did not count all tokens or queries timed out"
    if any(self_reported_mark(view, "tokens") for view in group.views):
        bound += f"; {AS_REPORTED}: by a pipeline itself, for models that are not metered"
    note = f"Each sampled query counts the same. {FAILING} {bound}."
    return Table("query_cost", "Cost and time of a query", header, tuple(rows), note=note)


def failed_share(view: RunView) -> Quantity | None:
    """Of the queries that have a record."""
    return rare(view.n_errors / view.n_answered) if view.n_answered else None


def latency_table(group: Group) -> Table | None:
    """Quantiles and means with intervals, throttling separately; None if no run was timed."""
    views = [view for view in group.views if view.row("latency_s")]
    if not views:
        return None
    header: tuple[str, ...] = ("system", "p50, s", "p90, s", "p95, s", "p99, s", "mean, s", "wall p50, s")
    header += ("wall mean, s", "throttled, s", "throttled, %", "n", "timed out", "left out")
    rows: list[tuple[Entry, ...]] = []
    for view in views:
        times = [_seconds(view, f"latency_s{end}") for end in ("_p50", "_p90", "_p95", "_p99", "")]
        mean = view.row("latency_s")
        counts = [count(n) for n in (values_in(mean), mean.n_imputed, mean.n_failed)] if mean else [None] * 3
        wall = [_seconds(view, name) for name in _WALL]
        throttled = (amount(view.row("throttled_s")), _throttled_share(view))
        rows.append((printable(view.label), *times, *wall, *throttled, *counts))
    note = (
        "[low, high]: 95 % interval; none for quantiles of few answers or with repeats. Wall: from the question "
        f"to the answer. Throttled: {THROTTLED}, and their share of the wall time; latency is wall time without "
        "them. Left out: not answered, failed, or replayed after an "
        f"interruption.{_paced(views)}{restricted(group)}"
    )
    return Table("latency", "Latency", header, tuple(rows), note=note)


def _paced(views: Sequence[RunView]) -> str:
    """The limits on concurrent calls during the measurement, if known and the same for all runs; preceded by a
    space.
    """
    known = [one for one in (calls_at_once(view.manifest) for view in views) if one]
    if len(known) < len(views) or any(one != known[0] for one in known):
        return ""
    said = ", ".join(f"{key} {value:g}" for key, value in known[0].items())
    return f" Measured with {said} of the generator: other limits give other seconds." if said else ""


def restricted(group: Group) -> str:
    """Where queries of the group timed out: how they count. Begins with a space."""
    late = [view for view in group.views if (row := view.row("latency_s")) and row.n_imputed]
    limits = sorted({view.frame.query_limit_s for view in late if view.frame.query_limit_s is not None})
    if not late:
        return ""
    at = f" at {' or '.join(f'{limit:,g}' for limit in limits)} s" if limits else ""
    return (
        f" Restricted{at}: a query that timed out counts with its limit, in n, in the mean and in every quantile; "
        "what falls among those is at least that (≥), and so is the end of its interval."
    )


def _seconds(view: RunView, measure: str) -> Quantity | None:
    return cost_quantity(view.row(measure), interval=True)


def phases_table(group: Group) -> Table:
    """Model calls for building the index and for answering, and a query's share of both; judges separately."""
    header = ("system", "phase", "model calls", "input tokens", "output tokens", "cached tokens", "USD", "n")
    rows = tuple(
        (printable(view.label), phase, *used, n) for view in group.views for phase, used, n in _phases(view)
    )
    note = (
        "A query with the index: a query and its share of the index, over the n answers of this run. Judges: the "
        "cost of the evaluation, which is no cost of the system and in no other row."
    )
    title = "Tokens and dollars by phase"
    return Table("tokens_by_phase", title, header, rows, note=note, is_detail=True)


def _phases(view: RunView) -> Iterable[tuple[str, Used, Entry]]:
    index = tuple(cost_quantity(view.row(f"index_{name}")) for name in _USED)
    query_rows = [view.row(name) for name in _USED]
    query = tuple(
        cost_quantity(row, mark=self_reported_mark(view, name))
        for name, row in zip(_USED, query_rows, strict=True)
    )
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


def _whole(view: RunView, row: Aggregate | None) -> Quantity | None:
    """The sum behind a mean; a lower bound if a query is missing. With repeats only if none is missing."""
    if row is None or row.mean is None or (row.n_failed and view.frame.repeats > 1):
        return None
    return Quantity(round(row.mean * values_in(row), 9), at_least=is_lower_bound(row) or row.n_failed > 0)


def _shared(query: Quantity | None, index: Quantity | None, n: int) -> Quantity | None:
    if query is None or index is None or query.value is None or index.value is None:
        return None
    return Quantity(query.value + index.value / n, at_least=query.at_least or index.at_least)


def _judged(view: RunView) -> Used | None:
    asking = [evaluation.evaluator for evaluation in view.evaluations if evaluation.models]
    if not asking:
        return None
    return tuple(_sum([view.value(f"{PREFIX}{evaluator}_{name}") for evaluator in asking]) for name in _USED)


def _sum(values: list[float | None]) -> Quantity | None:
    known = [value for value in values if value is not None]
    return Quantity(sum(known)) if len(known) == len(values) else None


def _throttled_share(view: RunView) -> Quantity | None:
    wall, throttled = view.value("wall_s"), view.value("throttled_s")
    return None if throttled is None or not wall else rare(throttled / wall)
