"""The sections of a chapter: those that every chapter has, one for each kind of measure, and the contract by which
plug-ins register their own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from harness.core.errors import StoreError
from harness.display import Content, Drawing, Table, printable
from harness.display.plotting import NewFigure
from harness.protocols import Measure
from harness.registry import PluginKind
from harness.report.comparison.tables import statistics_lines, statistics_tables
from harness.report.figures.costs import draw_latency, draw_tokens
from harness.report.figures.measured import draw_measured
from harness.report.figures.pareto import draw_pareto
from harness.report.figures.resources import draw_resources
from harness.report.figures.scores import draw_by_type, draw_significance
from harness.report.leaderboard import leaderboard
from harness.report.published import Published, beside_content
from harness.report.sweeps import draw_sweeps, sweep_tables
from harness.report.tables import costs, runs, scores
from harness.report.tables.costs import break_even_tables
from harness.report.verdict.findings import Findings
from harness.report.view import Group, RunView
from harness.store import RunDir

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
    "stress": "Does it hold up under load and attack?",
    "how": "How was it run?",
}
"""Key -> question that a reader asks after the verdict. The page shows each folded, with its sections."""
ANCHORS = frozenset({"explorer", "failed", "headline", "main", "status", "terms", "theme", "top", *QUESTIONS})
"""Ids of the page that sections must not use."""
_OTHERS = "Other measures"
S = TypeVar("S")


@dataclass(frozen=True)
class Reported:
    group: Group
    findings: Findings
    published: Published | None = None


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
    notes: Callable[[Group], Iterable[str]] = lambda _group: ()
    """notes(group): sentences that belong to the verdict, such as where a run breaks; reads the runs only."""


def saved_beside_runs(
    group: Group, read: Callable[[RunDir], S | None]
) -> tuple[list[tuple[RunView, S]], list[str]]:
    """What a command saved beside each run that has it, and why it cannot be read beside others."""
    found, damage = [], []
    for view in group.views:
        try:
            saved = read(view.run)
        except StoreError as error:
            damage.append(printable(str(error), 300))
            continue
        if saved is not None:
            found.append((view, saved))
    return found, damage


SECTIONS = PluginKind("rag_harness.sections", "report section", lambda: SectionSpec, is_asked_for=False)


def _answer(reported: Reported) -> Content:
    verdict = reported.findings.verdict
    return Content(paragraphs=(verdict.headline, *verdict.sentences), tables=[leaderboard(verdict)])


def _draw_answer(reported: Reported, new_figure: NewFigure) -> Iterable[Drawing]:
    measure, rows = reported.findings.measure, reported.findings.rows
    return draw_pareto(reported.group, measure, new_figure, rows) if measure else ()


def _notes(reported: Reported) -> Content:
    notes = reported.findings.verdict.caveats
    fine = "Nothing: every run finished, every query was answered and every score was computed."
    return Content(paragraphs=() if notes else (fine,), items=notes)


def _significance(reported: Reported) -> Content:
    lines = statistics_lines(reported.group, reported.findings)
    return Content(items=list(lines), tables=statistics_tables(reported.findings))


def _judges(reported: Reported) -> Content:
    table, left = scores.judge_table(reported.group), scores.judges_left(reported.group)
    return Content(paragraphs=[left] if left else [], tables=[table] if table else [])


def _beside(reported: Reported) -> Content:
    return beside_content(reported.group, reported.published) if reported.published else Content()


def _reproduce(reported: Reported) -> Content:
    views = reported.group.views
    names = shlex.join(printable(view.run.run_id, 200) for view in views)
    commands = [runs.run_command(view.manifest) for view in views]
    return Content(code=(*commands, f"rag-harness evaluate {names}", f"rag-harness report {names}"))


def _tables(*makers: Callable[[Group], Table | None]) -> Callable[[Reported], Content]:
    """A section of these tables of the group, without those that it does not have."""

    def content(reported: Reported) -> Content:
        made = (make(reported.group) for make in makers)
        return Content(tables=[table for table in made if table])

    return content


BEFORE_MEASURES = (
    SectionSpec(ANSWER, "The verdict", _answer, _draw_answer),
    SectionSpec(NOTES, "Notes", _notes, question="how", in_terminal=False),
    # What a sweep was made for stands before what else was measured.
    SectionSpec(
        "sweep-over",
        "Sweep",
        lambda reported: Content(tables=sweep_tables(reported.group, reported.findings)),
        lambda reported, new_figure: draw_sweeps(reported.group, reported.findings, new_figure),
        question="sweep",
    ),
)
AFTER_MEASURES = (
    SectionSpec(
        "twins", "Metrics and their stand-ins", _tables(scores.twin_table), question="trust", in_terminal=False
    ),
    SectionSpec(BESIDE, "Beside published values", _beside, question="trust"),
    SectionSpec(
        "significance",
        "Statistics",
        _significance,
        lambda reported, new_figure: draw_significance(reported.findings, new_figure),
        question="chance",
        in_terminal=False,
    ),
    SectionSpec(
        "latency",
        "Latency",
        _tables(costs.latency_table),
        lambda reported, new_figure: draw_latency(reported.group, new_figure),
        question="cost",
        in_terminal=False,
    ),
    SectionSpec(
        "tokens",
        "Tokens and dollars",
        _tables(costs.query_cost_table, costs.phases_table),
        lambda reported, new_figure: draw_tokens(reported.group, new_figure),
        question="cost",
    ),
    SectionSpec("index", "Index", _tables(costs.index_table, costs.ledger_table), question="cost"),
    SectionSpec(
        "break-even",
        "When an index pays",
        lambda reported: Content(tables=break_even_tables(reported.group, reported.findings)),
        question="cost",
        in_terminal=False,
    ),
    SectionSpec(
        "resources",
        "CPU and RAM",
        _tables(costs.resources_table),
        lambda reported, new_figure: draw_resources(reported.group, new_figure),
        question="cost",
        in_terminal=False,
    ),
    SectionSpec("judges", "Judges", _judges, question="trust", in_terminal=False),
    SectionSpec(
        "runs",
        "What was run",
        _tables(runs.runs_table, runs.differences_table, runs.places_table),
        question="how",
        in_terminal=False,
    ),
    SectionSpec("reproduce", "Run it again", _reproduce, question="how", in_terminal=False),
)

Owned = Mapping[str, Sequence[str]]
"""Evaluator -> its metrics in a section; an empty name: evaluator unknown."""


def measured_sections(group: Group) -> list[SectionSpec]:
    """Sections in order of how many models their metrics need; unknown metrics last."""
    parts = _measures_by_title(group)
    homes = {evaluator: title for title in reversed(parts) for evaluator in parts[title]}
    taken = {*ANCHORS, *(spec.name for spec in (*BEFORE_MEASURES, *AFTER_MEASURES))}
    found = []
    for title, owned in parts.items():
        key = _key(title) if _key(title) not in taken else distinct(f"{_key(title)}-measures", taken)
        taken.add(key)
        found.append(_section(group, key, title, owned, homes))
    return found


def _section(group: Group, key: str, title: str, owned: Owned, homes: Mapping[str, str]) -> SectionSpec:
    """`homes`: evaluator -> the title of its main section."""
    names = [name for own in owned.values() for name in own]
    sorting = _sorting(group, names)

    def content(reported: Reported) -> Content:
        tables = list(_measure_tables(title, owned, homes, reported))
        return Content(items=scores.advice(group, sorting), tables=tables)

    def draw(reported: Reported, new_figure: NewFigure) -> Iterable[Drawing]:
        ranks_by = reported.findings.measure
        by_type = draw_by_type(group, ranks_by, new_figure) if ranks_by in names else []
        return [*by_type, *draw_measured(group, names, new_figure)]

    return SectionSpec(key, printable(title), content, draw, question="failures" if sorting else "scores")


def _measures_by_title(group: Group) -> dict[str, dict[str, list[str]]]:
    """Title of a section -> evaluator -> its metrics, in its order, over all runs and parameters."""
    present, found = set(group.measures), dict[str, dict[str, list[str]]]()
    evaluations = {one.evaluator: one for one in group.evaluations}.values()
    owned = [
        (one.evaluator, name)
        for one in sorted(evaluations, key=lambda one: (len(one.models), one.evaluator))
        for alike in group.evaluations
        for name in alike.measures
        if alike.evaluator == one.evaluator
    ]
    for evaluator, name in (*owned, *(("", name) for name in sorted(present))):
        if name in present:
            known = group.known.get(name)
            title = (known.section or evaluator or _OTHERS) if known else _OTHERS
            found.setdefault(title, {}).setdefault(evaluator, []).append(name)
            present.discard(name)
    return {**{title: own for title, own in found.items() if title != _OTHERS}, **found}


def _measure_tables(title: str, owned: Owned, homes: Mapping[str, str], reported: Reported) -> Iterator[Table]:
    """By type what ranks; then the measures of each evaluator, and how many answers they cover."""
    group, ranks_by = reported.group, reported.findings.measure
    if ranks_by and any(ranks_by in names for names in owned.values()):
        yield scores.by_type_table(group, ranks_by)
    for evaluator, names in owned.items():
        at_home, owner = homes[evaluator] == title, printable(evaluator) or "other"
        sorting = _sorting(group, names)
        yield from (scores.kinds_table(group, measure) for measure in sorting)
        shown = [name for name in names if name not in {ranks_by, *(one.name for one in sorting)}]
        if shown:
            name = owner if at_home else f"{owner}-{_key(title)}"
            named = f"{owner}: {'measures' if at_home else printable(title)}"
            yield scores.measure_table(group, name, named, shown)
        # What has learnt, a model or weights of its own, may leave scores out.
        learnt = any(one.evaluator == evaluator and (one.models or one.weights) for one in group.evaluations)
        if at_home and learnt and (covered := scores.coverage_table(group, evaluator)):
            yield covered


def _sorting(group: Group, names: Iterable[str]) -> list[Measure]:
    """Those of the measures that sort answers."""
    return [group.known[name] for name in names if name in group.known and group.known[name].labels]


def _key(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "measures"


def distinct(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken: no file system tells upper from lower case everywhere."""
    free, number = name, 2
    while free.lower() in taken:
        free, number = f"{name}-{number}", number + 1
    taken.add(free.lower())
    return free
