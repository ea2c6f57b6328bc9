"""The sections that every chapter has, whatever was measured."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from harness.display import Content, Drawing, Table, printable
from harness.display.plotting import NewFigure
from harness.report.figures.latency import draw_latency
from harness.report.figures.pareto import draw_pareto
from harness.report.figures.resources import draw_resources
from harness.report.figures.significance import draw_significance
from harness.report.figures.tokens import draw_tokens
from harness.report.leaderboard import leaderboard
from harness.report.sections.reproduce_command import run_command
from harness.report.sections.spec import ANSWER, NOTES, Reported, SectionSpec
from harness.report.sweeps import draw_sweeps, sweep_tables
from harness.report.tables import cost, index, run_overview, scores, significance
from harness.report.tables.break_even import break_even_tables
from harness.report.tables.estimates import estimate_tables
from harness.report.verdict.statistics_lines import statistics_lines

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


def _twins(reported: Reported) -> Content:
    return _tables(scores.twin_table(reported.group))


def _significance(reported: Reported) -> Content:
    group, findings = reported.group, reported.findings
    tables = (
        significance.leads_table(findings),
        significance.matrix_table(group, findings),
        *significance.pair_tables(group, findings),
    )
    return Content(items=statistics_lines(group, findings), tables=[table for table in tables if table])


def _latency(reported: Reported) -> Content:
    return _tables(cost.latency_table(reported.group))


def _tokens(reported: Reported) -> Content:
    return _tables(cost.query_cost_table(reported.group), cost.phases_table(reported.group))


def _index(reported: Reported) -> Content:
    return _tables(index.index_table(reported.group), index.ledger_table(reported.group))


def _break_even(reported: Reported) -> Content:
    return _tables(*break_even_tables(reported.group, reported.findings))


def _resources(reported: Reported) -> Content:
    return _tables(index.resources_table(reported.group))


def _judges(reported: Reported) -> Content:
    table, left = scores.judge_table(reported.group), scores.judges_left(reported.group)
    return Content(paragraphs=[left] if left else [], tables=[table] if table else [])


def _sweep(reported: Reported) -> Content:
    return _tables(*sweep_tables(reported.group, reported.findings))


def _estimates(reported: Reported) -> Content:
    return _tables(*estimate_tables(reported.group))


def _runs(reported: Reported) -> Content:
    group = reported.group
    return _tables(
        run_overview.runs_table(group), run_overview.differences_table(group), run_overview.places_table(group)
    )


def _reproduce(reported: Reported) -> Content:
    views = reported.group.views
    names = shlex.join(printable(view.run.run_id, 200) for view in views)
    commands = [run_command(view.manifest) for view in views]
    return Content(code=(*commands, f"rag-harness evaluate {names}", f"rag-harness report {names}"))


def _tables(*tables: Table | None) -> Content:
    return Content(tables=[table for table in tables if table])


BEFORE_MEASURES = (
    SectionSpec(ANSWER, "The verdict", _answer, _draw_answer),
    SectionSpec(NOTES, "Notes", _notes, question="how", in_terminal=False),
    # What a sweep was made for stands before what else was measured.
    SectionSpec(
        "sweep-over",
        "Sweep",
        _sweep,
        lambda reported, new_figure: draw_sweeps(reported.group, reported.findings, new_figure),
        question="sweep",
    ),
)
AFTER_MEASURES = (
    SectionSpec("twins", "Metrics and their stand-ins", _twins, question="trust", in_terminal=False),
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
        _latency,
        lambda reported, new_figure: draw_latency(reported.group, new_figure),
        question="cost",
        in_terminal=False,
    ),
    SectionSpec(
        "tokens",
        "Tokens and dollars",
        _tokens,
        lambda reported, new_figure: draw_tokens(reported.group, new_figure),
        question="cost",
    ),
    SectionSpec("index", "Index", _index, question="cost"),
    SectionSpec("break-even", "When an index pays", _break_even, question="cost", in_terminal=False),
    SectionSpec(
        "resources",
        "CPU and RAM",
        _resources,
        lambda reported, new_figure: draw_resources(reported.group, new_figure),
        question="cost",
        in_terminal=False,
    ),
    SectionSpec("judges", "Judges", _judges, question="trust", in_terminal=False),
    SectionSpec("estimates", "Estimated and measured", _estimates, question="cost", in_terminal=False),
    SectionSpec("runs", "What was run", _runs, question="how", in_terminal=False),
    SectionSpec("reproduce", "Run it again", _reproduce, question="how", in_terminal=False),
)
STANDING_NAMES = frozenset(spec.name for spec in (*BEFORE_MEASURES, *AFTER_MEASURES))
