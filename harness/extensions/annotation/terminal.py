"""Runs `rag-harness annotate`: page, sheet export and import, everybody's labels, agreement."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from harness.cli.console import complain, open_console
from harness.core.errors import ConfigError, DataError
from harness.core.records import Annotation
from harness.datasets.annotation_csv import CANNOT_TELL, cells_of, label_in, labels_text
from harness.datasets.table_reading import read_table
from harness.display import Content, Quantity, Table, counted
from harness.display.csv_sheets import sheet_text
from harness.extensions.annotation.label_scales import LabelScale, labelled_scales
from harness.extensions.annotation.labelling_session import (
    DrawnAnswers,
    LabellingSession,
    ShownAnswer,
    annotation_page,
    open_session,
)
from harness.extensions.web import serve_page
from harness.statistics.agreement import AgreementFigure, RatedItem, ordinal_alpha, weighted_kappa
from harness.store import RunDir
from harness.store.annotations import read_annotations
from harness.store.atomic_files import write_atomic

_SHOWN = ("item", "question", "reference", "answer", "contexts")
_BEFORE = "said_before"
"""The column with the labels and note of the row when the sheet was written, as JSON."""
_NOT_ASKED = "not asked"
_LONGEST_CELL = 32_000
"""Characters: spreadsheets show few more."""


@dataclass(frozen=True)
class LabelsTaken:
    items: int
    labels: int
    cannot_tell: int
    replaced: int = 0
    """Labels that replace newer ones than the sheet's, such as from the page; the log has both."""


def write_label_sheet(session: LabellingSession, path: Path) -> int:
    """Write every sampled item, in the annotator's order, with the labels so far; returns their number. Raises
    ConfigError if the file exists.
    """
    if path.exists():
        fix = f"name another file, or take its labels first: --import {path}"
        raise ConfigError(f"{path} is there already", fix)
    columns = (*_SHOWN, *_filled_in(session), _BEFORE)
    write_atomic(path, sheet_text(columns, [_cells(session, item) for item in session.drawn.items]))
    return len(session.drawn.items)


def _filled_in(session: LabellingSession) -> tuple[str, ...]:
    return (*(scale.dimension for scale in session.drawn.scales), "note")


def take_label_sheet(session: LabellingSession, path: Path) -> LabelsTaken:
    """Keep its labels, all or none; an empty cell is no label. DataError: one line with the row."""
    table = read_table(path)
    if "item" not in table.names:
        raise DataError(f"{path} has no column 'item'", f"fill in what --csv {path} writes")
    seen: set[str] = set()
    taken: list[tuple[Annotation, bool]] = []
    for number, row in enumerate(table.rows, start=2):
        where = f"{path} row {number}"
        try:
            taken += _taken(session, cells_of(row), where, seen)
        except ConfigError as error:
            raise DataError(f"{where}: {error.what}", error.fix) from error
    found = [one for one, _ in taken]
    session.keep(found)
    return LabelsTaken(
        items=len({(one.run, one.query_id) for one in found}),
        labels=sum(one.label is not None for one in found),
        cannot_tell=sum(one.cannot_tell for one in found),
        replaced=sum(is_replacing for _, is_replacing in taken),
    )


def _taken(
    session: LabellingSession, cells: Mapping[str, str], where: str, seen: set[str]
) -> Iterator[tuple[Annotation, bool]]:
    """The new labels of a row, and whether they replace labels made since the sheet was written. ConfigError: it
    is no item of the session, or occurs twice.
    """
    item = session.find(cells.get("item", ""))
    if item.item_id in seen:
        raise ConfigError(f"the item '{item.item_id}' occurs twice", "leave one row for each item")
    seen.add(item.item_id)
    said, base = session.labels_of(item), _said_before(cells)
    for name in (scale.dimension for scale in session.drawn.scales):
        cell, now = cells.get(name, ""), said.get(name)
        if not cell or cell == _NOT_ASKED:
            continue
        label = label_in(cell, f"{where}, {name}")
        # Cells that were not changed in the sheet are ignored: the label may be newer.
        is_new = name not in base or label_in(base[name], where) != label
        if is_new and (now is None or (now.label, now.cannot_tell) != (label, label is None)):
            kept = session.label(item, name, label, cannot_tell=label is None)
            yield kept, now is not None and _told(now) != base.get(name, "")
    note, noted, before = cells.get("note", "")[:4_000], said.get(None), base.get("note", "").split()
    if note and note.split() != before and (noted is None or noted.note != note):
        yield session.note(item, note), noted is not None and noted.note.split() != before


