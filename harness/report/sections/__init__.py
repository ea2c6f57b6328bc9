"""The contract of a section of the report: its content and its figures. Plug-ins register their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.display import Content, Drawing
from harness.display.plotting import NewFigure
from harness.registry import PluginKind
from harness.report.published import Published
from harness.report.verdict.findings import Findings
from harness.report.view import Group

__all__ = ["ANCHORS", "ANSWER", "BESIDE", "NOTES", "QUESTIONS", "SECTIONS", "Reported", "SectionSpec"]

ANSWER, NOTES = "answer", "notes"
"""The two sections with which a chapter begins: every form shows them in its own way."""
BESIDE = "beside"
"""Published values; a terminal shows it whenever it was asked for."""
QUESTIONS = {
    "chance": "Is it chance?",
    "cost": "What does it cost?",
    "failures": "Why did it fail?",
    "scores": "How do the other metrics compare?",
    "sweep": "What did the sweep show?",
    "trust": "Can the scores be trusted?",
    "how": "How was it run?",
}
"""Key -> question that a reader asks after the verdict. The page shows each folded, with its sections."""
ANCHORS = frozenset({"explorer", "failed", "headline", "main", "status", "terms", "theme", "top", *QUESTIONS})
"""Ids of the page that sections must not use."""


@dataclass(frozen=True)
class Reported:
    """What a section is made from."""

    group: Group
    findings: Findings
    published: Published | None = None
    """Values of a paper to show beside those of the runs."""


@dataclass(frozen=True)
class SectionSpec:
    """A part of every chapter; one that gives nothing is left out. Registered under `rag_harness.sections`."""

    name: str
    """Its anchor: small letters, digits and dashes."""
    title: str
    content: Callable[[Reported], Content] = lambda _reported: Content()
    """content(reported): words and tables; reads the runs only."""
    draw: Callable[[Reported, NewFigure], Iterable[Drawing]] = lambda _reported, _new_figure: ()
    """draw(reported, new_figure): figures made by new_figure(...), matplotlib's Figure in the report's style."""
    after: str = ""
    """The name of the section behind which it stands; empty, or not there: behind what was measured."""
    question: str = "scores"
    """The question of `QUESTIONS` that it answers."""
    in_terminal: bool = True
    """Whether a terminal shows it with `--full`."""


SECTIONS = PluginKind("rag_harness.sections", "report section", lambda: SectionSpec, is_asked_for=False)
