"""The same numbers for a terminal: two tables that fit into 100 columns, and what to know about them."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.console import Group as Stack
from rich.table import Table
from rich.text import Text

from harness.analysis import Aggregate
from harness.report.evaluation_tables import measures_by_evaluator
from harness.report.tables import index_seconds
from harness.report.text import NOTHING, counted, number, percent, population, printable, type_name
from harness.report.view import Group, RunView, load_groups
from harness.store import RunDir

WIDTH = 100
_BESIDE = 60
"""What the columns other than the query types take at most, in characters."""
_LONGEST_TYPE = 12
_MOST_MEASURES = 9


def render_terminal(runs: Sequence[RunDir], console: Console) -> None:
    """Print accuracy and cost of these runs, grouped by data set; never wider than the console or 100 columns."""
    groups = load_groups(runs)
    if not groups:
        console.print(Text("No runs to report on."))
    width = min(console.width, WIDTH)
    for group in groups:
        queries = counted(len(group.views[0].frame.query_types), "query", "queries")
        console.print(Text(f"{group.title}: {queries}, digest {printable(group.digest[:12])}", style="bold"))
        for table in _tables(group, width):
            console.print(table, width=width)
            console.print()
        _print_notes(group, console, width)
    if len(groups) > 1:
        console.print(Text("Different queries or documents: do not compare across these tables.", style="yellow"))


def _tables(group: Group, width: int) -> list[RenderableType]:
    """Answers and cost; the query types get a table of their own where they do not fit beside the rest."""
    types = group.query_types if len(group.query_types) > 1 else []
    if len(_that_fit(types, width - _BESIDE)) == len(types):
        tables = [_answer_table(group, types)]
    else:
        tables = [_answer_table(group, []), _type_table(group, types, width)]
    return [*tables, *_measure_tables(group), _cost_table(group)]


def _measure_tables(group: Group) -> list[RenderableType]:
    """The first measures of each evaluator, those it names first being the main ones."""
    tables: list[RenderableType] = []
    for evaluator, measures in measures_by_evaluator(group).items():
        table = _table(printable(evaluator))
        for view in group.views:
            table.add_column(_label(view), justify="right", overflow="fold")
        for name in measures[:_MOST_MEASURES]:
            table.add_row(Text(printable(name)), *[_shown(view.row(name)) for view in group.views])
        tables.append(table)
        if len(measures) > _MOST_MEASURES:
            more = f"{counted(len(measures) - _MOST_MEASURES, 'more measure')} in the report's files"
            tables[-1] = Stack(table, Text(more, style="dim italic"))
    return tables


def _shown(row: Aggregate | None) -> str:
    """The mean, and over how many where some are missing."""
    if row is None or row.mean is None:
        return NOTHING
    return f"{row.mean:.3f} (n={population(row)})" if row.n_failed else f"{row.mean:.3f}"


def _answer_table(group: Group, types: Sequence[str]) -> Table:
    table = _table("accuracy, %")
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("overall [95 % CI]", justify="right", no_wrap=True)
    _add_type_columns(table, types)
    table.add_column("halluc.", justify="right", no_wrap=True)
    table.add_column("false\nabst.", justify="right", no_wrap=True)
    for view in group.views:
        overall = view.row("accuracy")
        table.add_row(
            _label(view),
            population(overall),
            percent(overall, interval=True),
            *[percent(view.row("accuracy", query_type)) for query_type in types],
            percent(view.row("hallucination_rate")),
            percent(view.row("false_abstention_rate")),
        )
    return table


def _type_table(group: Group, types: Sequence[str], width: int) -> Table:
    shown = _that_fit(types, width - _BESIDE // 3)
    table = _table("by type, %")
    _add_type_columns(table, shown)
    for view in group.views:
        table.add_row(_label(view), *[percent(view.row("accuracy", query_type)) for query_type in shown])
    if len(shown) < len(types):
        table.caption = f"{counted(len(types) - len(shown), 'more query type')} in the report's files"
    return table


def _add_type_columns(table: Table, types: Sequence[str]) -> None:
    for query_type in types:
        table.add_column(Text(type_name(query_type)), justify="right", overflow="fold", max_width=_LONGEST_TYPE)


def _that_fit(types: Sequence[str], width: int) -> list[str]:
    shown: list[str] = []
    for query_type in types:
        width -= min(len(type_name(query_type)), _LONGEST_TYPE) + 2
        if width < 0:
            break
        shown.append(query_type)
    return shown


def _cost_table(group: Group) -> Table:
    table = _table("cost")
    names = (
        "tokens\nper query",
        "latency\np50, s",
        "latency\np95, s",
        "USD\nper query",
        "index\ns",
        "index\ntokens",
    )
    for name in (*names, "index\nUSD"):
        table.add_column(name, justify="right", no_wrap=True)
    for view in group.views:
        table.add_row(
            _label(view),
            number(_sum(view, "input_tokens", "output_tokens")),
            number(view.value("latency_s_p50")),
            number(view.value("latency_s_p95")),
            number(view.value("usd")),
            index_seconds(view),
            number(_sum(view, "index_input_tokens", "index_output_tokens")),
            number(view.value("index_usd")),
        )
    return table


def _table(first: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", caption_justify="left")
    table.add_column(Text(first, style="dim"), overflow="fold", min_width=len(first))
    return table


def _label(view: RunView) -> Text:
    return Text(printable(view.label))


def _sum(view: RunView, *names: str) -> float | None:
    values = [view.value(name) for name in names]
    return None if None in values else sum(value for value in values if value is not None)


def _print_notes(group: Group, console: Console, width: int) -> None:
    lines = [("", note) for note in (*group.notes, *group.shared_notes)]
    lines += [(view.label, note) for view in group.views for note in group.own_notes(view)]
    for label, note in lines:
        who = f"{printable(label)}: " if label else ""
        console.print(Text(f"! {who}{note}", style="yellow"), width=width)
    console.print()
