"""Makes the tables and figures of a paper, and writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from harness.cli.console import open_console
from harness.core.errors import ConfigError, nearest
from harness.display import Content, Drawing, Section, Table, counted, printable
from harness.display.plotting import plotting
from harness.extensions.meta_evaluation.figures import DrawnSection, write_folder
from harness.extensions.reproduce.paper import Item, NotMade, Paper, PaperRuns, numbers_of
from harness.report.published import Published, conditions_table, values_beside
from harness.report.terminal import plain

PAGE = "README"
_SCRIPTED = "A scripted model answered: these files show that everything is made, and their numbers mean nothing."


@dataclass(frozen=True)
class MadeItem:
    item: Item
    table: Table | None = None
    drawing: Drawing | None = None
    why_not: str = ""

    @property
    def file(self) -> str:
        return f"figures/{self.item.number}.svg" if self.drawing else f"tables/{self.item.number}.csv"


def chosen_items(paper: Paper, only: Sequence[str]) -> list[Item]:
    """Those with these numbers, or all. ConfigError: the paper has no such item."""
    numbers = [item.number for item in paper.items]
    for name in only:
        if name not in numbers:
            fix = f"{nearest(name, numbers)}; it has {', '.join(numbers)}"
            raise ConfigError(f"{paper.name} has no {name!r}", fix)
    return [item for item in paper.items if not only or item.number in only]


def make_item(item: Item, runs: PaperRuns) -> MadeItem:
    """Its table and figure, or the reason why there is none."""
    try:
        table = replace(item.table(runs), name=item.number, title=f"{_spoken(item.number)}: {item.title}")
    except NotMade as reason:
        return MadeItem(item, why_not=str(reason))
    numbers = [number for number in numbers_of(chain.from_iterable(table.rows)) if math.isfinite(number)]
    if not table.rows or (item.draw is not None and not numbers):
        return MadeItem(item, why_not="nothing was measured")
    if item.draw is None:
        return MadeItem(item, table)
    if len(set(numbers)) < 2 and not item.may_be_equal:
        return MadeItem(item, table, why_not=f"all of its {len(numbers)} numbers are equal")
    where = f"The numbers are in tables/{item.number}.csv."
    with plotting() as new_figure:
        figure = item.draw(table, runs, new_figure)
    return MadeItem(item, table, Drawing(item.number, table.title, where, f"{table.title}. {where}", figure))


def _spoken(number: str) -> str:
    kind, _, own = number.partition("-")
    return f"{kind.capitalize()} {own}"


def write_paper(paper: Paper, made: Sequence[MadeItem], published: Published, runs: PaperRuns, out: Path) -> Path:
    """The page, which says what is missing and why; returns its path."""
    conditions = conditions_table(runs.groups, published)
    missing = [f"{_spoken(one.item.number)} ({one.item.title}): {one.why_not}." for one in made if one.why_not]
    paragraphs = [f"Published by {published.source}."] if published.source else []
    if runs.models == "scripted":
        paragraphs.append(_SCRIPTED)
    head = Section(paper.name.replace("_", "-"), "What this is", Content(paragraphs, missing, [conditions]))
    sections: list[DrawnSection] = [(head, ())]
    is_comparable = published.is_over(runs.groups)
    for one in made:
        if one.table is not None:
            beside = values_beside(one.table, published.of(one.item.number), is_comparable=is_comparable)
            said = [f"Not drawn: {one.why_not}."] if one.why_not else []
            content = Content(said, tables=[table for table in (one.table, beside) if table is not None])
            section = Section(one.item.number.replace(".", "-"), one.table.title, content)
            sections.append((section, [one.drawing] if one.drawing else []))
    data = {
        "paper": paper.name,
        "models": runs.models,
        "conditions": {str(name): here for name, _, here in conditions.rows},
        "items": [{"number": one.item.number, "file": one.file, "why_not": one.why_not} for one in made],
    }
    with plotting():
        return write_folder(out, PAGE, f"{paper.citation}: tables and figures", sections, data)


def print_made(made: Sequence[MadeItem], page: Path, models: str) -> None:
    """Which files were made."""
    console = open_console()
    for one in made:
        shown = f"not made: {one.why_not}" if one.why_not else one.file
        console.print(plain(f"{one.item.number:<12} {printable(shown, 200)}"), soft_wrap=True)
    n_made = sum(not one.why_not for one in made)
    console.print(
        plain(f"{n_made} of {counted(len(made), 'table and figure', 'tables and figures')} made", "bold")
    )
    if models == "scripted":
        console.print(plain(_SCRIPTED, "yellow"))
    console.print(f"page: {page}", soft_wrap=True)
