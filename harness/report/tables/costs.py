"""Costs: tokens, seconds and dollars of a query and by phase; time and size of the index; CPU and RAM; and from
how many queries on one system is cheaper than another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from harness.display import NOTHING, Entry, Quantity, Table, ValueGroup, printable
from harness.report.group_notes import calls_at_once
from harness.report.quantities import (
    AS_REPORTED,
    FAILING,
    amount,
    cost_of,
    cost_quantity,
    count,
    not_compared,
    population,
    quantity_of,
    rare,
    self_reported_mark,
    share,
    values_in,
    why_apart,
)
from harness.report.verdict.findings import Findings
from harness.report.view import Group, RunView
from harness.statistics.break_even import CostLine, cheaper, crossing_interval
from harness.statistics.confidence_intervals import Interval
from harness.statistics.cost import PREFIX, is_lower_bound
from harness.statistics.resource_usage import NOT_SAMPLED, PHASES
from harness.statistics.run_frame import NATURAL, Aggregate

THROTTLED = "mean seconds in which every open model call of a query waited for a rate limit"
_USED = ("model_calls", "input_tokens", "generator_input_tokens", "output_tokens", "cached_tokens", "usd")
_WALL = ("wall_s_p50", "wall_s")
_GB = 1e-9
_REBUILT = "rebuilt"


def query_cost_table(group: Group) -> Table:
    header = (
        *("system", "input tokens", "of them generator's", "output tokens", "model calls", "latency p50, s"),
        *("p95, s", "mean, s", "n", "wall p50, s", "wall mean, s", "throttled, s"),
        *("USD per query", "USD for all answers", "failed, %"),
    )
    rows = []
    for view in group.views:
        names = ("input_tokens", "generator_input_tokens", "output_tokens", "model_calls")
        means = [cost_of(view, name) for name in names]
        times = [cost_quantity(view.row(f"latency_s{end}")) for end in ("_p50", "_p95", "")]
        rest = [cost_quantity(view.row(name)) for name in (*_WALL, "throttled_s", "usd", "answer_usd_total")]
        failed = rare(view.n_errors / view.n_answered) if view.n_answered else None
        rows.append((printable(view.label), *means, *times, population(view.row("latency_s")), *rest, failed))
    bound = "≥: a lower bound, because a server did not count all tokens or queries timed out"
    if any(self_reported_mark(view, "tokens") for view in group.views):
        bound += f"; {AS_REPORTED}: by a pipeline itself, for models that are not metered"
    note = f"Each sampled query counts the same. The other input tokens are an embedder's. {FAILING} {bound}."
    return Table("query_cost", "Cost and time of a query", header, tuple(rows), note=note)


def latency_table(group: Group) -> Table | None:
    """Quantiles and means with intervals, throttling separately; None if no run was timed."""
    views = [view for view in group.views if view.row("latency_s")]
    if not views:
        return None
    header: tuple[str, ...] = ("system", "p50, s", "p90, s", "p95, s", "p99, s", "mean, s", "wall p50, s")
    header += ("wall mean, s", "throttled, s", "throttled, %", "n", "timed out", "left out")
    rows: list[tuple[Entry, ...]] = []
    for view in views:
        names = [f"latency_s{end}" for end in ("_p50", "_p90", "_p95", "_p99", "")]
        times = [cost_quantity(view.row(name), interval=True) for name in (*names, *_WALL)]
        wall, throttled = view.value("wall_s"), view.value("throttled_s")
        part = None if throttled is None or not wall else rare(throttled / wall)
        mean = view.row("latency_s")
        counts = [count(n) for n in (values_in(mean), mean.n_imputed, mean.n_failed)] if mean else [None] * 3
        rows.append((printable(view.label), *times, amount(view.row("throttled_s")), part, *counts))
    note = (
        "[low, high]: 95 % interval; none for quantiles of few answers or with repeats. Wall: from the question "
        f"to the answer. Throttled: {THROTTLED}, and their share of the wall time; latency is wall time without "
        "them. Left out: not answered, failed, or replayed after an "
        f"interruption.{_paced(views)}{restricted(group)}"
    )
    return Table("latency", "Latency", header, tuple(rows), note=note)


def _paced(views: Sequence[RunView]) -> str:
    """The limits on concurrent calls, if known and the same for all runs; preceded by a space."""
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


def phases_table(group: Group) -> Table:
    """Model calls for building the index and for answering, and a query's share of both; judges separately."""
    header: tuple[str, ...] = ("system", "phase", "model calls", "input tokens", "of them generator's")
    header += ("output tokens", "cached tokens", "USD", "n")
    rows = tuple(
        (printable(view.label), phase, *used, n) for view in group.views for phase, used, n in _phases(view)
    )
    note = (
        "A query with the index: a query and its share of the index, over the n answers of this run. Judges: the "
        "cost of the evaluation, which is no cost of the system and in no other row."
    )
    title = "Tokens and dollars by phase"
    return Table("tokens_by_phase", title, header, rows, note=note, is_detail=True)


