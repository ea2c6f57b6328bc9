"""Question files from documents."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.config_building import as_names, as_settings, bench_config, price_table
from harness.core.records import Usage
from harness.display.text_format import duration
from harness.extensions.testset.documents import check_out, read_documents
from harness.extensions.testset.question_records import CHECKED, Candidate
from harness.extensions.testset.question_slots import WantedQuestions, parse_kinds
from harness.extensions.testset.write_questions import (
    PlannedWriting,
    WritingRequest,
    Written,
    plan_writing,
    write_questions,
)
from harness.runner.estimating.model_speed import stored_speed
from harness.runner.progress import Reporter
from harness.statistics.estimate import measured_range

if TYPE_CHECKING:
    from pandas import DataFrame

CANDIDATE_COLUMNS = ("id", "kind", "question", "answer", "survives", *CHECKED)


@dataclass(frozen=True)
class WriteOptions:
    folder: Path | None = None
    dataset: str | None = None
    """The name of a data set whose documents are used instead of a folder's."""
    out: Path = Path("questions.jsonl")
    total: int = 50
    kinds: tuple[str, ...] = ()
    """Such as `bridge` or `bridge=10`; empty: all that the documents allow."""
    seed: int = 0
    config: Path | None = None
    settings: tuple[str, ...] = ()
    prices: Path | None = None
    quiet: bool = False
    include: tuple[str, ...] = ()
    """Files that are read although an ignore rule excludes them: see `read_folder`."""
    began: float = field(default_factory=time.monotonic)
    """`WritingRequest.began`."""


def questions(
    folder: str | Path | None = None,
    *,
    dataset: str | None = None,
    out: str | Path = "questions.jsonl",
    n: int = 50,
    kinds: Sequence[str] = (),
    seed: int = 0,
    config: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = False,
) -> DataFrame:
    """Write questions about the documents of a folder or a data set to the file `out`, and check each question.

    Returns one row per candidate with the verdict of every check (None: undecided, or not reached).
    `kinds`: such as `bridge` or `bridge=10`; none: all that the documents allow. If the budget is exhausted, a
    warning says so; the same call resumes.
    """
    from harness.api.frames import data_frame

    options = WriteOptions(
        folder=None if folder is None else Path(folder),
        dataset=dataset,
        out=Path(out),
        total=n,
        kinds=as_names(kinds),
        seed=seed,
        config=None if config is None else Path(config),
        settings=tuple(as_settings(settings or {})),
        quiet=quiet,
    )
    _, written = written_questions(options)
    if written.stopped:
        warnings.warn(f"stopped at the budget ({written.stopped.what})", UserWarning, stacklevel=2)
    return data_frame(candidate_rows(written.candidates), CANDIDATE_COLUMNS)


def plan_questions(options: WriteOptions, reporter: Reporter) -> PlannedWriting:
    """The plan and its estimate; nothing is paid. Raises HarnessError, see `plan_writing`."""
    config = bench_config(options.config, settings=options.settings)
    kinds = parse_kinds(options.kinds)
    check_out(options.out, options.folder)
    with reporter.reading() as tell:
        documents, notes = read_documents(
            options.folder,
            tell,
            dataset=options.dataset,
            subset=config.dataset.subset if options.dataset else None,
            include=options.include,
        )
    request = WritingRequest(
        documents=documents,
        source=str(options.dataset or options.folder),
        notes=notes,
        wanted=WantedQuestions(options.total, kinds),
        seed=options.seed,
        models=config.models,
        budget=config.budget,
        prices=price_table(options.prices or config.prices),
        out=options.out,
        began=options.began,
    )
    return plan_writing(request, reporter)


def written_questions(options: WriteOptions) -> tuple[PlannedWriting, Written]:
    """Plan, print the estimate, write. Raises HarnessError, see `write_questions`."""
    reporter = Reporter(quiet=options.quiet)
    planned = plan_questions(options, reporter)
    for line in planned_lines(planned):
        reporter.say(line)
    return planned, write_questions(planned, reporter)


def candidate_rows(candidates: Sequence[Candidate]) -> Iterator[dict[str, object]]:
    for one in candidates:
        said = {"id": one.id, "kind": one.kind, "question": one.question, "answer": one.answer}
        verdicts = {check.name: check.passed for check in one.checks}
        yield {**said, "survives": one.survives, **dict.fromkeys(CHECKED), **verdicts}


def planned_lines(planned: PlannedWriting) -> list[str]:
    orders = ", ".join(f"{order.wanted} {order.kind}" for order in planned.orders.orders)
    models = planned.models
    who = f"{models.written_by} writes, {models.judged_by} checks"
    if models.written_by == models.judged_by:
        who = f"{models.written_by} writes and checks itself"
    return [
        f"{orders}; from {len(planned.request.documents):,} documents of {planned.request.source}; {who}",
        *(f"note: {note}" for note in (*planned.request.notes, *planned.orders.notes)),
        f"estimate: {planned.estimate.line}{_minutes(planned)}",
    ]


def _minutes(planned: PlannedWriting) -> str:
    """The time at the measured speed of the models; empty if the speed of one of them is unknown."""
    least = most = 0.0
    same = planned.models.written_by == planned.models.judged_by
    judge = planned.models.writer if same else planned.models.judge
    for role, model in (("generator", planned.models.writer), ("judge", judge)):
        speed, used = stored_speed(model), planned.estimate.usage.get(role, Usage())
        if speed is None or not (speed.prompt_tokens_per_s and speed.completion_tokens_per_s):
            return ""
        read = measured_range(speed.prompt_tokens_per_s, is_speed=True)
        written = measured_range(speed.completion_tokens_per_s, is_speed=True)
        least += used.input_tokens / read.high
        most += used.input_tokens / read.low + used.output_tokens / written.low
    shown = f"{duration(least)} - {duration(most)} at the measured speed of the models"
    minutes = planned.request.budget.minutes
    is_short = minutes is not None and 60 * minutes < most
    return f"; {shown}" + (f", and the budget ends it after {duration(60 * (minutes or 0))}" if is_short else "")
