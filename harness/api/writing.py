"""Question files from documents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from harness.api.configs import bench_config, price_table
from harness.questions.nouns import Candidate, CheckName
from harness.questions.orders import WantedQuestions, parse_kinds
from harness.questions.reading import DocumentPlace, check_out, read_documents
from harness.questions.writing import (
    PlannedWriting,
    WritingRequest,
    Written,
    plan_writing,
    write_questions,
)
from harness.runner.progress import Reporter

_CHECKS: tuple[str, ...] = get_args(CheckName)
CANDIDATE_COLUMNS = ("id", "kind", "question", "answer", "survives", *_CHECKS)


@dataclass(frozen=True)
class WriteOptions:
    """What is said on the command line."""

    folder: Path | None = None
    dataset: str | None = None
    """The documents of this data set instead."""
    out: Path = Path("questions.jsonl")
    total: int = 50
    kinds: tuple[str, ...] = ()
    """`bridge` or `bridge=10`; empty: all that the documents allow."""
    seed: int = 0
    config: Path | None = None
    settings: tuple[str, ...] = ()
    prices: Path | None = None
    quiet: bool = False
    include: tuple[str, ...] = ()
    """Files of the folder that are read although a rule leaves them out: see `read_folder`."""


def plan_questions(options: WriteOptions, reporter: Reporter) -> PlannedWriting:
    """What would be written and what it takes; nothing is paid. HarnessError: see `plan_writing`."""
    config = bench_config(options.config, settings=options.settings)
    kinds = parse_kinds(options.kinds)
    check_out(options.out, options.folder)
    subset = config.dataset.subset if options.dataset else None
    place = DocumentPlace(options.folder, options.dataset, subset, options.include)
    with reporter.reading() as tell:
        read = read_documents(place, tell)
    request = WritingRequest(
        documents=read.documents,
        source=place.named,
        notes=read.notes,
        wanted=WantedQuestions(options.total, kinds),
        seed=options.seed,
        models=config.models,
        budget=config.budget,
        prices=price_table(options.prices or config.prices),
        out=options.out,
    )
    return plan_writing(request, reporter)


def written_questions(options: WriteOptions) -> tuple[PlannedWriting, Written]:
    """Plan, say what it takes, write. HarnessError: see `write_questions`."""
    reporter = Reporter(quiet=options.quiet)
    planned = plan_questions(options, reporter)
    for line in planned_lines(planned):
        reporter.say(line)
    return planned, write_questions(planned, reporter)


def candidate_rows(candidates: Sequence[Candidate]) -> Iterator[dict[str, object]]:
    """A row of those columns for each."""
    for one in candidates:
        verdicts: dict[str, object] = {check.name: check.passed for check in one.checks}
        said = {"id": one.id, "kind": one.kind, "question": one.question, "answer": one.answer}
        yield {**said, "survives": one.survives, **{name: verdicts.get(name) for name in _CHECKS}}


def planned_lines(planned: PlannedWriting) -> list[str]:
    """What will be written, by whom, and what that takes."""
    orders = ", ".join(f"{order.wanted} {order.kind}" for order in planned.orders.orders)
    models = planned.models
    who = f"{models.written_by} writes, {models.judged_by} checks"
    if models.written_by == models.judged_by:
        who = f"{models.written_by} writes and checks itself"
    return [
        f"{orders}; from {len(planned.request.documents):,} documents of {planned.request.source}; {who}",
        *(f"note: {note}" for note in (*planned.request.notes, *planned.orders.notes)),
        f"estimate: {planned.estimate.line}",
    ]
