"""`rag-harness show`: prints a run, or one query of it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from harness.api.config_building import prices_of_runs
from harness.cli.console import open_console
from harness.cli.sentence_highlighting import STYLE, place_in
from harness.core.errors import ConfigError, HarnessError, nearest
from harness.core.records import OWN_MODELS, Context, Cost, Reference, RunRecord, Score
from harness.display import NOTHING, Entry, Quantity, Table, counted, printable, short_number
from harness.report import load_chapters, render_terminal
from harness.report.chapter import Chapter
from harness.report.page.explorer_reading import ContextPlaces
from harness.report.terminal import WIDTH, fits, plain, print_table
from harness.report.verdict.types import Outcome
from harness.statistics.cost import query_scores
from harness.statistics.prices import Prices
from harness.statistics.query_values import cost_values
from harness.statistics.run_frame import Frame
from harness.store import RunDir, SampleRow, find_runs, name_for

_LONGEST_CELL, _LONGEST_QUESTION = 60, 48
_LEAST_NEEDED = ("s", "status", "reference", "answer")
"""Columns that a narrow terminal leaves out, in this order."""
_LONGEST_EXPLANATION = 300


def show_run(
    name: str,
    query_id: str | None,
    results: Path,
    prices: Path | None = None,
    *,
    full: bool = False,
    as_json: bool = False,
) -> None:
    """Print the tables and queries of a run, or one query: its answer, contexts and main metrics. `full`: all
    notes or all metrics.
    """
    run = find_runs(results, [name])[0]
    run.manifest()  # Rejects a run of a newer version before printing.
    console = open_console()
    if as_json:
        console.print(json.dumps(_as_json(run, query_id), indent=2), soft_wrap=True)
        return
    book = prices_of_runs([run], prices)
    if query_id is None:
        _show_all(run, results, book, console, full=full)
    else:
        _show_query(run, query_id, book, console, full=full)


def _as_json(run: RunDir, query_id: str | None) -> dict[str, object]:
    """Every query with its records and scores, or one."""
    rows = run.sample_by_id()
    asked = list(rows) if query_id is None else [_known(run, query_id, rows)]
    records, scores = list(run.iter_records()), run.scores()
    queries = [
        {
            **rows[one].model_dump(mode="json"),
            "records": [record.model_dump(mode="json") for record in records if record.query_id == one],
            "scores": [score.model_dump(mode="json") for score in scores if score.query_id == one],
        }
        for one in asked
    ]
    return {"run_id": run.run_id, "queries": queries}


def _known(run: RunDir, query_id: str, rows: Mapping[str, SampleRow]) -> str:
    if query_id not in rows:
        raise ConfigError(f"{run.run_id} has no query '{query_id}'", nearest(query_id, rows))
    return query_id


def _show_all(run: RunDir, results: Path, prices: Prices, console: Console, *, full: bool) -> None:
    chapters = load_chapters([run], prices)
    measure = chapters[0].findings.measure or ""
    records = run.first_records()
    scores = {s.query_id: s for s in run.scores() if s.measure == measure and not s.repeat}
    latencies = _latencies(chapters[0].group.views[0].frame, [*records.values()], prices)
    header = ("query", "question", "status", measure or "score", "s", "answer", "reference")
    rows: list[tuple[Entry, ...]] = []
    for row in run.sample():
        query_id = row.query.query_id
        record, score = records.get(query_id), scores.get(query_id)
        rows.append(
            (
                printable(query_id),
                printable(row.query.text, _LONGEST_QUESTION),
                record.status if record else NOTHING,
                Quantity(score.value) if score else None,
                latencies.get(query_id),
                printable(_answer(record), _LONGEST_CELL),
                printable(" / ".join(row.reference.answers), _LONGEST_CELL),
            )
        )
    note = "s: latency. A timeout shows its limit (≥); failed, replayed and cached answers have no latency."
    table = Table("queries", "Queries", header, tuple(rows), note=note)
    width = min(console.width, WIDTH)
    print_table(_narrowed(table, width), console, width, titled=False)
    others = _comparable(run, results)
    verdict = chapters[0].findings.verdict
    if others and verdict.outcome == Outcome.ONE_SYSTEM:
        # Without the advice to run a second system.
        findings = replace(chapters[0].findings, verdict=replace(verdict, sentences=()))
        chapters = [replace(chapters[0], findings=findings)]
    render_terminal(chapters, console, full=full, then=False)
    if others:
        named = f"compare {name_for(run)} {name_for(others[-1])}"
        number = counted(len(others), "other run")
        console.print(plain(f"{number} of these questions: rag-harness {named}"), soft_wrap=True)
    console.print(plain(f"one query: rag-harness show {name_for(run)} QUERY_ID"), soft_wrap=True)


def _narrowed(table: Table, width: int) -> Table:
    """The table without the columns that are needed least, until it fits."""
    answered = {"ok", NOTHING} >= {row[table.header.index("status")] for row in table.rows}
    for name in _LEAST_NEEDED:
        if (name == "status" and answered) or not fits(table, width):
            at = table.header.index(name)
            rows = tuple((*row[:at], *row[at + 1 :]) for row in table.rows)
            table = replace(table, header=(*table.header[:at], *table.header[at + 1 :]), rows=rows)
    return table if "s" in table.header else replace(table, note="")


def _comparable(run: RunDir, results: Path) -> list[RunDir]:
    """The other runs over the same questions and documents; those that cannot be read are left out."""
    own, found = run.manifest(), []
    for other in find_runs(results, []):
        with suppress(HarnessError):
            manifest = other.manifest()
            same_data = manifest.dataset.get("digest") == own.dataset.get("digest")
            if same_data and manifest.has_generator == own.has_generator and other.run_id != run.run_id:
                found.append(other)
    return found


def _latencies(frame: Frame, records: Sequence[RunRecord], prices: Prices) -> dict[str, Quantity]:
    """Latency in seconds by query id, for the queries that the report counts."""
    costs = cost_values(frame, query_scores(frame, records, {}, prices))
    values: Mapping[str, float] = costs.get("latency_s", {})
    late = {record.query_id for record in records if record.status == "timeout"}
    return {
        query_id: Quantity(seconds, unit="two", at_least=query_id in late) for query_id, seconds in values.items()
    }


def _show_query(run: RunDir, query_id: str, prices: Prices, console: Console, *, full: bool) -> None:
    rows = run.sample_by_id()
    row = rows[_known(run, query_id, rows)]
    gold = f"reference answer: {' / '.join(row.reference.answers) or 'none given'}"
    kind = f"query type: {row.reference.query_type}"
    facts = [f"{nth}. {one.fact}  [{one.doc_id}]" for nth, one in enumerate(row.reference.evidence, start=1)]
    print_panel(console, "query", Text("\n".join([row.query.text, "", gold, kind, *facts])))
    records = [record for record in run.iter_records() if record.query_id == query_id]
    if not records:
        console.print("not answered yet")
    places = ContextPlaces(run)
    for record in records:
        _show_record(console, record, row.reference, places)
    own = [score for score in run.scores() if score.query_id == query_id]
    measures, n_hidden = {one.evaluator: one.measures for one in run.evaluations()}, 0
    if own and not full:
        chapter = load_chapters([run], prices)[0]
        for line in _causes(own, chapter):
            console.print(plain(line), width=min(console.width, WIDTH))
        main = [chapter.findings.measure, *(measure.name for measure in chapter.group.columns)]
        kept = [score for score in own if score.measure in main] or own
        measures = {"main metrics": tuple(dict.fromkeys(filter(None, main)))} if len(kept) < len(own) else measures
        own, n_hidden = kept, len(own) - len(kept)
    for table in _score_tables(own, measures):
        print_table(table, console, min(console.width, WIDTH))
    if n_hidden:
        console.print(plain(f"{counted(n_hidden, 'more score')}: --full", "dim"))


def _causes(scores: Sequence[Score], chapter: Chapter) -> Iterator[str]:
    """For each label of the answer, such as the cause of a failure, what it means and what to try."""
    said: dict[str, str] = {}
    for score in scores:
        measure = chapter.group.known.get(score.measure)
        for label in measure.labels if measure else ():
            if label.name == score.label:
                about = f" ({score.said})" if score.said else ""
                said.setdefault(label.name, f"{label.title}{about}. {label.advice}")
    yield from (f"cause: {line}" for line in said.values())


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
            value = NOTHING if score.value is None else f"{score.value:.4g}"
            explanation = printable(score.said, _LONGEST_EXPLANATION)
            yield (printable(score.measure), str(score.repeat), value, score.status, explanation)
    for reason, names in reasons.items():
        distinct = list(dict.fromkeys(names))
        shown = printable(distinct[0]) if len(distinct) == 1 else f"{len(distinct)} metrics"
        yield (shown, "", NOTHING, "not_applicable", printable(reason, _LONGEST_EXPLANATION))


def timing_table(cost: Cost) -> Table:
    times = {"wall": cost.wall_s, "throttled": cost.throttled_s, "latency": cost.latency_s}
    times |= {f"stage {printable(name)}": seconds for name, seconds in cost.stages_s.items()}
    times |= {} if cost.cpu_s is None else {"CPU": cost.cpu_s}
    rows = [(name, NOTHING if seconds is None else short_number(seconds)) for name, seconds in times.items()]
    saved = []
    if cost.replayed_calls:
        saved.append(f"{counted(cost.replayed_calls, 'call')} replayed from the journal")
    if cost.cached_texts:
        saved.append(f"{counted(cost.cached_texts, 'vector')} taken from the cache")
    note = f"No latency: {', '.join(saved)}." if saved else ""
    return Table("timing", "Timing", ("what", "seconds"), tuple(rows), note=note)


def usage_table(cost: Cost) -> Table:
    header = ("model", "calls", "input tokens", "output tokens", "cached tokens")
    rows = []
    for role, usage in cost.usage.items():
        is_own = role == OWN_MODELS
        is_known = not usage.unmetered_calls or (is_own and (usage.input_tokens or usage.output_tokens))
        tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        rows.append(
            (
                "the pipeline's own, as reported" if is_own else printable(role),
                f"{usage.calls:,}" if usage.calls_are_known else NOTHING,
                *(f"{n:,}" if is_known else NOTHING for n in tokens),
            )
        )
    cut = sum(usage.cut_calls for usage in cost.usage.values())
    note = f"{cut:,} replies were cut off at max_tokens." if cut else ""
    return Table("usage", "Model calls", header, tuple(rows), note=note)


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