def _said_before(cells: Mapping[str, str]) -> Mapping[str, str]:
    """The labels that `_cells` wrote there; nothing if the cell was emptied."""
    try:
        base = json.loads(cells.get(_BEFORE, ""))
    except ValueError:
        base = None
    return {name: cell for name, cell in base.items() if isinstance(cell, str)} if isinstance(base, dict) else {}


def _told(one: Annotation) -> str:
    return CANNOT_TELL if one.cannot_tell else str(one.label)


def _cells(session: LabellingSession, item: ShownAnswer) -> dict[str, str]:
    said, prediction = session.labels_of(item), item.prediction
    contexts = [context.text for context in prediction.contexts]
    cells = {
        "item": item.item_id,
        "question": item.row.query.text,
        "reference": " | ".join(item.row.reference.answers),
        "answer": prediction.answer or "",
        "contexts": "\n\n".join(f"[{number}] {text}" for number, text in enumerate(contexts, start=1)),
        "note": said[None].note if None in said else "",
    }
    for scale in session.drawn.scales:
        one = said.get(scale.dimension)
        cells[scale.dimension] = _NOT_ASKED if scale not in item.asked else _told(one) if one else ""
    base = {name: cell for name in _filled_in(session) if (cell := cells[name]) not in {"", _NOT_ASKED}}
    cells[_BEFORE] = json.dumps(base, ensure_ascii=False) if base else ""
    texts = {name: cell.replace("\0", "\ufffd") for name, cell in cells.items()}
    return {
        name: text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 20]} … (cut here)"
        for name, text in texts.items()
    }


def label_answers(
    drawn: DrawnAnswers, name: str, *, port: int, to_csv: Path | None, from_csv: Path | None
) -> None:
    """Write or read a sheet of the drawn answers, or serve their page."""
    n_items = counted(len(drawn.items), "answer")
    with open_session(drawn, name) as session:
        failed = f"; {drawn.n_failed:,} more have no answer to label" if drawn.n_failed else ""
        waiting = f" ({drawn.n_unanswered:,} of them not asked yet)" if failed and drawn.n_unanswered else ""
        _say(f"{n_items} drawn for {name}, of {drawn.n_queries:,}{failed}{waiting}")
        if to_csv:
            rows = counted(write_label_sheet(session, to_csv), "row")
            then = f"then the same command with --import {to_csv}"
            _say(f"{to_csv}: {rows}; fill in 1 to 5, 'cannot tell' or nothing, {then}")
        elif from_csv:
            taken = take_label_sheet(session, from_csv)
            said = f"{counted(taken.labels, 'label')} and {taken.cannot_tell:,} 'cannot tell'"
            _say(f"{from_csv}: {said} taken for {counted(taken.items, 'answer')}")
            if taken.replaced:
                newer = "these replace labels given after the sheet was written; the log has both"
                complain(f"{taken.replaced:,} of {newer}")
        else:
            serve_page(annotation_page(session), port)
        _say(f"{name}: {session.n_complete:,} of {n_items} finished")


def write_everybodys_labels(runs: Sequence[RunDir], path: Path) -> None:
    """Write the labels of all annotators as a table that `correlate --labels` reads. ConfigError: it exists."""
    annotations = _everybodys(runs)
    if path.exists():
        raise ConfigError(f"{path} is there already", "name another file")
    write_atomic(path, labels_text(annotations))
    _say(f"{path}: {counted(len(annotations), 'row')}")


def print_agreement(runs: Sequence[RunDir], *, as_json: bool) -> None:
    from harness.report.terminal import WIDTH, plain, print_table

    annotations, console = _everybodys(runs), open_console()
    if as_json:
        console.print(json.dumps(agreement_json(annotations), indent=2), soft_wrap=True)
        return
    content = agreement_content(annotations)
    for text in (*content.paragraphs, *content.items):
        console.print(plain(text), soft_wrap=True)
    for table in content.tables:
        print_table(table, console, min(console.width, WIDTH))


def _everybodys(runs: Sequence[RunDir]) -> list[Annotation]:
    for run in runs:
        run.done()  # Raises an error in one line if answers were changed or lost, since labels would not fit.
    return [one for run in runs for one in read_annotations(run)]


def _say(line: str) -> None:
    open_console().print(line, soft_wrap=True)


