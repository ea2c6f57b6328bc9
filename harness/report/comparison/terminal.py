"""A comparison for a terminal, in 100 columns."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.analysis.paired import MeasureComparison, Pair
from harness.report.comparison import text
from harness.report.comparison.compare import Comparison
from harness.report.render.terminal import WIDTH
from harness.report.text import counted, printable

_LEGEND = (
    "> better, < worse: p (Holm) of all pairs of the measure is at most 0.05; ~ is a tie, which is no proof of "
    "equality. A - B with its 95 % bootstrap interval over queries. b/e/w: queries on which A is better, equal, "
    "worse. detectable: the true difference that so many queries would show four times out of five."
)


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Print a ranking and the pairs for each measure; never wider than the console or 100 columns."""
    width = min(console.width, WIDTH)
    kind = f", type {comparison.query_type}" if comparison.query_type else ""
    runs = counted(len(comparison.runs), "run")
    console.print(Text(f"{comparison.title}: {runs}, paired by query{kind}", style="bold"), width=width)
    for compared in comparison.measures:
        console.print()
        title = Text(printable(compared.measure.name), style="bold")
        title.append(f"  {text.described(compared)}", style="not bold dim")
        console.print(title, width=width)
        console.print(_ranking_table(comparison, compared), width=width)
        console.print(_pair_table(comparison, compared), width=width)
    console.print()
    console.print(Text(_LEGEND, style="dim"), width=width)
    for note in comparison.notes:
        console.print(Text(f"! {printable(note, 600)}", style="yellow"), width=width)


def _ranking_table(comparison: Comparison, compared: MeasureComparison) -> Table:
    table = _table()
    table.add_column("rank", no_wrap=True)
    table.add_column("system", overflow="fold")
    table.add_column(f"mean, n = {compared.n_common:,}", justify="right", no_wrap=True)
    for position in text.ranking(compared):
        mean = text.value(compared, compared.means[position])
        table.add_row(text.rank(compared, position), Text(printable(comparison.label(position))), mean)
    return table


def _pair_table(comparison: Comparison, compared: MeasureComparison) -> Table:
    table = _table()
    table.add_column("A, B", overflow="fold", min_width=12)
    for name in ("n", "A - B [95 % CI]", "b/e/w", "p (Holm)", "detectable"):
        table.add_column(name, justify="right", overflow="fold")
    for pair in compared.pairs:
        table.add_row(
            _names(comparison, compared, pair),
            text.population(pair),
            text.difference(compared, pair),
            text.outcomes(compared.outcomes(pair)),
            text.chance(pair.p_holm),
            text.value(compared, pair.detectable),
        )
    return table


def _names(comparison: Comparison, compared: MeasureComparison, pair: Pair) -> Text:
    first, second = (printable(comparison.label(position)) for position in (pair.a, pair.b))
    return Text(f"{first} {text.SIGNS[compared.verdict(pair)]} {second}")


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
