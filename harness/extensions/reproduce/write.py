"""Runs a paper's configs and writes its tables and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from harness.api.config_building import as_settings, bench_configs
from harness.api.running import Benchmark, RunOptions, run_benches
from harness.cli.console import open_console
from harness.cli.evaluate import conclude, resumable, say_stopped
from harness.config.shipped_files import shipped_configs
from harness.core.errors import EXIT_TOLERANCE, ConfigError, nearest
from harness.display import Content, Drawing, Section, Table, counted, printable
from harness.display.plotting import plotting
from harness.extensions.meta_evaluation.figures import write_folder
from harness.extensions.reproduce.paper import Item, NotMade, Paper, PaperRuns, load_paper, numbers_of
from harness.report import check_report
from harness.report.folder import check_out
from harness.report.published import Published, conditions_table, read_published, values_beside
from harness.report.terminal import plain
from harness.report.view import load_groups

_PAGE = "README"
_SCRIPTED = "A scripted model answered: these files show that everything is made, and their numbers mean nothing."


@dataclass(frozen=True)
class MadeItem:
    item: Item
    table: Table | None
    drawing: Drawing | None = None
    why_not: str = ""

    @property
    def file(self) -> str:
        return f"figures/{self.item.number}.svg" if self.drawing else f"tables/{self.item.number}.csv"


def reproduce_paper(
    name: str,
    models: str,
    only: Sequence[str] | None,
    *,
    settings: Sequence[str],
    out: Path | None,
    results: Path,
    quiet: bool,
) -> int:
    """Run, score and write; print which files were made. Returns the exit code."""
    check_report()
    paper = load_paper(name)
    items, published = _chosen(paper, only or ()), read_published(name)
    out = out or results / "papers" / f"{name}-{models}{'-part' if only else ''}"
    check_out(out, f"{_PAGE}.json")
    files = [shipped_configs() / "reproduce" / file for file in paper.configs]
    said = (*as_settings(paper.settings_for(models)), *settings)
    configs = bench_configs(files, settings=said)
    with resumable("all answers are kept"):
        benches = run_benches(configs, RunOptions(results, quiet=quiet))
        groups = load_groups([run for bench in benches for run in bench.runs], benches[-1].spending.prices)
        runs = PaperRuns(groups, results, models, quiet, files[0], said)
        # Items that cannot be made say why.
        made = [_made(item, runs) for item in items]
        page = _write(paper, made, published, runs, out)
    if not quiet:
        _print(made, page, open_console(), models)
    return _exit_code(benches, made)


def _made(item: Item, runs: PaperRuns) -> MadeItem:
    try:
        table = replace(item.table(runs), name=item.number, title=f"{_spoken(item.number)}: {item.title}")
    except NotMade as reason:
        return MadeItem(item, None, why_not=str(reason))
    numbers = [number for number in numbers_of(table) if math.isfinite(number)]
    if not table.rows or (item.draw is not None and not numbers):
        return MadeItem(item, None, why_not="nothing was measured")
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


def _chosen(paper: Paper, only: Sequence[str]) -> list[Item]:
    numbers = [item.number for item in paper.items]
    for name in only:
        if name not in numbers:
            raise ConfigError(
                f"{paper.name} has no {name!r}", f"{nearest(name, numbers)}; it has {', '.join(numbers)}"
            )
    return [item for item in paper.items if not only or item.number in only]


def _write(paper: Paper, made: Sequence[MadeItem], published: Published, runs: PaperRuns, out: Path) -> Path:
    conditions = conditions_table(runs.groups, published)
    missing = [f"{_spoken(one.item.number)} ({one.item.title}): {one.why_not}." for one in made if one.why_not]
    paragraphs = [f"Published by {published.source}."] if published.source else []
    if runs.models == "scripted":
        paragraphs.append(_SCRIPTED)
    head = Section(paper.name.replace("_", "-"), "What this is", Content(paragraphs, missing, [conditions]))
    sections: list[tuple[Section, Sequence[Drawing]]] = [(head, ())]
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
        return write_folder(out, _PAGE, f"{paper.citation}: tables and figures", sections, data)


def _print(made: Sequence[MadeItem], page: Path, console: Console, models: str) -> None:
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


def _exit_code(benches: Sequence[Benchmark], made: Sequence[MadeItem]) -> int:
    code = conclude([(bench.outcome, bench.config) for bench in benches if bench.outcome])
    last = benches[-1]
    if last.stopped:
        return say_stopped(last.stopped, last.spending, last.progress)
    unmade = any(one.why_not for one in made) or any(bench.failed for bench in benches)
    return EXIT_TOLERANCE if unmade else code
