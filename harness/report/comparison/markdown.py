"""comparison.md, and the folder in which it stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.errors import explained_io
from harness.report.comparison.compare import Comparison
from harness.report.comparison.data import comparison_csv, differences_csv
from harness.report.comparison.figure import draw_differences
from harness.report.comparison.sections import comparison_sections, title_of
from harness.report.render.markdown import prose, section_lines

_HOW_TO_READ = """\
## How to read this

- Two runs are compared **query by query**: what is easy or hard for both cancels out. **n** is the number of
  queries with a value in both. "41 of 50" says that 9 have none in one of the two (a score that could not be
  computed, no answer yet, a latency that was not measured). A query that a system failed is in it, with the worst
  value of the measure. With repeats, a query's value is their mean.
- **A - B** is the difference of the means, **[low, high]** its 95 % bootstrap interval over queries (seeded). No
  interval: all differences are equal, so nothing is known of their spread. **A / B** is the ratio of the means.
- **better/equal/worse** counts queries from A's side. `differences.csv` names those that are not equal; look at
  one with `rag-harness show RUN QUERY_ID`.
- **p** is the chance of a difference as large if both were alike: McNemar's exact test where every value is 0 or
  1, otherwise Wilcoxon's signed-rank test. **p (Holm)** is corrected for all pairs of the same measure and query
  selection, no further: who looks at many measures will see a difference by chance in some.
- **tie**: p (Holm) is above 0.05, or the mean and the ranks point different ways (a few slow queries can turn a
  mean). A tie is no proof that two systems are alike: see the next line.
- **detectable**: the true difference that a comparison over so many queries would find four times out of five
  (paired t-test, 5 % two-sided, before Holm, spread as observed; McNemar's and Wilcoxon's tests find a little
  less). A smaller one may well be there and be missed.
- **rank**: from 1 + the runs significantly better to all runs less those significantly worse. Runs that tie share
  ranks; A can tie with B and B with C though A is better than C: then they are 1-2, 1-3 and 2-3.
- – means not known or not applicable; it is never zero.

Every number stands in `comparison.csv`.
"""  # noqa: RUF001 - the en dash is the sign for "not measured"


def write_comparison(comparison: Comparison, out: Path) -> Path:
    """Write comparison.csv, differences.csv, a figure and comparison.md into `out`; return the path of the last.

    The same runs give the same bytes. Files of an earlier comparison in `out` are replaced.
    """
    written = out / "comparison.md"
    with explained_io("write the comparison in", out):
        out.mkdir(parents=True, exist_ok=True)
        (out / "comparison.csv").write_text(comparison_csv(comparison), encoding="utf-8")
        (out / "differences.csv").write_text(differences_csv(comparison), encoding="utf-8")
        figures = draw_differences(comparison, out)
        written.write_text(comparison_markdown(comparison, figures), encoding="utf-8")
    return written


def comparison_markdown(comparison: Comparison, figures: Sequence[Path] = ()) -> str:
    """The whole text, with figures that stand in the same folder. Names and messages in it are escaped."""
    lines = [f"# {prose(title_of(comparison))}", "", "Paired by query.", ""]
    runs, *found = comparison_sections(comparison)
    lines += section_lines(runs)
    for path in figures:
        lines += [f"![differences]({path.name})", ""] if path.suffix == ".png" else []
    for section in found:
        lines += section_lines(section)
    return "\n".join([*lines, _HOW_TO_READ])
