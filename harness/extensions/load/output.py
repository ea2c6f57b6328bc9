"""Shows measurements under load: on the terminal, as JSON, and as a section of the report."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.cli.console import complain, open_console
from harness.cli.options import words
from harness.core.errors import (
    EXIT_BUDGET,
    EXIT_DONE,
    EXIT_USER,
    BudgetExhausted,
    ConfigError,
    HarnessError,
    RunInterrupted,
)
from harness.display import Content, Drawing, Entry, Quantity, Table, counted, printable, short_number
from harness.display.plotting import GREY, LIGHT, WIDTH_IN, NewFigure
from harness.extensions.load.findings import fit_law, saturation, sentences
from harness.extensions.load.load_file import MOST_LEVELS, LoadFile, LoadLevel, LoadTest, read_load
from harness.report.figures.marks import alt_of, legend, name_of, style_of
from harness.report.sections import Reported, SectionSpec, saved_beside_runs
from harness.report.terminal import BRIEF_WIDTH, plain, print_table
from harness.report.view import Group, RunView
from harness.store import RunFile

if TYPE_CHECKING:
    from harness.extensions.load.session import LoadSession

_NOTE = (
    "Seconds from the arrival of a query to its answer. Means of an answered query: own is the system itself, "
    "model its calls, queue the part of these that waited at the model server, limit waiting for a limit of the "
    "provider. CPU and RAM of the system and its servers on this machine; 100 % is one busy core."
)
_HEADER = (
    *("load", "per s", "p50", "p95", "p99", "failed", "tokens/s"),
    *("own", "model", "queue", "limit", "CPU %", "RAM GB"),
)
_LEFT_OUT = frozenset({"p99", "model"})
"""Columns for which a terminal has no room, beside "limit" where no query waited for one."""


def parse_loads(option: str, text: str, most: int, *, whole: bool = False) -> tuple[float, ...]:
    """Ascending numbers separated by commas. ConfigError unless each is above 0, and at most `most`."""
    found = set()
    for word in words([text]):
        try:
            value = float(int(word) if whole else float(word))
        except ValueError:
            value = 0.0
        if not 0 < value <= most:
            kind = "whole numbers" if whole else "numbers"
            raise ConfigError(f"{option} {word[:40]!r}", f"write {kind} from above 0 to {most:,}, such as 1,2,4")
        found.add(value)
    if len(found) > MOST_LEVELS:
        raise ConfigError(f"{option} names {len(found)} levels", f"name at most {MOST_LEVELS}")
    return tuple(sorted(found))


def measure_and_print(session: LoadSession, *, as_json: bool) -> int:
    """Measure, and print what was measured, also if an error or Ctrl-C ended it. Returns the exit code."""
    try:
        session.measure()
    except (KeyboardInterrupt, HarnessError) as error:
        if not session.made.tests:
            raise
        _print(session, as_json=as_json)
        kept = f"what was measured is in {session.run.path / RunFile.LOAD}"
        if isinstance(error, KeyboardInterrupt):
            raise RunInterrupted(f"interrupted; {kept}") from None
        complain(f"error: {error}; {kept}")
        return EXIT_BUDGET if isinstance(error, BudgetExhausted) else EXIT_USER
    _print(session, as_json=as_json)
    return EXIT_DONE


def _print(session: LoadSession, *, as_json: bool) -> None:
    made = session.made
    if as_json:
        value = made.model_dump(mode="json")
        if made.closed:
            law, most = fit_law(made.closed.levels), saturation(made.closed.levels)
            value["law"] = {**asdict(law), "peak_users": law.peak_users} if law else None
            value["saturation"] = asdict(most) if most else None
        value |= {"sentences": sentences(made), "usd": session.usd}
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
        return
    console = open_console()
    width = min(console.width, BRIEF_WIDTH)
    table = level_table(made.tests, f"{printable(session.run.run_id)} under load (seconds)")
    waited = any(level.limit_s for test in made.tests for level in test.levels)
    print_table(replace(table, details=_LEFT_OUT if waited else _LEFT_OUT | {"limit"}, note=""), console, width)
    for sentence in sentences(made):
        console.print(plain(sentence), width=width)
    n = sum(level.n_asked for test in made.tests for level in test.levels)
    tokens = sum(used.input_tokens + used.output_tokens for used in session.used.values())
    cost = "no price known" if session.usd is None else f"${session.usd:.4f}"
    said = f"{counted(n, 'query', 'queries')} measured, {counted(tokens, 'token')} with the warm-up, {cost}."
    console.print(plain(said, "dim"), width=width)


def level_table(tests: Sequence[LoadTest], title: str) -> Table:
    rows = tuple(tuple(_entries(test, level)) for test in tests for level in test.levels)
    return Table("load", title, _HEADER, rows, _NOTE)


def _entries(test: LoadTest, level: LoadLevel) -> Iterator[Entry]:
    latency = level.latency
    yield level.name if level.users is not None else f"{short_number(level.per_s or 0.0)}/s"
    yield _two(level.answers_per_s)
    for value in (latency.p50_s, latency.p95_s, latency.p99_s) if latency else (None, None, None):
        yield Quantity(value, unit="two", at_least=bool(latency and latency.at_least))
    lost = level.n_failed + level.n_given_up
    yield Quantity(lost, of=lost + level.n_answered if lost else None, unit="count")
    yield _two(level.tokens_per_s)
    for value in (level.own_s, level.model_s, test.queue_s(level), level.limit_s):
        yield _two(value)
    yield _two(level.own_resources("cpu_percent"))
    yield _two(level.own_resources("rss_bytes"), 1e-9)


def _two(value: float | None, scale: float = 1.0) -> Quantity:
    return Quantity(None if value is None else scale * value, unit="two")


# The section of the report.


def content(reported: Reported) -> Content:
    found, items = _measured(reported.group)
    items += [f"{printable(view.shown)}: {' '.join(sentences(own))}" for view, own in found]
    tables = [level_table(own.tests, f"Under load: {printable(view.shown)}") for view, own in found]
    return Content(items=items, tables=tables)


def draw(reported: Reported, new_figure: NewFigure) -> Iterator[Drawing]:
    found, _ = _measured(reported.group)
    closed = [(view, own.closed) for view, own in found if own.closed and own.closed.levels]
    opened = [(view, own.open) for view, own in found if own.open and own.open.levels]
    if closed:
        yield _drawing(closed, new_figure, "users", "users at once", "line: fitted universal scalability law")
    if opened:
        yield _drawing(opened, new_figure, "per_s", "arrivals a second", "grey: as fast as they arrive")


def _measured(group: Group) -> tuple[list[tuple[RunView, LoadFile]], list[str]]:
    found, damage = saved_beside_runs(group, read_load)
    return [(view, own) for view, own in found if own.tests], damage


def _drawing(
    tests: Sequence[tuple[RunView, LoadTest]], new_figure: NewFigure, load: str, axis: str, line: str
) -> Drawing:
    """`load`: the field of a level on the horizontal axis."""
    figure = new_figure(figsize=(WIDTH_IN, 2.9), layout="constrained")
    throughput, latency = figure.subplots(1, 2)
    handles, most = [], 0.0
    for view, test in tests:
        look = style_of(view.position)
        x = [float(getattr(level, load)) for level in test.levels]
        answers = [np.nan if level.answers_per_s is None else level.answers_per_s for level in test.levels]
        most = max(most, *x)
        law = fit_law(test.levels)
        style: dict[str, Any] = {"color": look.color, "marker": look.marker, "markersize": 4.5}
        handles += throughput.plot(x, answers, linestyle="" if law else look.linestyle, **style)
        if law:
            grid = np.linspace(1, max(x), 100)
            throughput.plot(grid, [law.per_s(users) for users in grid], color=look.color, linewidth=1.0)
        for quantile, linestyle in (("p50_s", "-"), ("p95_s", ":")):
            seconds = [getattr(level.latency, quantile, None) for level in test.levels]
            known = [np.nan if value is None else value for value in seconds]
            latency.plot(x, known, linestyle=linestyle, linewidth=1.0, **style)
    if load == "per_s":
        throughput.plot([0, most], [0, most], color=GREY, linewidth=0.8, linestyle="--")
    for axes, name in ((throughput, "answers a second"), (latency, "seconds to an answer")):
        axes.set(xlabel=axis, ylabel=name, xlim=(0, 1.05 * most))
        axes.set_ylim(bottom=0)
        axes.grid(color=LIGHT, linewidth=0.6)
    legend(figure, handles, [name_of(view) for view, _ in tests], 105)
    counts = sorted(level.n_asked for _, test in tests for level in test.levels)
    n = f"{counts[0]:,}" if counts[0] == counts[-1] else f"{counts[0]:,} to {counts[-1]:,}"
    caption = (
        f"By {axis}: answers a second (left; {line}) and seconds from the arrival of a query to its answer "
        f"(right; solid: median, dotted: 95 of 100 queries). n = {n} queries a level."
    )
    peaks = [max(one.answers_per_s or 0.0 for one in test.levels) for _, test in tests]
    told = [f"{view.label}: {short_number(peak)}." for (view, _), peak in zip(tests, peaks, strict=True)]
    alt = alt_of(["Most answers a second.", *told])
    return Drawing(f"load-{load.replace('_', '-')}", f"Under load, by {axis}", caption, alt, figure)


SPEC = SectionSpec("load", "Under load", content, draw, question="stress", in_terminal=False)
