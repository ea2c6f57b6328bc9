"""Runs `rag-harness questions`: prints the plan, the pass rates of each check, and what to do next."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.cli.console import complain, open_console
from harness.cli.evaluate import resumable, say_stopped
from harness.core.errors import EXIT_DONE, EXIT_TOLERANCE, ConfigError
from harness.core.records import Usage
from harness.display import Entry, Quantity, Table, counted
from harness.display.text_format import duration
from harness.extensions.testset.documents import read_documents, write_template
from harness.extensions.testset.question_records import CHECKED, Candidate, Control
from harness.extensions.testset.write_questions import (
    PlannedWriting,
    WriteOptions,
    Written,
    plan_questions,
    write_questions,
)
from harness.report.terminal import WIDTH, print_table
from harness.runner.estimating.model_speed import ModelSpeed, stored_speed
from harness.runner.progress import Reporter

_ENOUGH_TO_JUDGE = 3
"""Candidates without a usable question, before another model is advised."""
_BLIND = 0.2
"""A judge that is wrong more often than this on known cases is named in a warning."""


def print_plan_of_questions(options: WriteOptions) -> int:
    """Print the plan and its estimate; costs nothing."""
    console = open_console()
    for line in planned_lines(plan_questions(options, Reporter(quiet=options.quiet))):
        console.print(line, soft_wrap=True)
    return EXIT_DONE


def planned_lines(planned: PlannedWriting) -> list[str]:
    orders = ", ".join(f"{number} {kind}" for kind, number in planned.wanted.items())
    models = planned.models
    who = f"{models.written_by} writes, {models.judged_by} checks"
    if models.written_by == models.judged_by:
        who = f"{models.written_by} writes and checks itself"
    return [
        f"{orders}; from {len(planned.documents):,} documents of {planned.options.source}; {who}",
        *(f"note: {note}" for note in planned.notes),
        f"estimate: {planned.estimate.line}{_minutes(planned)}",
    ]


def _minutes(planned: PlannedWriting) -> str:
    """The time at the measured speed of the models; empty if the speed of one of them is unknown."""
    least = most = 0.0
    same = planned.models.written_by == planned.models.judged_by
    judge = planned.models.writer if same else planned.models.judge
    for role, model in (("generator", planned.models.writer), ("judge", judge)):
        speed, used = stored_speed(model) or ModelSpeed(), planned.estimate.usage.get(role, Usage())
        read, written = speed.range_of("prompt_tokens_per_s"), speed.range_of("completion_tokens_per_s")
        if read is None or written is None:
            return ""
        least += used.input_tokens / read.high
        most += used.input_tokens / read.low + used.output_tokens / written.low
    shown = f"; {duration(least)} - {duration(most)} at the measured speed of the models"
    minutes = planned.budget.minutes
    if minutes is not None and 60 * minutes < most:
        shown += f", and the budget ends it after {duration(60 * minutes)}"
    return shown


def print_template(path: Path, options: WriteOptions) -> int:
    """Write a sheet in which a person writes questions, and print how to go on."""
    if options.folder is None:
        raise ConfigError("a template is of a folder", "rag-harness questions FOLDER --template FILE.csv")
    with Reporter(quiet=options.quiet).reading() as progress:
        documents, _ = read_documents(options.folder, progress, include=options.include)
    n = write_template(path, options.folder, documents, n=options.total, seed=options.seed)
    console = open_console()
    for line in (
        f"{path}: {counted(n, 'quote')}. Write a question and its answer beside those you can ask about.",
        "Rows without a question are skipped. Twenty questions show large differences.",
        "An unanswerable question: add a row with the answer 'Insufficient information.' and no quote.",
        f"to write them on a page, beside the text: {_command('review', path, '--docs', options.folder)}",
        f"next: {_command('run', '--docs', options.folder, '--questions', path)}",
    ):
        console.print(line, soft_wrap=True)
    return EXIT_DONE


def _command(*words: object) -> str:
    return shlex.join(["rag-harness", *map(str, words)])


def write_and_print(options: WriteOptions, *, as_json: bool) -> int:
    """Write the questions and print how many passed each check; returns the exit code."""
    with resumable("paid calls are kept"):
        reporter = Reporter(quiet=options.quiet)
        planned = plan_questions(options, reporter)
        for line in planned_lines(planned):
            reporter.say(line)
        written = write_questions(planned, reporter)
    verdicts = verdicts_of(written.candidates)
    if as_json:
        sys.stdout.write(json.dumps(_as_json(planned, written, verdicts)) + "\n")
    else:
        _print(planned, written, verdicts)
    if not written.kept and not written.stopped:
        worst = max(verdicts, key=lambda name: verdicts[name][False] / verdicts[name].total(), default="")
        why = f" ('{worst}' passed {verdicts[worst][True]} of {verdicts[worst].total()})" if worst else ""
        complain(f"no candidate survived{why}. {_without_this_model(options)}")
        return EXIT_TOLERANCE
    if written.stopped:
        # A few candidates say nothing about the model.
        if not written.kept and len(written.candidates) >= _ENOUGH_TO_JUDGE:
            complain(_without_this_model(options))
        progress = f"{options.out} has {counted(written.kept, 'question')}"
        return say_stopped(written.stopped, written.spending, progress)
    return EXIT_DONE


def _without_this_model(options: WriteOptions) -> str:
    """What to do if a model writes nothing usable."""
    template = _command("questions", options.folder or "FOLDER", "--template", f"{options.out.stem}.csv")
    return (
        "Take a stronger model: --set models.generator.provider=openai --set models.generator.model=gpt-4o-mini "
        f"(docs/models.md); or write questions yourself, without a model: {template}"
    )


Verdicts = Mapping[str, Counter[bool | None]]
"""Check -> how many candidates passed it, failed it, or were let pass undecided (None)."""


def verdicts_of(candidates: Sequence[Candidate]) -> Verdicts:
    """Of each check that any candidate reached, in the order of the checks."""
    checks = [check for one in candidates for check in one.checks]
    found = {name: Counter(check.passed for check in checks if check.name == name) for name in CHECKED}
    return {name: counts for name, counts in found.items() if counts}


def kept_as_single_fact(candidates: Sequence[Candidate]) -> int:
    """Kept questions that failed as another kind."""
    return sum(one.survives and bool(one.written_as) for one in candidates)


def _print(planned: PlannedWriting, written: Written, verdicts: Verdicts) -> None:
    console, options = open_console(), planned.options
    rows: list[tuple[Entry, ...]] = []
    for name, counts in verdicts.items():
        reached, passed = counts.total(), counts.total() - counts[False]
        share = Quantity(passed / reached, unit="%")
        rows.append((name, CHECKED[name], Quantity(reached, unit="count"), Quantity(passed, unit="count"), share))
    table = Table("checks", "", ("check", "what it asks", "came to it", "passed", "share"), tuple(rows))
    print_table(table, console, min(console.width, WIDTH), titled=False)
    for line in _result_lines(planned, written):
        console.print(line, soft_wrap=True)
    review = _command("review", options.out)
    if written.kept:
        console.print(f"next: {review}", soft_wrap=True)
        if options.folder is not None:
            run = _command("run", "--docs", options.folder, "--questions", options.out)
            console.print(f"then: {run}", soft_wrap=True)
    elif any(one.question for one in written.candidates):
        console.print(f"to see what was rejected, and accept what is good: {review}", soft_wrap=True)


def _result_lines(planned: PlannedWriting, written: Written) -> Iterator[str]:
    """How many questions of each kind were kept, and how the judge did on known cases."""
    for kind, number in planned.wanted.items():
        own = [one for one in written.candidates if one.kind == kind and not one.written_as]
        kept = sum(one.survives for one in own)
        yield f"{kind}: {kept} of {number} wanted, from {len(own)} candidates"
    if simpler := kept_as_single_fact(written.candidates):
        yield f"{counted(simpler, 'more single_fact question')}, written as bridge: one document answers them"
    yield from map(_control, written.controls)
    wanted = counted(sum(planned.wanted.values()), "question")
    state = "already complete" if written.was_complete else "not yet reviewed by a person"
    yield f"{planned.options.out}: {written.kept:,} of {wanted}, {state}"


def _control(one: Control) -> str:
    advice = ". Take a larger judge (--set models.judge.model=...)" if one.wrong > _BLIND * one.of else ""
    return f"control: {one.name} in {one.wrong} of {one.of} tries{advice}"


def _as_json(planned: PlannedWriting, written: Written, verdicts: Verdicts) -> dict[str, object]:
    return {
        "out": str(planned.options.out),
        "kept": written.kept,
        "kept_as_single_fact": kept_as_single_fact(written.candidates),
        "wanted": planned.wanted,
        "checks": [
            {"name": name, "reached": counts.total(), "passed": counts[True], "undecided": counts[None]}
            for name, counts in verdicts.items()
        ],
        "controls": [one.model_dump() for one in written.controls],
        "complete": written.stopped is None,
    }
