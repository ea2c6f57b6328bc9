"""Runs `rag-harness ask`: reads questions, prints answers with their sources, or as JSON."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from harness.cli.console import complain, open_console
from harness.cli.sentence_highlighting import highlighted, in_its_document, places_of
from harness.cli.show import print_panel, timing_table, usage_table
from harness.core.current_process import count_stops
from harness.core.errors import EXIT_DONE, EXIT_TOLERANCE, ConfigError
from harness.core.records import Context, Document
from harness.display import NOTHING, counted, number, printable, short_seconds
from harness.extensions.ask.session import Asked, AskedRun, JudgedLive
from harness.report.labels import run_labels
from harness.report.terminal import WIDTH, print_table

_PROMPT = "question> "


def ask_runs(
    opened: AbstractContextManager[Sequence[AskedRun]],
    question: str | None,
    *,
    as_json: bool,
    texts: bool,
    quiet: bool,
) -> int:
    """Answer one question, or each line of standard input, by each run. Returns the exit status."""
    if question is not None:
        from harness.runner.live_system import checked_question

        checked_question(question)  # Before anything is loaded.
    count_stops()
    console, failed = open_console(), False
    with opened as runs:
        if not quiet and not runs[0].is_judged and not as_json:
            complain("answers are not judged; --judge local judges them")
        names = run_labels([run.live.run.manifest() for run in runs])
        for one in (question,) if question is not None else _lines():
            try:
                asked = [run.ask(one) for run in runs]
            except ConfigError as error:
                if question is not None:
                    raise
                complain(f"error: {error}")
                failed |= not sys.stdin.isatty()  # An interactive user sees the error and can ask again.
                continue
            for line in dict.fromkeys(line for answer in asked for line in answer.told):
                complain(line)
            failed |= any(answer.record.status != "ok" for answer in asked)
            if as_json:
                sys.stdout.writelines(json.dumps(as_value(answer)) + "\n" for answer in asked)
                sys.stdout.flush()
            elif len(asked) == 1:
                print_asked(console, asked[0], texts=texts)
            else:
                print_side_by_side(console, names, asked, texts=texts)
    return EXIT_TOLERANCE if failed else EXIT_DONE


def _lines() -> Iterator[str]:
    """Typed lines until Ctrl-D, or the non-empty lines of a pipe."""
    if not sys.stdin.isatty():
        yield from (line for line in sys.stdin if line.strip())
        return
    import readline  # noqa: F401 - enables line editing in input()

    while True:
        try:
            yield input(_PROMPT)
        except EOFError:
            print()  # noqa: T201 - the prompt of the shell starts on a new line
            return


def print_side_by_side(
    console: Console, names: Sequence[str], asked: Sequence[Asked], *, texts: bool = False
) -> None:
    """Print the answers beside each other, with the passages that support them; `texts`: all passages."""
    table = RichTable("", box=SIMPLE, expand=True)
    for name in names:
        table.add_column(Text(printable(name)), ratio=1)
    table.add_row("answer", *(Text(answer_of(one)) for one in asked))
    first_judged = next((one.judged for one in asked if one.judged), ())
    for nth, first in enumerate(first_judged):
        shown = (Text(judged_text(one.judged[nth]) if one.judged else NOTHING) for one in asked)
        table.add_row(Text(first.measure.display_name), *shown)
    table.add_row("support", *(_supporting(one, texts=texts) for one in asked))
    table.add_row("cost", *(Text(cost_line(one)) for one in asked))
    console.print(table)


def _supporting(asked: Asked, *, texts: bool) -> Text:
    contexts = asked.record.prediction.contexts if asked.record.prediction else ()
    shown = [
        Text.assemble(f"passage {rank}: ", highlighted(context.text, dict(enumerate(places))))
        for rank, (context, places) in enumerate(zip(contexts, asked.support, strict=True), start=1)
        if places or texts
    ]
    if not shown and not (asked.record.prediction and asked.record.prediction.answer):
        return Text("no answer to look for")
    return Text("\n\n").join(shown) if shown else Text("no passage contains it")


def answer_of(asked: Asked) -> str:
    record = asked.record
    if record.prediction is None:
        why = f": {record.failure.kind}: {record.failure.message}" if record.failure else ""
        return f"no answer ({record.status}){why}"
    return "(no generator)" if record.prediction.answer is None else record.prediction.answer


def judged_text(one: JudgedLive) -> str:
    """A judged value with its explanation and price."""
    value = NOTHING if one.score.value is None else f"{one.score.value:.3g}"
    judged = f" (judged for ${one.usd:.4f})" if one.usd else ""
    return f"{value}  {printable(one.score.said, 300)}{judged}"


def print_asked(console: Console, asked: Asked, *, texts: bool) -> None:
    """Print an answer with its sources; `texts`: all contexts, not only those that contain evidence."""
    record, prediction = asked.record, asked.record.prediction
    print_panel(console, "answer" if prediction else f"no answer ({record.status})", Text(answer_of(asked)))
    if prediction is not None:
        for one in asked.judged:
            line = f"{one.measure.display_name} {judged_text(one)}"
            console.print(Text(line, style="bold"), soft_wrap=True)
        _print_evidence(console, asked, prediction.evidence)
        _print_contexts(console, asked, texts=texts)
        _print_sources(console, asked)
    for table in (timing_table(record.cost), usage_table(record.cost)):
        if table.rows:
            print_table(table, console, min(console.width, WIDTH))
    console.print(cost_line(asked))


def _print_evidence(console: Console, asked: Asked, evidence: Sequence[Context]) -> None:
    for nth, sentence in enumerate(evidence, start=1):
        score = "" if sentence.score is None else f" (score {sentence.score:.3f})"
        shown = in_its_document(sentence, asked.sources)
        place = f", characters {sentence.span.start:,}-{sentence.span.end:,}" if sentence.span else ""
        shown.append(f"\n{', '.join(sentence.doc_ids)}{place}", style="dim")
        print_panel(console, f"evidence {nth}{score}", shown)


def _print_contexts(console: Console, asked: Asked, *, texts: bool) -> None:
    """Its evidence is marked and numbered; where a system names none, the answer's words are marked."""
    prediction = asked.record.prediction
    pairs = zip(prediction.contexts, asked.support, strict=True) if prediction else ()
    for rank, (context, support) in enumerate(pairs, start=1):
        evidence = places_of(prediction.evidence, context) if prediction else {}
        places = evidence or dict(enumerate(support, start=1))
        if places or texts:
            holds = f", holds evidence {', '.join(str(nth) for nth in evidence)}" if evidence else ""
            holds = holds or (", has words of the answer" if places else "")
            title = f"context {rank} ({context.kind}: {', '.join(context.doc_ids)}{holds})"
            print_panel(console, title, highlighted(context.text, places))


