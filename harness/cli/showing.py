"""`rag-harness show`: a run, or one query of it, for a person to read."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from harness.cli.consoles import open_console
from harness.errors import ConfigError, nearest
from harness.records import Cost, Reference, RunRecord, Score, Usage
from harness.report import render_terminal
from harness.store import RunDir, SampleRow, find_runs


def show_run(name: str, query_id: str | None, results: Path) -> None:
    """Print the run's table and its queries, or everything about one query."""
    run = find_runs(results, [name])[0]
    run.manifest()  # A run of a newer version is refused before anything of it is printed.
    console = open_console()
    if query_id is None:
        _show_all(run, console)
    else:
        _show_query(run, query_id, console)


def _show_all(run: RunDir, console: Console) -> None:
    records, scores = run.records(), _accuracy(run.scores())
    table = Table(box=None, pad_edge=False)
    for column in ("query", "type", "status", "right", "s", "answer", "gold"):
        table.add_column(column, overflow="ellipsis", no_wrap=column not in {"answer", "gold"})
    for row in run.sample():
        query_id = row.query.query_id
        record = records.get((query_id, 0))
        table.add_row(
            query_id,
            row.reference.query_type,
            record.status if record else "-",
            scores.get(query_id, ""),
            _seconds(record.cost.latency_s, 1) if record else "",
            _short(_answer(record)),
            _short(" / ".join(row.reference.answers)),
        )
    console.print(table)
    render_terminal([run], console)
    console.print(f"one query: rag-harness show {run.run_id} QUERY_ID", markup=False, highlight=False)


def _show_query(run: RunDir, query_id: str, console: Console) -> None:
    rows = {row.query.query_id: row for row in run.sample()}
    if query_id not in rows:
        raise ConfigError(f"{run.run_id} has no query '{query_id}'", nearest(query_id, rows))
    _panel(console, "query", f"{rows[query_id].query.text}\n\n{_gold(rows[query_id])}")
    records = [record for record in run.iter_records() if record.query_id == query_id]
    if not records:
        console.print("not answered yet")
    for record in records:
        _show_record(console, record, rows[query_id].reference)
    for score in run.scores():
        if score.query_id == query_id:
            value = score.status if score.value is None else f"{score.value:g} ({score.status})"
            line = _printable(f"{score.measure}: {value}  {score.explanation}")
            console.print(line, markup=False, highlight=False)


def _show_record(console: Console, record: RunRecord, reference: Reference) -> None:
    title = f"answer (repeat {record.repeat}, attempt {record.attempt}, {record.status})"
    _panel(console, title, _answer(record))
    if record.prediction:
        cited = {evidence.doc_id for evidence in reference.evidence}
        for rank, context in enumerate(record.prediction.contexts, start=1):
            gold = "gold document, " if cited & set(context.doc_ids) else ""
            score = "" if context.score is None else f"score {context.score:.3f}, "
            _panel(
                console,
                f"context {rank} ({gold}{score}{context.kind}: {', '.join(context.doc_ids)})",
                context.text,
            )
        for step in record.prediction.trace:
            _panel(console, f"trace: {step.name}", step.content)
    console.print(_timing(record.cost), markup=False, highlight=False)


def _timing(cost: Cost) -> str:
    stages = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in cost.stages_s.items())
    used = ", ".join(f"{role} {_used(usage)}" for role, usage in cost.usage.items())
    latency = f"latency {_seconds(cost.latency_s, 3)} s (throttled {_seconds(cost.throttled_s, 3)} s)"
    parts = [latency, stages, used]
    replayed = f"{cost.replayed_calls} calls replayed from the journal" if cost.replayed_calls else ""
    return "; ".join(part for part in [*parts, replayed] if part)


def _seconds(value: float | None, digits: int) -> str:
    return "?" if value is None else f"{value:.{digits}f}"


def _used(usage: Usage) -> str:
    calls = str(usage.calls) if usage.calls_are_known else "?"
    tokens = "?" if usage.unmetered_calls else f"{usage.input_tokens:,}+{usage.output_tokens:,}"
    return f"{calls} calls {tokens} tokens"


def _gold(row: SampleRow) -> str:
    reference = row.reference
    lines = [f"gold ({reference.query_type}): {' / '.join(reference.answers) or 'none given'}"]
    lines += [f"- {evidence.fact}  [{evidence.doc_id}]" for evidence in reference.evidence]
    return "\n".join(lines)


def _answer(record: RunRecord | None) -> str:
    if record is None:
        return ""
    if record.failure:
        return f"{record.failure.kind}: {record.failure.message}"
    answer = record.prediction.answer if record.prediction else None
    return "(no generator)" if answer is None else answer


def _accuracy(scores: list[Score]) -> dict[str, str]:
    marks = {1.0: "yes", 0.0: "no", None: ""}
    return {
        score.query_id: marks.get(score.value, "")
        for score in scores
        if score.measure == "accuracy" and score.repeat == 0
    }


def _panel(console: Console, title: str, text: str) -> None:
    # Everything printed here may come from a hostile corpus or model: no markup, no control characters.
    console.print(Panel(escape(_printable(text)), title=escape(_printable(title)), title_align="left"))


def _short(text: str) -> str:
    line = " ".join(_printable(text).split())
    return escape(line if len(line) <= 60 else line[:59] + "…")


def _printable(text: str) -> str:
    """`text` without what would steer a terminal: control and direction characters become a replacement mark."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)