@dataclass(frozen=True)
class DimensionAgreement:
    scale: LabelScale
    annotators: tuple[str, ...]
    statistic: str
    """alpha, of all annotators, or kappa, of two."""
    figure: AgreementFigure
    n_labelled: int
    """Answers that at least one of them labelled."""
    n_cannot_tell: int


def agreements(annotations: Sequence[Annotation]) -> list[DimensionAgreement]:
    """By dimension: of all annotators together, then of each two. Empty: fewer than two people labelled."""
    names = _names(annotations)
    if len(names) < 2:
        return []
    scales = labelled_scales([one.dimension for one in annotations])
    everyone_and_pairs = [tuple(names), *combinations(names, 2)]
    return [
        _agreement(annotations, scale, people, is_alpha=place == 0)
        for scale in scales
        for place, people in enumerate(everyone_and_pairs)
    ]


def agreement_content(annotations: Sequence[Annotation]) -> Content:
    """The same as text and a table; also what cannot be computed, and why."""
    found, people = agreements(annotations), _names(annotations)
    if not found:
        alone = (
            f"Only {people[0]} has labelled: agreement needs two annotators." if people else "Nobody has labelled."
        )
        return Content(paragraphs=[alone])
    said = []
    for name in people:
        own = [one for one in annotations if one.dimension and one.annotator == name]
        answers = counted(len({(one.run, one.query_id) for one in own}), "answer")
        unknown = sum(one.cannot_tell for one in own)
        more = f", {unknown:,} times 'cannot tell'" if unknown else ""
        said.append(f"{name}: {counted(len(own) - unknown, 'label')} of {answers}{more}")
    for one in found:
        both = " and ".join(one.annotators)
        if not one.figure.n_items:
            same = "the same --fraction and --seed show both the same"
            said.append(f"{both} have labelled no answer in common: {same}.")
        elif one.figure.why:
            said.append(f"{one.scale.title}, {one.statistic} of {both}: {one.figure.why}.")
    rows = tuple(
        (
            one.scale.title,
            " + ".join(one.annotators),
            Quantity(figure.n_items, of=one.n_labelled, unit="count"),
            Quantity(figure.same, *figure.same_interval, unit="%"),
            one.statistic,
            Quantity(figure.value, *figure.interval, unit="coefficient"),
        )
        for one in found
        for figure in (one.figure,)
    )
    header = ("dimension", "annotators", "items", "same label (%)", "of", "agreement (95 % CI)")
    note = (
        "Cohen's kappa, of each two, with quadratic weights; Krippendorff's alpha, of all, ordinal: 1 is perfect, "
        "0 is chance. Items: answers that two or more labelled. Intervals leave out one query at a time."
    )
    table = Table("agreement", "Agreement between annotators", header, rows, note)
    return Content(items=list(dict.fromkeys(said)), tables=[table])


def agreement_json(annotations: Sequence[Annotation]) -> list[dict[str, object]]:
    return [
        {
            "dimension": one.scale.dimension,
            "annotators": list(one.annotators),
            "statistic": one.statistic,
            "items": one.figure.n_items,
            "labelled": one.n_labelled,
            "cannot_tell": one.n_cannot_tell,
            "value": one.figure.value,
            "ci_low": one.figure.interval.low,
            "ci_high": one.figure.interval.high,
            "same": one.figure.same,
            "same_ci_low": one.figure.same_interval.low,
            "same_ci_high": one.figure.same_interval.high,
            "why": one.figure.why,
        }
        for one in agreements(annotations)
    ]


def _agreement(
    annotations: Sequence[Annotation], scale: LabelScale, people: tuple[str, ...], *, is_alpha: bool
) -> DimensionAgreement:
    own = [one for one in annotations if one.dimension == scale.dimension and one.annotator in people]
    labels: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    """(run, query) -> annotator -> label."""
    for one in own:
        if one.label is not None:
            labels[one.run, one.query_id][one.annotator] = one.label
    items = [
        RatedItem(query, tuple(given[name] for name in people if name in given))
        for (_, query), given in labels.items()
        if is_alpha or len(given) == 2
    ]
    statistic, figure = ("alpha", ordinal_alpha(items)) if is_alpha else ("kappa", weighted_kappa(items))
    unknown = sum(one.cannot_tell for one in own)
    return DimensionAgreement(scale, people, statistic, figure, len(labels), unknown)


def _names(annotations: Sequence[Annotation]) -> list[str]:
    """Who gave labels; a note is none."""
    return sorted({one.annotator for one in annotations if one.dimension})