def _phases(view: RunView) -> Iterable[tuple[str, Sequence[Quantity | None], Entry]]:
    index = [cost_quantity(view.row(f"index_{name}")) for name in _USED]
    query = [cost_of(view, name) for name in _USED]
    n = population(view.row("input_tokens"))
    yield "index", index, ""
    yield "all answers", [_whole(view, view.row(name)) for name in _USED], n
    yield "a query", query, n
    if view.n_answered:
        with_index = [_shared(one, whole, view.n_answered) for one, whole in zip(query, index, strict=True)]
        yield "a query with the index", with_index, count(view.n_answered)
    judges = [evaluation.evaluator for evaluation in view.evaluations if evaluation.models]
    if judges:
        spent = [[view.value(f"{PREFIX}{evaluator}_{name}") for evaluator in judges] for name in _USED]
        yield "judges", [None if None in own else Quantity(sum(filter(None, own))) for own in spent], ""


def _whole(view: RunView, row: Aggregate | None) -> Quantity | None:
    """The sum behind a mean; a lower bound if a query is missing. With repeats only if none is missing."""
    if row is None or row.mean is None or (row.n_failed and view.frame.repeats > 1):
        return None
    return Quantity(round(row.mean * values_in(row), 9), at_least=is_lower_bound(row) or row.n_failed > 0)


def _shared(query: Quantity | None, index: Quantity | None, n: int) -> Quantity | None:
    if query is None or index is None or query.value is None or index.value is None:
        return None
    return Quantity(query.value + index.value / n, at_least=query.at_least or index.at_least)


def index_table(group: Group) -> Table | None:
    """Contents of the index, and the time and memory it took to build; None if no run has one."""
    if all(view.index is None for view in group.views):
        return None
    header: tuple[str, ...] = ("system", "seconds", "documents", "chunks", "failed chunks", "nodes", "edges")
    header += ("communities", "size, GB", "peak memory, GB")
    rows = []
    for view in group.views:
        names = ("documents", "chunks", "failed_chunks", "nodes", "edges", "communities")
        counts = [quantity_of(view.value(f"index_{name}")) for name in names]
        sizes = [quantity_of(view.value(f"index_{name}"), _GB) for name in ("bytes", "peak_rss_bytes")]
        rows.append((printable(view.label), index_seconds(view), *counts, *sizes))
    note = (
        f"Seconds of a build from scratch. {_REBUILT}: the time of the build plus the original time of calls and "
        "vectors reused from an earlier one. ≥: with reused calls or vectors."
    )
    return Table("index", "Index", header, tuple(rows), note=note)


