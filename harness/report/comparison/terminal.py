"""A comparison for a terminal, in 100 columns."""

from rich.console import Console

from harness.report.comparison.compare import Comparison
from harness.report.comparison.sections import LEGEND, comparison_sections, title_of
from harness.report.render.terminal import WIDTH, plain, print_table


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Print a ranking and the pairs for each measure; never wider than the console or 100 columns."""
    width = min(console.width, WIDTH)
    console.print(plain(title_of(comparison), "bold"), width=width)
    console.print()
    _, *found = comparison_sections(comparison)
    for table in (table for section in found for table in section.content.tables):
        print_table(table, console, width)
    console.print(plain(LEGEND, "dim"), width=width)
    for note in comparison.notes:
        console.print(plain(f"! {note}", "yellow"), width=width)
