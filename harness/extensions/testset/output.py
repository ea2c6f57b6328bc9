"""Runs `rag-harness questions`: prints the plan, the pass rates of each check, and what to do next."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from harness.cli.console import complain, open_console, same_command
from harness.cli.evaluate import resumable
from harness.core.errors import EXIT_BUDGET, EXIT_DONE, EXIT_TOLERANCE, ConfigError
from harness.display.text_format import counted
from harness.extensions.testset.api import WriteOptions, plan_questions, planned_lines, written_questions
from harness.extensions.testset.documents import read_documents, write_template
from harness.extensions.testset.question_records import CHECKED, Candidate, Control
from harness.extensions.testset.write_questions import Written
from harness.runner.progress import Reporter

_ENOUGH_TO_JUDGE = 3
"""Candidates without a usable question, before another model is advised."""
_BLIND = 0.2
"""A judge that is wrong more often than this on known cases is named in a warning."""


@dataclass(frozen=True)
class CheckShare:
    name: str
    asks: str
    reached: int
    passed: int
    undecided: int
    """Candidates that it could not judge and let pass."""

    @property
    def share(self) -> float:
        """The share that passed, of the candidates that reached this check."""
        return (self.passed + self.undecided) / self.reached


def shares_of(candidates: Sequence[Candidate]) -> list[CheckShare]:
    """For each check that any candidate reached, in the order of the checks."""
    found = []
    for name, asks in CHECKED.items():
        verdicts = [check.passed for one in candidates for check in one.checks if check.name == name]
        if verdicts:
            found.append(CheckShare(name, asks, len(verdicts), verdicts.count(True), verdicts.count(None)))
    return found


def kept_lines(candidates: Sequence[Candidate], wanted: Mapping[str, int]) -> Iterator[str]:
    """One line per kind: how many questions were kept, of how many wanted."""
    simpler = kept_as_single_fact(candidates)
    for kind, number in wanted.items():
        written = [one for one in candidates if one.kind == kind and not one.written_as]
        kept = sum(one.survives for one in written)
        yield f"{kind}: {kept} of {number} wanted, from {len(written)} candidates"
    if simpler:
        yield f"{counted(simpler, 'more single_fact question')}, written as bridge: one document answers them"


def kept_as_single_fact(candidates: Sequence[Candidate]) -> int:
    """Kept questions that failed as another kind."""
    return sum(one.survives and bool(one.written_as) for one in candidates)


def print_plan_of_questions(options: WriteOptions) -> int:
    """Print the plan and its estimate; costs nothing."""
    console = open_console()
    for line in planned_lines(plan_questions(options, Reporter(quiet=options.quiet))):
        console.print(line, soft_wrap=True)
    return EXIT_DONE


def print_template(path: Path, options: WriteOptions) -> int:
    """Write a sheet in which a person writes questions, and print how to go on."""
    if options.folder is None:
        raise ConfigError("a template is of a folder", "rag-harness questions FOLDER --template FILE.csv")
    reporter = Reporter(quiet=options.quiet)
    with reporter.reading() as progress:
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
        _, written = written_questions(options)
    shares = shares_of(written.candidates)
    if as_json:
        sys.stdout.write(json.dumps(_as_json(written, shares)) + "\n")
    else:
        _print(written, shares, options.folder)
    if not written.kept and not written.stopped:
        worst = min(shares, key=lambda one: one.share, default=None)
        why = f" ('{worst.name}' passed {worst.passed} of {worst.reached})" if worst else ""
        complain(f"no candidate survived{why}. {_without_this_model(options)}")
        return EXIT_TOLERANCE
    if written.stopped:
        go_on = " ".join(filter(None, (same_command(), written.spending.flags_for_larger(written.stopped))))
        # A few candidates say nothing about the model.
        only_budget = written.kept or len(written.candidates) < _ENOUGH_TO_JUDGE
        complain(
            f"stopped at the budget ({written.stopped.what}): {written.spending.report()}; {written.out} has "
            f"{counted(written.kept, 'question')}. Nothing paid is lost. To go on: "
            + (go_on if only_budget else f"`{go_on}`. {_without_this_model(options)}")
        )
        return EXIT_BUDGET
    return EXIT_DONE


def _without_this_model(options: WriteOptions) -> str:
    """What to do if a model writes nothing usable."""
    template = _command("questions", options.folder or "FOLDER", "--template", f"{options.out.stem}.csv")
    return (
        "Take a stronger model: --set models.generator.provider=openai --set models.generator.model=gpt-4o-mini "
        f"(docs/models.md); or write questions yourself, without a model: {template}"
    )


def _print(written: Written, shares: Sequence[CheckShare], folder: Path | None) -> None:
    console = open_console()
    table = Table(box=None, pad_edge=False)
    table.add_column("check")
    table.add_column("")
    for name in ("came to it", "passed", "share"):
        table.add_column(name, justify="right")
    for one in shares:
        passed = f"{one.passed + one.undecided}"
        table.add_row(one.name, one.asks, str(one.reached), passed, f"{100 * one.share:.0f} %")
    console.print(table)
    there = "already complete" if written.was_complete else "not yet reviewed by a person"
    wanted = counted(sum(written.wanted.values()), "question")
    lines = [*kept_lines(written.candidates, written.wanted), *map(_control, written.controls)]
    lines.append(f"{written.out}: {written.kept:,} of {wanted}, {there}")
    review = _command("review", written.out)
    if written.kept:
        lines.append(f"next: {review}")
        if folder is not None:
            lines.append(f"then: {_command('run', '--docs', folder, '--questions', written.out)}")
    elif any(one.question for one in written.candidates):
        lines.append(f"to see what was rejected, and accept what is good: {review}")
    for line in lines:
        console.print(line, soft_wrap=True)


def _control(one: Control) -> str:
    line = f"control: {one.name} in {one.wrong} of {one.of} tries"
    if one.wrong <= _BLIND * one.of:
        return line
    return f"{line}. Take a larger judge (--set models.judge.model=...)"


def _as_json(written: Written, shares: Sequence[CheckShare]) -> dict[str, object]:
    return {
        "out": str(written.out),
        "kept": written.kept,
        "kept_as_single_fact": kept_as_single_fact(written.candidates),
        "wanted": dict(written.wanted),
        "checks": [
            {"name": one.name, "reached": one.reached, "passed": one.passed, "undecided": one.undecided}
            for one in shares
        ],
        "controls": [one.model_dump() for one in written.controls],
        "complete": written.stopped is None,
    }
