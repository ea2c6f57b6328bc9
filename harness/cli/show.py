"""`rag-harness show`: prints a run, or one query of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from harness.api.config_building import prices_of_runs
from harness.cli.console import open_console
from harness.cli.sentence_highlighting import STYLE, place_in
from harness.core.errors import ConfigError, nearest
from harness.core.records import OWN_MODELS, Context, Cost, Reference, RunRecord, Score, Usage
from harness.display import NOTHING, Entry, Quantity, Table, counted, number, printable
from harness.report import load_chapters, render_terminal
from harness.report.page.explorer_reading import ContextPlaces
from harness.report.render.terminal import WIDTH, plain, print_table
from harness.statistics import Frame, Prices
from harness.statistics.cost import query_scores
from harness.statistics.query_values import cost_values
from harness.store import RunDir, SampleRow, find_runs, name_for

_LONGEST_CELL = 60
_LONGEST_EXPLANATION = 300


def show_run(name: str, query_id: str | None, results: Path, prices: Path | None = None) -> None:
    """Print the tables and queries of a run, or everything about one query."""
    run = find_runs(results, [name])[0]
    run.manifest()  # Rejects a run of a newer version before printing.
    console = open_console()
    if query_id is None:
        _show_all(run, prices_of_runs([run], prices), console)
    else:
        _show_query(run, query_id, console)


def _show_all(run: RunDir, prices: Prices, console: Console) -> None:
    chapters = load_chapters([run], prices)
    measure = chapters[0].findings.measure or ""
    records = {query_id: record for (query_id, repeat), record in run.records().items() if not repeat}
    scores = {s.query_id: s for s in run.scores() if s.measure == measure and not s.repeat}
    latencies = _latencies(chapters[0].group.views[0].frame, [*records.values()], prices)
    header = ("query", "type", "status", measure or "score", "s", "answer", "reference")
    rows: list[tuple[Entry, ...]] = []
    for row in run.sample():
        query_id = row.query.query_id
        record, score = records.get(query_id), scores.get(query_id)
        rows.append(
            (
                printable(query_id),
                printable(row.reference.query_type),
                record.status if record else NOTHING,
                Quantity(score.value) if score else None,
                latencies.get(query_id),
                printable(_answer(record), _LONGEST_CELL),
                printable(" / ".join(row.reference.answers), _LONGEST_CELL),
            )
        )
    note = "s: latency. A timeout shows its limit (≥); failed, replayed and cached answers have no latency."
    table = Table("queries", "Queries", header, tuple(rows), note=note)
    print_table(table, console, min(console.width, WIDTH), titled=False)
    render_terminal(chapters, console)
    console.print(plain(f"one query: rag-harness show {name_for(run)} QUERY_ID"), soft_wrap=True)


def _latencies(frame: Frame, records: Sequence[RunRecord], prices: Prices) -> dict[str, Quantity]:
    """Latency in seconds by query id, for the queries that the report counts."""
    found = cost_values(frame, query_scores(records, {}, prices, frame.query_limit_s)).get("latency_s")
    late = {record.query_id for record in records if record.status == "timeout"}
    values = found.values if found else {}
    return {query_id: Quantity(seconds, at_least=query_id in late) for query_id, seconds in values.items()}


def _show_query(run: RunDir, query_id: str, console: Console) -> None:
    rows = run.sample_by_id()
    if query_id not in rows:
        raise ConfigError(f"{run.run_id} has no query '{query_id}'", nearest(query_id, rows))
    print_panel(console, "query", _question(rows[query_id]))
    records = [record for record in run.iter_records() if record.query_id == query_id]
    if not records:
        console.print("not answered yet")
    places = ContextPlaces(run)
    for record in records:
        _show_record(console, record, rows[query_id].reference, places)
    own = [score for score in run.scores() if score.query_id == query_id]
    for table in _score_tables(own, {one.evaluator: one.measures for one in run.evaluations()}):
        print_table(table, console, min(console.width, WIDTH))


def _show_record(console: Console, record: RunRecord, reference: Reference, places: ContextPlaces) -> None:
    title = f"answer (repeat {record.repeat}, attempt {record.attempt}, {record.status})"
    print_panel(console, title, Text(_answer(record)))
    if record.prediction:
        for rank, context in enumerate(record.prediction.contexts, start=1):
            _show_context(console, f"context {rank}", context, reference, places.describe(context))
        for sentence in record.prediction.evidence:
            _show_context(console, "evidence", sentence, reference, places.describe(sentence))
        for step in record.prediction.trace:
            print_panel(console, f"trace: {step.name}", Text(step.content))
    for table in (timing_table(record.cost), usage_table(record.cost)):
        if table.rows:
            print_table(table, console, min(console.width, WIDTH))


def _show_context(console: Console, name: str, context: Context, reference: Reference, place: str) -> None:
    """Print a context with its gold facts highlighted; the title gives their numbers."""
    text, held = Text(context.text), []
    for nth, evidence in enumerate(reference.evidence, start=1):
        if fact := place_in(text.plain, evidence.fact):
            text.stylize(STYLE, *fact)
            held.append(str(nth))
    about = []
    if held:
        about.append(f"holds gold fact {', '.join(held)}")
    if {evidence.doc_id for evidence in reference.evidence} & set(context.doc_ids):
        about.append("gold document")
    if context.score is not None:
        about.append(f"score {context.score:.3f}")
    about.append(f"{context.kind}: {', '.join(filter(None, (*context.doc_ids, place)))}")
    print_panel(console, f"{name} ({', '.join(about)})", text)


def _score_tables(scores: Sequence[Score], measures: Mapping[str, Sequence[str]]) -> Iterable[Table]:
    """One table per evaluator, in the evaluator's order of measures, then one for all other measures."""
    left = {score.measure for score in scores}
    for evaluator, own in [*measures.items(), ("other", ())]:
        names = own or sorted(left)
        rows = tuple(_score_rows([score for name in names for score in scores if score.measure == name]))
        left -= set(names)
        if rows:
            header = ("measure", "repeat", "value", "status", "explanation")
            yield Table(f"scores-{evaluator}", printable(evaluator), header, rows)