def _print_sources(console: Console, asked: Asked) -> None:
    prediction = asked.record.prediction
    shown = [("context", prediction.contexts), ("evidence", prediction.evidence)] if prediction else []
    ranks: dict[str, list[str]] = {}
    for kind, contexts in shown:
        for rank, context in enumerate(contexts, start=1):
            for doc_id in dict.fromkeys(context.doc_ids):
                ranks.setdefault(doc_id, []).append(f"{kind} {rank}")
    lines = [
        f"{printable(doc_id, WIDTH)} ({', '.join(named)})" + _origin(asked.sources.get(doc_id))
        for doc_id, named in ranks.items()
    ]
    print_panel(console, "sources", Text("\n".join(lines) or "no context names a document"))


def _origin(document: Document | None) -> str:
    if document is None:
        return ""
    said = document.metadata
    parts = (document.title, said.get("source", ""), said.get("published_at", ""))
    line = " | ".join(printable(part) for part in parts if part.strip())
    return f"\n    {line}" if line else ""


def cost_line(asked: Asked) -> str:
    """Seconds, tokens and dollars of an answer. Seconds that the journal or a cache saved are included."""
    tokens, is_least = asked.tokens
    cost = asked.record.cost
    seconds = None if cost.latency_s is None else cost.latency_s + (cost.saved_s or 0.0)
    how = "" if cost.is_live else ">= " if cost.saved_s is None else "about "
    time = short_seconds(seconds) if seconds and seconds < 0.1 else f"{number(seconds)} s"
    dollars = "no price known" if asked.usd is None else f"${asked.usd:.4f}"
    return f"{how}{time}, {'>= ' if is_least else ''}{counted(tokens, 'token')}, {dollars}"


def as_value(asked: Asked) -> dict[str, Any]:
    """One JSON object; its keys are listed in docs/ask.md."""
    record = asked.record
    said = record.prediction.model_dump(mode="json") if record.prediction else {}
    return {
        "run_id": asked.run_id,
        "question": asked.question,
        "status": record.status,
        "failure": record.failure.model_dump(mode="json") if record.failure else None,
        "answer": said.get("answer"),
        "evidence": said.get("evidence", []),
        "contexts": said.get("contexts", []),
        "trace": said.get("trace", []),
        "sources": {
            doc_id: {"title": document.title, **document.metadata} for doc_id, document in asked.sources.items()
        },
        "judged": [
            {
                "measure": one.measure.name,
                "status": one.score.status,
                "value": one.score.value,
                "explanation": one.score.explanation,
                "usage": {role: used.model_dump(mode="json") for role, used in one.usage.items()},
                "usd": one.usd,
            }
            for one in asked.judged
        ],
        "usd": asked.usd,
        "latency_s": record.cost.latency_s,
        "cost": record.cost.model_dump(mode="json"),
    }
