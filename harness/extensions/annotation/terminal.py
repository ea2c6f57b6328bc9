"""The modes of `rag-harness annotate`: page, sheet export and import, everybody's labels, agreement."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cli.console import complain, open_console
from harness.core.current_process import user_name
from harness.core.errors import ConfigError
from harness.core.records import Annotation
from harness.display.text_format import counted
from harness.extensions.annotation.annotator_agreement import agreement_content, agreement_json
from harness.extensions.annotation.labelling_session import LabellingSession, open_session
from harness.extensions.annotation.sampled_answers import DrawnAnswers, draw_answers
from harness.extensions.web.serve import serve_page
from harness.store import RunDir, find_runs
from harness.store.annotations import read_annotations


@dataclass(frozen=True)
class LabelOptions:
    """The options of the command."""

    fraction: float
    annotator: str | None
    seed: int
    port: int
    to_csv: Path | None
    from_csv: Path | None
    labels: Path | None
    agreement: bool
    as_json: bool
    results: Path


def run_labelling(names: Sequence[str], options: LabelOptions) -> None:
    """Do what the options ask for; by default, serve the page. Raises ConfigError for more than one."""
    chosen = {
        "--csv": options.to_csv,
        "--import": options.from_csv,
        "--labels": options.labels,
        "--agreement": options.agreement,
    }
    given = [name for name, value in chosen.items() if value]
    if len(given) > 1:
        raise ConfigError(" and ".join(given), "use them one after the other")
    if options.as_json and not options.agreement:
        raise ConfigError("--json", "use it with --agreement")
    runs = find_runs(options.results, names)
    if options.agreement:
        _print_agreement(_everybodys(runs), as_json=options.as_json)
    elif options.labels:
        _write_labels(_everybodys(runs), options.labels)
    else:
        _label(runs, options)


def _label(runs: Sequence[RunDir], options: LabelOptions) -> None:
    annotator = options.annotator or user_name()
    if annotator is None:
        raise ConfigError("your login name is unknown", "name who labels: --annotator NAME")
    drawn = draw_answers(runs, options.fraction, options.seed, annotator)
    with open_session(drawn, annotator) as desk:
        _say(_drawn_line(drawn, annotator))
        if options.to_csv:
            _write_sheet(desk, options.to_csv)
        elif options.from_csv:
            _take_sheet(desk, options.from_csv)
        else:
            from harness.extensions.annotation.page import annotation_page

            serve_page(annotation_page(desk), options.port)
        _say(f"{annotator}: {desk.n_complete:,} of {counted(len(drawn.items), 'answer')} finished")


def _drawn_line(drawn: DrawnAnswers, annotator: str) -> str:
    said = f"{counted(len(drawn.items), 'answer')} drawn for {annotator}, of {drawn.n_queries:,}"
    if drawn.n_failed:
        waiting = f" ({drawn.n_unanswered:,} of them not asked yet)" if drawn.n_unanswered else ""
        said += f"; {drawn.n_failed:,} more have no answer to label{waiting}"
    return said


def _write_sheet(desk: LabellingSession, path: Path) -> None:
    from harness.extensions.annotation.csv_sheet import write_label_sheet

    number = counted(write_label_sheet(desk, path), "row")
    _say(f"{path}: {number}; fill in 1 to 5, 'cannot tell' or nothing, then the same command with --import {path}")


def _take_sheet(desk: LabellingSession, path: Path) -> None:
    from harness.extensions.annotation.csv_sheet import take_label_sheet

    taken = take_label_sheet(desk, path)
    _say(
        f"{path}: {counted(taken.labels, 'label')} and {taken.cannot_tell:,} 'cannot tell' "
        f"taken for {counted(taken.items, 'answer')}"
    )
    if taken.replaced:
        complain(f"{taken.replaced:,} of these replace labels given after the sheet was written; the log has both")


def _everybodys(runs: Sequence[RunDir]) -> list[Annotation]:
    for run in runs:
        run.done()  # Raises an error in one line if answers were changed or lost, since labels would not fit.
    return [one for run in runs for one in read_annotations(run)]


def _write_labels(annotations: Sequence[Annotation], path: Path) -> None:
    from harness.extensions.annotation.csv_sheet import write_labels

    write_labels(annotations, path)
    _say(f"{path}: {counted(len(annotations), 'row')}")


def _print_agreement(annotations: Sequence[Annotation], *, as_json: bool) -> None:
    from harness.report.render.terminal import WIDTH, plain, print_table

    console = open_console()
    if as_json:
        console.print(json.dumps(agreement_json(annotations), indent=2), soft_wrap=True)
        return
    content = agreement_content(annotations)
    for text in (*content.paragraphs, *content.items):
        console.print(plain(text), soft_wrap=True)
    for table in content.tables:
        print_table(table, console, min(console.width, WIDTH))


def _say(line: str) -> None:
    open_console().print(line, soft_wrap=True)
