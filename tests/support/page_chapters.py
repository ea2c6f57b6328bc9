"""Chapters for report.html: runs on disk with given scores, and sections with one of each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from paired_runs import ScoredRun, write_run

from harness.display import Content, Picture, Quantity, Section, Table
from harness.report.chapter import Chapter
from harness.report.page.explorer import Explorer
from harness.report.verdict.findings import find
from harness.report.view import load_groups
from harness.statistics.prices import load_prices

HEADLINE = "kg and naive tie; community is behind both"
SENTENCE = "kg and naive: no difference that these queries can show."
SVG = (
    '<svg width="{width}pt" height="100pt" viewBox="0 0 {width} 100" xmlns="http://www.w3.org/2000/svg">'
    '<text style="font-size: {letters}px" x="10" y="20">accuracy</text></svg>'
)
RIGHT = {"kg": (1, 1, 1, 0), "naive": (1, 1, 0, 0), "community": (0, 0, 0, 0)}


def picture(stem: str = "pareto", svg: str = SVG) -> Picture:
    """A picture of one word; the one next to the leaderboard is narrow."""
    width, letters = (280.8, 8.0) if stem == "pareto" else (331.2, 7.0)
    drawn = svg.replace("{width}", str(width)).replace("{letters}", str(letters))
    caption, alt = "Four queries.", "kg 75 %, naive 50 %."
    return Picture(stem, "Accuracy against cost", caption, alt, Path(f"figures/{stem}.svg"), drawn, width, letters)


def chapter(results: Path, right: dict[str, Sequence[float]] | None = None, digest: str = "d" * 64) -> Chapter:
    """Runs with these accuracies per query, the best first; a system without any is not evaluated."""
    right = {**RIGHT} if right is None else right
    runs = [
        write_run(results, ScoredRun(name, {"accuracy": values} if values else {}, digest=digest))
        for name, values in right.items()
    ]
    (group,) = load_groups(runs, load_prices())
    found = find(group)
    verdict = replace(found.verdict, headline=HEADLINE, sentences=(SENTENCE,), caveats=("naive: unfinished.",))
    return Chapter(group, replace(found, verdict=verdict), (), sections())


def sections() -> tuple[Section, ...]:
    """One of each element."""
    long = tuple((f"pair {number}", Quantity(0.1, 0.0, 0.2)) for number in range(40))
    pairs = Table("pairs", "Pairs", ("pair", "p"), long)
    models = Table("runs", "Models", ("system", "generator"), (("kg", "openai/gpt-4o-mini"),))
    commands = ("rag-harness run --set 'systems=[\"kg\"]'", "rag-harness report a")
    return (
        Section("answer", "The verdict", Content(paragraphs=(HEADLINE, SENTENCE, "More.")), (picture(),)),
        Section("notes", "Notes", Content(items=("naive: unfinished.",))),
        Section("accuracy", "Accuracy", Content(tables=(numbers(),)), (picture("types"),)),
        Section("significance", "Statistics", Content(tables=(pairs,))),
        Section("runs", "What was run", Content(tables=(models,))),
        Section("reproduce", "Run it again", Content(code=commands)),
    )


def numbers() -> Table:
    """A number with its interval."""
    mean = Quantity(0.75, 0.301, 0.954, unit="share")
    return Table("accuracy", "By type", ("system", "overall"), (("kg", mean),), note="Means.")


def explorer(blocks: Sequence[tuple[str, str]] = (("g0-core", "QUJD"),)) -> Explorer:
    """An explorer of one query; its blocks contain no data."""
    return Explorer("g0", {"name": "g0", "n_queries": 1, "n_runs": 1, "n_detailed": 1}, blocks)