def index_seconds(view: RunView) -> Quantity | None:
    """Seconds of a build from scratch: measured, otherwise reconstructed, otherwise a lower bound."""
    alone, spent = view.value("index_alone_s"), view.value("index_spent_s")
    if alone is None:
        return None if spent is None else Quantity(spent, at_least=True)
    return Quantity(alone, mark="" if view.value("index_wall_s") is not None else _REBUILT)


def ledger_table(group: Group) -> Table | None:
    header: tuple[str, ...] = ("system", "built by", "model calls", "input tokens", "output tokens", "USD")
    header += ("calls another run paid", "texts embedded", "from another run")
    rows = []
    for view in group.views:
        index = view.index
        if index is None:
            continue
        built_by = "this run" if index.built_by == view.run.run_id else printable(index.built_by, 200)
        names = ("model_calls", "input_tokens", "output_tokens", "usd", "shared_model_calls")
        used = [cost_quantity(view.row(f"index_{name}")) for name in names]
        texts = count(index.cost.embedded_texts + index.cost.cached_texts)
        rows.append((printable(view.label), built_by, *used, texts, quantity_of(view.value("index_shared_texts"))))
    return Table("index_ledger", "Index ledger", header, tuple(rows), is_detail=True) if rows else None


def resources_table(group: Group) -> Table | None:
    """CPU and RAM: mean / maximum for each phase; None without samples."""
    header: tuple[str, ...] = ("system", "phase", "machine CPU, %", "machine RAM, GB", "machine RAM, %")
    header += ("system CPU, %", "system RAM, GB", "server CPU, %", "server RAM, GB")
    whose = [("machine", "ram_bytes"), ("system", "rss_bytes"), ("server", "rss_bytes")]
    if any(_sampled(view, phase, "database_cpu_percent") for view in group.views for phase in PHASES):
        header += ("database CPU, %", "database RAM, GB")
        whose.append(("database", "rss_bytes"))
    header += ("system peak RAM, GB", "of it embedder, GB", "samples")
    rows = []
    for view in group.views:
        for phase in PHASES:
            sampled = view.row(f"{phase}_machine_cpu_percent_mean")
            if sampled is None:
                continue
            cells: list[Entry] = []
            for who, memory in whose:
                cells.append(_sampled(view, phase, f"{who}_cpu_percent"))
                cells.append(_sampled(view, phase, f"{who}_{memory}", _GB))
                if who == "machine":
                    scale = percent_of_ram(view)
                    cells.append(None if scale is None else _sampled(view, phase, f"{who}_{memory}", scale))
            cells += [quantity_of(view.value(f"{phase}_{what}_rss_bytes"), _GB) for what in ("peak", "embedder")]
            rows.append((printable(view.label), phase, *cells, count(sampled.n_scored)))
    note = (
        "Mean / maximum of samples. Server: model servers; database: other servers that a system uses; "
        f"{NOT_SAMPLED}: it runs elsewhere, or its process is not visible. Embedder: the part of the peak for "
        "loading the embedder and its library in the system's process."
    )
    return Table("resources", "CPU and RAM", header, tuple(rows), note=note) if rows else None


def percent_of_ram(view: RunView) -> float | None:
    """Percent of the machine's memory that a byte is; None if its size is not known."""
    whole = view.manifest.machine.get("ram_bytes")
    return 100 / whole if isinstance(whole, int) and whole > 0 else None


def _sampled(view: RunView, phase: str, quantity: str, scale: float = 1.0) -> Entry:
    """Mean / maximum; a word if it could not be sampled; None without samples."""
    mean, highest = (view.value(f"{phase}_{quantity}_{end}") for end in ("mean", "max"))
    if mean is not None and highest is not None:
        return ValueGroup((Quantity(mean * scale), Quantity(highest * scale)))
    return NOT_SAMPLED if view.resources is not None and quantity in view.resources.not_sampled else None


class _Costs(NamedTuple):
    """Of a query, in the natural mix of query types if that is known, and of the index."""

    view: RunView
    line: CostLine | None
    """None: the run is not finished, its index or queries were not metered, or they have no price."""
    at_least: bool
    why_apart: str


