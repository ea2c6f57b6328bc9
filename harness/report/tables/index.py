"""The index: contents, cost and size; CPU and RAM of both phases."""

from __future__ import annotations

from harness.display import Entry, Quantity, Table, ValueGroup, printable
from harness.report.aggregates import cost_quantity, count, plain, value_of
from harness.report.view import Group, RunView
from harness.statistics.resource_usage import NOT_SAMPLED, PHASES

_LONGEST_ID = 200
REBUILT_WORD = "rebuilt"
REBUILT = "the time of the build plus the original time of calls and vectors reused from an earlier one"
_GB = 1e-9


def index_table(group: Group) -> Table | None:
    """Contents of the index, and the time and memory it took to build; None if no run has one."""
    if all(view.run.index() is None for view in group.views):
        return None
    header: tuple[str, ...] = ("system", "seconds", "documents", "chunks", "failed chunks", "nodes", "edges")
    header += ("communities", "size, GB", "peak memory, GB")
    rows = []
    for view in group.views:
        names = ("documents", "chunks", "failed_chunks", "nodes", "edges", "communities")
        counts = [plain(view.value(f"index_{name}")) for name in names]
        sizes = [plain(view.value(f"index_{name}"), _GB) for name in ("bytes", "peak_rss_bytes")]
        rows.append((printable(view.label), index_seconds(view), *counts, *sizes))
    note = f"Seconds of a build from scratch. {REBUILT_WORD}: {REBUILT}. ≥: with reused calls or vectors."
    return Table("index", "Index", header, tuple(rows), note=note)


def index_seconds(view: RunView) -> Quantity | None:
    """Seconds of a build from scratch: measured, otherwise reconstructed, otherwise a lower bound."""
    alone, spent = view.value("index_alone_s"), view.value("index_spent_s")
    if alone is None:
        return None if spent is None else Quantity(spent, at_least=True)
    return Quantity(alone, mark="" if view.value("index_wall_s") is not None else REBUILT_WORD)


def ledger_table(group: Group) -> Table | None:
    """Model calls of the index, which run built it, and how much another run had paid."""
    header: tuple[str, ...] = ("system", "built by", "model calls", "input tokens", "output tokens", "USD")
    header += ("calls another run paid", "texts embedded", "from another run")
    rows = []
    for view in group.views:
        index = view.run.index()
        if index is None:
            continue
        built_by = "this run" if index.built_by == view.run.run_id else printable(index.built_by, _LONGEST_ID)
        names = ("model_calls", "input_tokens", "output_tokens", "usd", "shared_model_calls")
        used = [cost_quantity(view.row(f"index_{name}")) for name in names]
        texts = count(index.cost.embedded_texts + index.cost.cached_texts)
        rows.append((printable(view.label), built_by, *used, texts, plain(view.value("index_shared_texts"))))
    return Table("index_ledger", "Index ledger", header, tuple(rows), is_detail=True) if rows else None


def resources_table(group: Group) -> Table | None:
    """CPU and RAM: mean / maximum for each phase; None without samples."""
    header: tuple[str, ...] = ("system", "phase", "machine CPU, %", "machine RAM, GB", "system CPU, %")
    header += ("system RAM, GB", "server CPU, %", "server RAM, GB")
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
            cells += [plain(view.value(f"{phase}_{what}_rss_bytes"), _GB) for what in ("peak", "embedder")]
            rows.append((printable(view.label), phase, *cells, count(sampled.n_scored)))
    note = (
        "Mean / maximum of samples. Server: model servers; database: other servers that a system uses; "
        f"{NOT_SAMPLED}: it runs elsewhere, or its process is not visible. Embedder: the part of the peak for "
        "loading the embedder and its library in the system's process."
    )
    return Table("resources", "CPU and RAM", header, tuple(rows), note=note) if rows else None


def _sampled(view: RunView, phase: str, quantity: str, scale: float = 1.0) -> Entry:
    found = _mean_max(view, f"{phase}_{quantity}", scale)
    unseen = found is None and view.resources is not None and quantity in view.resources.not_sampled
    return NOT_SAMPLED if unseen else found


def _mean_max(view: RunView, name: str, scale: float) -> ValueGroup | None:
    mean, highest = value_of(view.row(f"{name}_mean")), value_of(view.row(f"{name}_max"))
    if mean is None or highest is None:
        return None
    return ValueGroup((Quantity(mean * scale), Quantity(highest * scale)))
