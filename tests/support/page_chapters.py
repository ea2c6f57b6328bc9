"""Chapters for report.html: runs on disk with given scores, and sections that hold one of everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from paired_runs import ScoredRun, write_run

from harness.report.chapter import Chapter
from harness.report.findings import Findings
from harness.report.nouns import Picture, Section, Table
from harness.report.page.explorer import Explorer
from harness.report.text import NOTHING
from harness.report.view import load_groups

HEADLINE = "kg and naive tie; community is behind both"
SENTENCE = "kg and naive: no difference that these queries can show."
SVG = (
    '<svg width="331.2pt" height="100pt" viewBox="0 0 331.2 100" xmlns="http://www.w3.org/2000/svg">'
    '<text style="font-size: 7px" x="10" y="20">accuracy</text></svg>'
)
RIGHT = {"kg": (1, 1, 1, 0), "naive": (1, 1, 0, 0), "community": (0, 0, 0, 0)}
RANKS = {"kg": "1-2", "naive": "1-2", "community": "3"}


def picture(stem: str = "pareto", svg: str = SVG) -> Picture:
    """A picture of one word."""
    return Picture(stem, "Accuracy against cost", "Four queries.", "kg 75 %, naive 50 %.", (), svg)


def chapter(results: Path, right: dict[str, Sequence[float]] | None = None, digest: str = "d" * 64) -> Chapter:
    """Runs with these accuracies of each query, the best first; a system without any is not evaluated."""
    right = {**RIGHT} if right is None else right
    runs = [
        write_run(results, ScoredRun(name, {"accuracy": values} if values else {}, digest=digest))
        for name, values in right.items()
    ]
    (group,) = load_groups(runs)
    ranks = tuple(RANKS.get(name, NOTHING) for name in right)
    measure = "accuracy" if any(right.values()) else None
    findings = Findings(HEADLINE, (SENTENCE,), measure, tuple(range(len(runs))), ranks, None)
    return Chapter(group, findings, sections())


def sections() -> tuple[Section, ...]:
    """One of everything."""
    long = tuple((f"pair {number}", "0.1 [0.0, 0.2]") for number in range(40))
    return (
        Section("answer", "The answer", paragraphs=(HEADLINE, SENTENCE, "More."), pictures=(picture(),)),
        Section("notes", "To know before comparing", items=("naive: unfinished.",)),
        Section("accuracy", "Accuracy", pictures=(picture("types"),), tables=(numbers(),)),
        Section("significance", "Is it more than chance?", tables=(Table("pairs", "Pairs", ("pair", "p"), long),)),
        Section("runs", "What was run", tables=(replace(numbers(), name="runs", words=True),)),
        Section(
            "reproduce", "Run it again", code=("rag-harness run --set 'systems=[\"kg\"]'", "rag-harness report a")
        ),
    )


def numbers() -> Table:
    """One number with its interval."""
    return Table("accuracy", "By type", ("system", "overall"), (("kg", "0.750 [0.301, 0.954]"),), note="Means.")


def explorer(blocks: Sequence[tuple[str, str]] = (("g0-core", "QUJD"),)) -> Explorer:
    """An explorer of one query; its blocks are no data."""
    return Explorer("g0", {"name": "g0", "n_queries": 1, "n_runs": 1, "n_detailed": 1}, blocks)