def _costs_of(view: RunView, measure: str) -> _Costs:
    query, index, line = view.row_in(NATURAL, measure), view.row(f"index_{measure}"), None
    if view.is_complete and query and query.mean is not None and index and index.mean is not None:
        line = CostLine(index.mean, query.mean, Interval(query.ci_low, query.ci_high))
    at_least = any(row is not None and is_lower_bound(row) for row in (query, index))
    return _Costs(view, line, at_least, why_apart(view, cost=measure, means=(query, index)))


def break_even_tables(group: Group, findings: Findings) -> list[Table]:
    """For tokens and dollars: the cost of a query with its share of the index, and when each system is cheaper."""
    tables = []
    for measure, unit, less in (("tokens", "tokens", "fewer tokens"), ("usd", "USD", "less USD")):
        costs = [_costs_of(view, measure) for view in group.views]
        if any(one.line and (one.line.index or one.line.per_query) for one in costs):
            tables.append(_amortised_table(group, costs, measure, unit))
            if sum(one.line is not None and not one.why_apart for one in costs) > 1:
                tables.append(_crossings_table(costs, measure, less, findings))
    return tables


def _amortised_table(group: Group, costs: Sequence[_Costs], measure: str, unit: str) -> Table:
    at = sorted({len(group.widest.frame.query_types), 100, 1_000, 10_000})
    rows = []
    for view, line, at_least, _ in costs:
        cells = [Quantity(line.amortised(n), *line.band(n), at_least=at_least) if line else None for n in at]
        rows.append((view.label, cost_quantity(view.row(f"index_{measure}")), *cells))
    return Table(
        f"break_even_{measure}",
        f"{unit} a query with its share of the index",
        ("system", f"index, {unit}", *(f"over {n:,} queries" for n in at)),
        tuple(rows),
        note="Mean of a query with its 95 % interval, plus its share of the index. "
        f"{NOTHING}: the index or queries were not metered, a model has no price, or the run is not finished.",
    )


def _crossings_table(costs: Sequence[_Costs], measure: str, less: str, findings: Findings) -> Table:
    lines = [(one.view, one.line) for one in costs if one.line and not one.why_apart]
    rows: list[tuple[Entry, ...]] = []
    for view, line in lines:
        others = [
            NOTHING if than is view else _cheaper(line, other, is_significant=findings.differ(view, than, measure))
            for than, other in lines
        ]
        rows.append((view.label, *others))
    header: tuple[str, ...] = ("system", *(f"than {view.label}" for view, _ in lines))
    if findings.measure:
        header += (printable(findings.measure),)
        rows = [(*row, share(findings.rows[view])) for row, (view, _) in zip(rows, lines, strict=True)]
    return Table(
        f"cheaper_than_{measure}",
        f"At how many queries a system takes {less} than another",
        header,
        tuple(rows),
        note="In brackets: 95 % limits of the number of queries at which the costs are equal, from the "
        f"intervals of both means; {NOTHING} as the upper limit: it may never happen. Always and never "
        "compare means; a remark says if no paired test distinguishes the costs of a "
        f"query.{not_compared({one.view.label: one.why_apart for one in costs if one.line and one.why_apart})}",
    )


def _cheaper(one: CostLine, other: CostLine, *, is_significant: bool | None) -> str:
    remark = {True: "", False: " (no significant difference)", None: " (not tested)"}[is_significant]
    span = cheaper(one, other)
    if span is None:
        return f"never{remark}"
    if span.is_always:
        return f"always{remark}"
    limits = crossing_interval(one, other)
    text = f"from {span.first:,} on" if span.last is None else f"up to {span.last:,}"
    if limits.low is None or limits.low == limits.high:
        return text
    return f"{text} [{limits.low:,.0f}, {NOTHING if limits.high is None else f'{limits.high:,.0f}'}]"
