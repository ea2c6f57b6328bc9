"""The sections that every chapter has, whatever was measured."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable

from harness.display import Content, Drawing, Table, printable
from harness.display.plotting import NewFigure
from harness.report.figures.costs import draw_latency, draw_tokens
from harness.report.figures.pareto import draw_pareto
from harness.report.figures.resources import draw_resources
from harness.report.figures.significance import draw_significance
from harness.report.figures.sweeps import draw_sweeps
from harness.report.leaderboard import leaderboard
from harness.report.published import beside_content
from harness.report.sections import ANSWER, BESIDE, NOTES, Reported, SectionSpec
from harness.report.tables import costs, runs, scores
from harness.report.tables.break_even import break_even_tables
from harness.report.tables.statistics import statistics_lines, statistics_tables
from harness.report.tables.sweeps import sweep_tables
from harness.report.view import Group

_FINE = "Nothing: every run finished, every query was answered and every score was computed."


def _answer(reported: Reported) -> Content:
    verdict = reported.findings.verdict
    return Content(paragraphs=(verdict.headline, *verdict.sentences), tables=[leaderboard(verdict)])


def _draw_answer(reported: Reported, new_figure: NewFigure) -> Iterable[Drawing]:
    measure, rows = reported.findings.measure, reported.findings.rows
    return draw_pareto(reported.group, measure, new_figure, rows) if measure else ()


def _notes(reported: Reported) -> Content:
    notes = reported.findings.verdict.caveats
    return Content(paragraphs=() if notes else (_FINE,), items=notes)


def _significance(reported: Reported) -> Content:
    group, findings = reported.group, reported.findings
    return Content(items=statistics_lines(group, findings), tables=statistics_tables(findings))


def _judges(reported: Reported) -> Content:
    table, left = scores.judge_table(reported.group), scores.judges_left(reported.group)
    return Content(paragraphs=[left] if left else [], tables=[table] if table else [])


def _beside(reported: Reported) -> Content:
    published = reported.published
    return beside_content(reported.group, published) if published else Content()


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
FIXED_NAMES = frozenset(spec.name for spec in (*BEFORE_MEASURES, *AFTER_MEASURES))
