"""comparison.md, and the folder in which it stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.report.comparison.compare import Comparison
from harness.report.comparison.csv_and_json import comparison_csv, differences_csv
from harness.report.comparison.figure import draw_differences
from harness.report.comparison.sections import comparison_sections, title_of
from harness.report.folder import files_together
from harness.report.render.markdown import prose, section_lines

_PAGE = "comparison.md"
_HOW_TO_READ = """\
## How to read this

- Runs are compared **query by query**: what is easy or hard for all cancels out. **n** is the number of
  queries with a value in every run; means, pairs and ranks are over those. "41 of 50" says that 9 have none in
  some run (a score that could not be computed, a latency that was not measured). A query that a system failed
  is in it, with the worst value of the measure. With repeats, a query's value is their mean. Unfinished runs
  are not compared. A run that fails more than 1 % of its queries, or refuses most that have an answer, is compared
  by nothing that it costs: a failure takes little.
- Pairs with a **baseline** stand apart, behind the others: a family of their own, on which no rank and no p of
  other pairs depends. Where only baselines and one system are named, they are compared as any runs.
- **A - B** is the difference of the means: with the types of queries as they are mixed in the data set where
  that is known, **balanced** beside it, each query the same. **A / B** is the ratio of the means.
- **[low, high]** is its interval: the differences that the test does not reject, at the level at which Holm's
  correction decided the pair (95 % or more). It excludes 0 exactly where the result is no tie. No interval: all
  differences are equal, or there are too few of them for that level.
- **better/equal/worse** counts queries from A's side. `differences.csv` names those that are not equal; look at
  one with `rag-harness show RUN QUERY_ID`.
- **p** is the chance of a mean difference as large if both were alike: McNemar's exact test where every value is 0
  or 1 and each query counts the same, otherwise signs of differences flipped at random, and corrected for skew.
  **p (Holm)** is corrected for all pairs of the same measure and query selection, no further: who looks at many
  measures will see a difference by chance in some.
- **p by document** flips the queries together that cite the same document most, corrected likewise: where it is at
  most 0.05 too, the result holds **also on new documents**, else **on these documents**.
- **tie**: p (Holm) is above 0.05. A tie is no proof that two systems are alike: see the next line.
- **detectable**: the true difference that a comparison over so many queries would find four times out of five,
  after Holm, if systems differ on as many queries as these two. A smaller one may well be there and be missed.
- **within 5 points** (`margin:`, `--margin`): whose interval rules out that it is worse than the other by as much:
  A, B, both or neither. Two that tie and of which neither is within the margin are undecided.
- **rank**: from 1 + the runs significantly better to all runs less those significantly worse. Runs that tie share
  ranks; A can tie with B and B with C though A is better than C: then they are 1-2, 1-3 and 2-3.
- – means not known or not applicable; it is never zero.

Every number stands in `comparison.csv`.
"""  # noqa: RUF001 - the en dash is the sign for "not measured"


def write_comparison(comparison: Comparison, out: Path) -> Path:
    """Write comparison.csv, differences.csv, a figure and comparison.md into `out`; return the path of the last.

    The same runs give the same bytes. Files of an earlier comparison in `out` are replaced.
    """
    with files_together(out) as folder:
        (folder / "comparison.csv").write_text(comparison_csv(comparison), encoding="utf-8")
        (folder / "differences.csv").write_text(differences_csv(comparison), encoding="utf-8")
        figures = draw_differences(comparison, folder)
        (folder / _PAGE).write_text(comparison_markdown(comparison, figures), encoding="utf-8")
    return out / _PAGE


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
