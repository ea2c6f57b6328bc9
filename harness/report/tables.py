"""summary.csv and the tables of summary.md."""

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, fields, replace

from harness.analysis import NATURAL, OVERALL, Aggregate
from harness.analysis.judging import PREFIX
from harness.report.labels import differences
from harness.report.text import (
    NOTHING,
    csv_name,
    gigabytes,
    markdown,
    number,
    population,
    ratio,
    type_name,
    value_of,
)
from harness.report.view import Group, RunView

COLUMNS = tuple(field.name for field in fields(Aggregate))
ANSWER_MEASURES = ("accuracy", "hallucination_rate", "false_abstention_rate")

Lines = list[str]
_COST_PREFIXES = ("generator_", "index_", "answer_", "stage_", "latency_s", PREFIX)
_COST_MEASURES = {
    *("input_tokens", "output_tokens", "cached_tokens", "model_calls", "usd", "throttled_s", "cpu_s"),
}


def summary_csv(groups: Sequence[Group]) -> str:
    """Every aggregate of every run in long format; `system` is the run's label. Empty cells were not measured."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for group in groups:
        for view in group.views:
            for row in view.rows:
                named = replace(
                    row,
                    run_id=csv_name(row.run_id),
                    system=csv_name(view.label),
                    dataset=csv_name(row.dataset),
                    query_type=csv_name(row.query_type),
                    measure=csv_name(row.measure),
                )
                writer.writerow([_cell(value) for value in astuple(named)])
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: bool = False) -> Lines:
    """A Markdown table of numbers to the right of a first column, or of `words`. Cells must be escaped."""
    lines = [header, ["---", *["---" if words else "---:"] * (len(header) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def runs_table(group: Group) -> Lines:
    """What was run."""
    header = ["system", "version", "generator", "embedder", "repeats", "started", "answered", "run"]
    rows = []
    for view in group.views:
        identity = view.manifest.identity
        answered = f"{view.n_answered:,} of {view.n_expected:,}"
        rows.append(
            [
                markdown(view.label),
                markdown(str(identity.get("system", {}).get("version", NOTHING))),
                markdown(view.model("generator")),
                markdown(view.model("embedder")),
                str(view.frame.repeats),
                markdown(view.manifest.created_at[:16].replace("T", " ")),
                answered if view.run.done() else f"{answered}, unfinished",
                markdown(view.run.run_id, 200),
            ]
        )
    return table(header, rows, words=True)


def differences_table(group: Group) -> Lines:
    """Every parameter in which the runs differ; nothing for a single run."""
    differing = differences([view.manifest.identity for view in group.views])
    if not differing:
        return []
    header = ["differs in", *[markdown(view.label) for view in group.views]]
    return table(
        header, [[markdown(key), *map(markdown, values)] for key, values in differing.items()], words=True
    )


def accuracy_table(group: Group) -> Lines:
    """Accuracy overall, in the natural mix and by type, each with its interval."""
    types = group.query_types
    header = ["system", "n", "of them failed", "overall", "natural mix", *[markdown(type_name(t)) for t in types]]
    rows = []
    for view in group.views:
        overall = view.row("accuracy")
        names = [OVERALL, NATURAL, *types]
        failed = f"{overall.n_imputed:,}" if overall else NOTHING
        intervals = [ratio(view.row("accuracy", name)) for name in names]
        rows.append([markdown(view.label), population(overall), failed, *intervals])
    return table(header, rows)


def abstention_table(group: Group) -> Lines:
    """What the systems do with queries that have no answer, and refusals of those that have one."""
    header = ["system", "hallucination rate", "null queries", "false abstention rate", "answerable queries"]
    rows = []
    for view in group.views:
        cells = []
        for measure in ANSWER_MEASURES[1:]:
            row = view.row(measure)
            cells += [ratio(row), population(row)]
        rows.append([markdown(view.label), *cells])
    return table(header, rows)


def query_cost_table(group: Group) -> Lines:
    """Tokens, calls, seconds and dollars of one query."""
    header = ["system", "input tokens", "output tokens", "model calls", "latency p50, s", "p95, s", "mean, s"]
    header += ["n", "throttled, s", "USD per query", "USD for all answers"]
    rows = []
    for view in group.views:
        latency = view.row("latency_s")
        means = [number(view.value(name)) for name in ("input_tokens", "output_tokens", "model_calls")]
        times = [number(view.value(f"latency_s{end}")) for end in ("_p50", "_p95", "")]
        rest = [number(view.value(name)) for name in ("throttled_s", "usd", "answer_usd_total")]
        rows.append([markdown(view.label), *means, *times, population(latency), *rest])
    return table(header, rows)


def index_table(group: Group) -> Lines:
    """What the index is, and how long and how much memory building it took."""
    header = ["system", "seconds", "documents", "chunks", "failed chunks", "nodes", "edges", "communities"]
    header += ["size, GB", "peak memory, GB"]
    rows = []
    for view in group.views:
        names = ("documents", "chunks", "failed_chunks", "nodes", "edges", "communities")
        counts = [number(view.value(f"index_{name}")) for name in names]
        sizes = [gigabytes(view.value(f"index_{name}")) for name in ("bytes", "peak_rss_bytes")]
        rows.append([markdown(view.label), index_seconds(view), *counts, *sizes])
    return table(header, rows)


def index_seconds(view: RunView) -> str:
    """With the help of an earlier build, what it took is only a lower bound of a first one."""
    first, spent = view.value("index_wall_s"), view.value("index_spent_s")
    return number(first) if first is not None or spent is None else f"≥ {number(spent)}"


def ledger_table(group: Group) -> Lines:
    """What the index asked of models, which run built it, and how much of it another run had paid for."""
    header = ["system", "built by", "model calls", "input tokens", "output tokens", "USD"]
    header += ["calls another run paid", "texts embedded", "from another run"]
    rows = []
    for view in group.views:
        index = view.run.index()
        if index is None:
            continue
        built_by = "this run" if index.built_by == view.run.run_id else markdown(index.built_by, 200)
        names = ("model_calls", "input_tokens", "output_tokens", "usd", "shared_model_calls")
        used = [number(view.value(f"index_{name}")) for name in names]
        texts = number(index.cost.embedded_texts + index.cost.cached_texts)
        rows.append([markdown(view.label), built_by, *used, texts, number(view.value("index_shared_texts"))])
    return table(header, rows) if rows else []


def resources_table(group: Group) -> Lines:
    """CPU and RAM: mean / maximum, for each phase; nothing where nothing was sampled."""
    header = ["system", "phase", "machine CPU, %", "machine RAM, GB", "system CPU, %", "system RAM, GB"]
    header += ["server CPU, %", "server RAM, GB", "system peak RAM, GB", "samples"]
    rows = []
    for view in group.views:
        for phase in ("index", "answer"):
            sampled = view.row(f"{phase}_machine_cpu_percent_mean")
            if sampled is None:
                continue
            cells = []
            for whose, memory in (("machine", "ram_bytes"), ("system", "rss_bytes"), ("server", "rss_bytes")):
                cells.append(_mean_max(view, f"{phase}_{whose}_cpu_percent", 1.0))
                cells.append(_mean_max(view, f"{phase}_{whose}_{memory}", 1e-9))
            peak = gigabytes(view.value(f"{phase}_peak_rss_bytes"))
            rows.append([markdown(view.label), phase, *cells, peak, f"{sampled.n_scored:,}"])
    return table(header, rows) if rows else []


def _mean_max(view: RunView, name: str, scale: float) -> str:
    mean, highest = value_of(view.row(f"{name}_mean")), value_of(view.row(f"{name}_max"))
    if mean is None or highest is None:
        return NOTHING
    return f"{number(mean * scale)} / {number(highest * scale)}"


def is_cost(name: str) -> bool:
    """Whether a measure says what something took, not how good it is."""
    return name in _COST_MEASURES or name.startswith(_COST_PREFIXES)
