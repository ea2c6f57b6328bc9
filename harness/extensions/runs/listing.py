"""Prints the list of runs, as wide as the console."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from harness.display import NOTHING, counted, number, printable
from harness.extensions.runs.summaries import RunSummary
from harness.report.terminal import plain
from harness.store.run_labels import parameter_labels, without_shared_answers
from harness.store.run_lookup import short_names

_GAP = 1
_LONGEST = {"run": 26, "data set": 12, "model": 10, "tags": 10}
"""In characters, where the console is too narrow for all; the system, with its parameters, has what is left."""
_LEAST_SYSTEM = 8


def print_json(summaries: Sequence[RunSummary], console: Console) -> None:
    rows = [{**one.model_dump(), "label": label} for one, label in zip(summaries, _labels(summaries), strict=True)]
    console.print(json.dumps(rows, indent=2), soft_wrap=True)


def print_list(summaries: Sequence[RunSummary], console: Console) -> None:
    """A line for each run. What all of them share is said once, above."""
    shared, columns = _columns(summaries)
    if shared:
        console.print(plain(", ".join(f"{title}: {value}" for title, value in shared.items())), soft_wrap=True)
    titles, rows = list(columns), [list(map(printable, row)) for row in zip(*columns.values(), strict=True)]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for place, (title, wide) in enumerate(zip(titles, _widths(titles, rows, console.width), strict=True)):
        is_text = title in {*_LONGEST, "date", "system"}
        table.add_column(title, width=wide, overflow="fold", justify="left" if is_text else "right")
        if title != "system":  # All of its parameters are shown, on several lines if need be.
            for row in rows:
                row[place] = printable(row[place], wide)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    total = f"{counted(len(summaries), 'run')}, {decimal(sum(one.bytes for one in summaries), precision=0)}"
    console.print(plain(f"{total} without indexes", "dim"), soft_wrap=True)
    for one in summaries:
        if one.damage:
            console.print(plain(f"! {one.run_id} is damaged: {one.damage}", "yellow"), soft_wrap=True)


def _columns(summaries: Sequence[RunSummary]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Title -> value of what all runs share, and title -> the values of the others."""
    years = {one.created_at[:4] for one in summaries if not one.damage}
    # The metric of most runs needs no mark.
    metrics = [name for name, _ in Counter(one.metric for one in summaries if one.metric).most_common()]
    marks = {name: "*" * place for place, name in enumerate(metrics)}

    scores = [NOTHING if one.value is None else f"{number(one.value)}{marks[one.metric]}" for one in summaries]
    columns = {
        "date": [_day(one.created_at, with_year=len(years) > 1) for one in summaries],
        "run": short_names([(one.run_id, one.name) for one in summaries]),
        "data set": [one.dataset for one in summaries],
        "system": [
            "damaged" if one.damage else label for one, label in zip(summaries, _labels(summaries), strict=True)
        ],
        "model": [one.model or NOTHING for one in summaries],
        "tags": [" ".join(one.tags) for one in summaries],
        "n": [f"{one.n_answered}/{one.n_expected}" for one in summaries],
        "failed": [str(one.n_failed) for one in summaries],
        "score": scores,
        "size": [decimal(one.bytes, precision=0) for one in summaries],
    }
    alike = [title for title in ("data set", "model") if len({*columns[title]}) == 1 and len(summaries) > 1]
    same = {title: columns[title][0] for title in alike}
    has = {"tags": any(one.tags for one in summaries), "failed": any(one.n_failed for one in summaries)}
    shown = {title: column for title, column in columns.items() if title not in same and has.get(title, True)}
    named = [f"{name} where marked {marks[name]}" if marks[name] else name for name in metrics]
    scored = {"score": " or ".join(named)} if named else {}
    return {**same, **scored}, shown


def _labels(summaries: Sequence[RunSummary]) -> list[str]:
    """The system of each run with as few parameters as tell it from the others over its data set."""
    groups: dict[str, list[int]] = {}
    for place, one in enumerate(summaries):
        groups.setdefault(one.dataset, []).append(place)
    found = [""] * len(summaries)
    for places in groups.values():
        labels = parameter_labels(without_shared_answers([summaries[place].identity for place in places]))
        for place, label in zip(places, labels, strict=True):
            found[place] = label
    return found


def _day(moment: str, *, with_year: bool) -> str:
    try:
        return datetime.fromisoformat(moment).strftime("%d %b %Y" if with_year else "%d %b").lstrip("0")
    except ValueError:
        return moment[:10] or NOTHING


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    widths = [
        max(map(cell_len, (title, *column))) for title, column in zip(titles, zip(*rows, strict=True), strict=True)
    ]
    if sum(widths) + _GAP * len(widths) > width:
        widths = [min(wide, _LONGEST.get(title, wide)) for title, wide in zip(titles, widths, strict=True)]
    place = titles.index("system")
    left = width - sum(widths) + widths[place] - _GAP * len(widths)
    widths[place] = max(_LEAST_SYSTEM, min(widths[place], left))
    return widths