def _score_rows(scores: Sequence[Score]) -> Iterator[tuple[str, ...]]:
    """A row for each score, but one for all metrics that do not apply for the same reason."""
    reasons: dict[str, list[str]] = {}
    for score in scores:
        if score.status == "not_applicable":
            reasons.setdefault(score.said, []).append(score.measure)
        else:
            yield _score_row(score)
    for reason, names in reasons.items():
        distinct = list(dict.fromkeys(names))
        shown = printable(distinct[0]) if len(distinct) == 1 else f"{len(distinct)} metrics"
        yield (shown, "", NOTHING, "not_applicable", printable(reason, _LONGEST_EXPLANATION))


def _score_row(score: Score) -> tuple[str, ...]:
    value = NOTHING if score.value is None else f"{score.value:.4g}"
    explanation = printable(score.said, _LONGEST_EXPLANATION)
    return (printable(score.measure), str(score.repeat), value, score.status, explanation)


def timing_table(cost: Cost) -> Table:
    """The seconds of one answer by stage."""
    times = {"wall": cost.wall_s, "throttled": cost.throttled_s, "latency": cost.latency_s}
    rows = [(name, number(seconds)) for name, seconds in times.items()]
    rows += [(f"stage {printable(name)}", number(seconds)) for name, seconds in cost.stages_s.items()]
    rows += [("CPU", number(cost.cpu_s))] if cost.cpu_s is not None else []
    return Table("timing", "Timing", ("what", "seconds"), tuple(rows), note=_saved(cost))


def _saved(cost: Cost) -> str:
    """Why these seconds are not a latency; empty if they are."""
    replayed, cached = counted(cost.replayed_calls, "call"), counted(cost.cached_texts, "vector")
    parts = [
        *([f"{replayed} replayed from the journal"] if cost.replayed_calls else []),
        *([f"{cached} taken from the cache"] if cost.cached_texts else []),
    ]
    return f"No latency: {', '.join(parts)}." if parts else ""


def usage_table(cost: Cost) -> Table:
    """Model calls and tokens of one answer by model."""
    header = ("model", "calls", "input tokens", "output tokens", "cached tokens")
    rows = tuple((_named(role), *_used(usage, role)) for role, usage in cost.usage.items())
    cut = sum(usage.cut_calls for usage in cost.usage.values())
    note = f"{cut:,} replies were cut off at max_tokens." if cut else ""
    return Table("usage", "Model calls", header, rows, note=note)


def _named(role: str) -> str:
    return "the pipeline's own, as reported" if role == OWN_MODELS else printable(role)


def _used(usage: Usage, role: str) -> Iterable[str]:
    yield f"{usage.calls:,}" if usage.calls_are_known else NOTHING
    is_told = role == OWN_MODELS and (usage.input_tokens or usage.output_tokens)
    for tokens in (usage.input_tokens, usage.output_tokens, usage.cached_tokens):
        yield NOTHING if usage.unmetered_calls and not is_told else f"{tokens:,}"


def _question(row: SampleRow) -> Text:
    reference = row.reference
    gold = f"gold ({reference.query_type}): {' / '.join(reference.answers) or 'none given'}"
    facts = [f"{place}. {one.fact}  [{one.doc_id}]" for place, one in enumerate(reference.evidence, start=1)]
    return Text("\n".join([row.query.text, "", gold, *facts]))


def _answer(record: RunRecord | None) -> str:
    if record is None:
        return ""
    if record.failure:
        return f"{record.failure.kind}: {record.failure.message}"
    answer = record.prediction.answer if record.prediction else None
    return "(no generator)" if answer is None else answer


def print_panel(console: Console, title: str, text: Text) -> None:
    """Print a text in a titled box; control characters in the title are escaped."""
    shown = Panel(text, title=Text(printable(title, WIDTH)), title_align="left")
    console.print(shown, width=min(console.width, WIDTH))
