"""Prints the list of runs, at most 80 columns wide."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from harness.display import NOTHING, counted, number, printable
from harness.extensions.runs.summaries import RunSummary
from harness.report.labels import parameter_labels
from harness.report.terminal import plain

_WIDTH = 80
_GAP = 1
_LONGEST = {"run": 26, "data set": 12, "model": 10, "tags": 10}
"""In characters; the system, with its parameters, has what is left."""
_LEAST_SYSTEM = 8
_ID = re.compile(r".+--([0-9a-f]{12})")


def print_json(summaries: Sequence[RunSummary], console: Console) -> None:
    """Every run as one object of a list; `label`: the system with the parameters that vary among these runs."""
    rows = [{**one.model_dump(), "label": label} for one, label in zip(summaries, _labels(summaries), strict=True)]
    console.print(json.dumps(rows, indent=2), soft_wrap=True)


def print_list(summaries: Sequence[RunSummary], console: Console) -> None:
    """A line for each run. What all of them share is said once, above."""
    shared, columns = _columns(summaries)
    if shared:
        console.print(plain(", ".join(f"{title}: {value}" for title, value in shared.items())), soft_wrap=True)
    rows = [[printable(of(place)) for _, of in columns] for place in range(len(summaries))]
    titles = [title for title, _ in columns]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for place, (title, wide) in enumerate(zip(titles, _widths(titles, rows, console.width), strict=True)):
        is_text = title in {*_LONGEST, "date", "system"}
        table.add_column(title, width=wide, no_wrap=True, justify="left" if is_text else "right")
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


_Column = tuple[str, Callable[[int], str]]


def _columns(summaries: Sequence[RunSummary]) -> tuple[dict[str, str], list[_Column]]:
    """Title -> value of what all runs share, and the columns."""
    labels, shown = _labels(summaries), _shown_ids(summaries)
    facts = {"data set": [one.dataset for one in summaries], "model": [one.model or NOTHING for one in summaries]}
    same = {title: values[0] for title, values in facts.items() if len({*values}) == 1 and len(summaries) > 1}
    years = {one.created_at[:4] for one in summaries if not one.damage}
    # The metric of most runs needs no mark.
    metrics = [name for name, _ in Counter(one.metric for one in summaries if one.metric).most_common()]
    marks = {name: "*" * place for place, name in enumerate(metrics)}

    def value(place: int) -> str:
        one = summaries[place]
        return NOTHING if one.value is None else f"{number(one.value)}{marks[one.metric]}"

    columns: list[_Column] = [
        ("date", lambda place: _day(summaries[place].created_at, with_year=len(years) > 1)),
        ("run", lambda place: shown[place]),
        ("data set", lambda place: facts["data set"][place]),
        ("system", lambda place: "damaged" if summaries[place].damage else labels[place]),
        ("model", lambda place: facts["model"][place]),
        ("tags", lambda place: " ".join(summaries[place].tags)),
        ("n", lambda place: f"{summaries[place].n_answered}/{summaries[place].n_expected}"),
        ("failed", lambda place: str(summaries[place].n_failed)),
        ("score", value),
        ("size", lambda place: decimal(summaries[place].bytes, precision=0)),
    ]
    hidden = {*same}
    hidden |= set() if any(one.tags for one in summaries) else {"tags"}
    hidden |= set() if any(one.n_failed for one in summaries) else {"failed"}
    named = [f"{name} where marked {marks[name]}" if marks[name] else name for name in metrics]
    scored = {"score": " or ".join(named)} if named else {}
    return {**same, **scored}, [one for one in columns if one[0] not in hidden]


def _labels(summaries: Sequence[RunSummary]) -> list[str]:
    """Each system with the parameters that tell it from the other runs of that system in the list."""
    return parameter_labels([one.identity for one in summaries])


def _shown_ids(summaries: Sequence[RunSummary]) -> list[str]:
    """The shortest words that commands take for these runs: a name, or else the last part of an id."""
    ends = [found[1] if (found := _ID.fullmatch(one.run_id)) else one.run_id for one in summaries]
    names, counts = Counter(one.name for one in summaries), Counter(ends)
    return [
        one.name if one.name and names[one.name] == 1 else end if counts[end] == 1 else one.run_id
        for one, end in zip(summaries, ends, strict=True)
    ]


def _day(moment: str, *, with_year: bool) -> str:
    try:
        return datetime.fromisoformat(moment).strftime("%d %b %Y" if with_year else "%d %b").lstrip("0")
    except ValueError:
        return moment[:10] or NOTHING


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    widths = [
        min(max(map(cell_len, (title, *column))), _LONGEST.get(title, _WIDTH))
        for title, column in zip(titles, zip(*rows, strict=True), strict=True)
    ]
    place = titles.index("system")
    left = min(width, _WIDTH) - sum(widths) + widths[place] - _GAP * len(widths)
    widths[place] = max(_LEAST_SYSTEM, min(widths[place], left))
    return widths
