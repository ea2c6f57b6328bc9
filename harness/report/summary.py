"""summary.md: the answer, what supports it, how sure we are, and what to know before believing it."""

from collections.abc import Sequence

from harness.display.text_format import counted
from harness.report.chapter import Chapter
from harness.report.render.markdown import MarkdownLines, prose, section_lines

_HOW_TO_READ = """\
## How to read this

- **[low, high]** is a 95 % confidence interval: Wilson's for shares, Student's t corrected for skew for
  other means: of fewer than 30 values at 98 %, of fewer than 6 or of equal ones none. It says what other queries
  on these documents would give; on new documents a mean is less sure. Overlapping intervals are no test of a
  difference: that takes a comparison paired by query.
- **Choose**: one run is better than every other by more than chance. **A or B, within 5 points**: each is shown
  to be worse than none of the others by the margin or more (non-inferior). **Undecided**: neither; so many queries
  would find a difference of the margin four times out of five.
- **not finished**, **baseline**, **no run**: what does not compete. It has no rank, and nothing said of others
  depends on it.
- **n** counts answers (queries x repeats) in the mean. One that failed is in it, with the worst value of the
  measure. "170 of 200" says that 30 are not: no answer yet, or a score that could not be computed; the reasons
  stand above.
- **overall** weighs every sampled query the same; **natural mix** weighs query types as in the whole data set.
- **rank**: runs that share ranks do not differ by more than chance, over the same queries, by a paired test with
  Holm's correction; ranks are intervals, because A can tie with B and B with C though A is better than C.
- A **null query** is one to which the corpus holds no answer.
- **latency** is wall time without the moments in which every open model call of a query waited for a limit of its
  provider (429, Retry-After, requests_per_minute): while one is being answered, what others wait is latency; so is
  waiting for max_concurrency. A query that timed out took at least its limit; tokens and dollars include every
  model role.
- **a query with the index**: a query and its share of what the index took, over the queries of this run.
- **CPU, RAM** are mean / maximum of samples; process CPU in percent of one core, the machine's in percent of all
  cores. Peak RAM is the operating system's own count for the system's process.
- **index**: tokens, calls and dollars are what building it needs, whoever paid. "Calls another run paid" and
  "from another run" are the part that was there already: systems that ask the same of the same model, or embed
  the same text, share it. Seconds are those of a build alone: where others had helped, rebuilt from the times that
  were noted then, or with ≥ what the build took with that help. Peak RAM names what the embedder alone takes.
- **Judges**: what evaluators asked of models, every judgement counted as if it had been asked for; "paid before"
  are those whose text had been judged already. None of it is in a system's tokens, dollars or seconds.
- **Measures and what stands in for them**: correlation, over queries, of a measure with one that needs no judge,
  or no verdict of one. – where a column never varies or fewer than five queries have both.
- – means not measured or not applicable; it is never zero.

Every number, with counts and intervals, stands in `summary.csv`. The folder `tables` of a report holds every table
as CSV, Markdown and LaTeX.
"""  # noqa: RUF001 - the en dash is the sign for "not measured"


def summary_markdown(chapters: Sequence[Chapter]) -> str:
    """The whole text. Names and messages in it are escaped."""
    n_runs = sum(len(chapter.group.views) for chapter in chapters)
    lines = ["# RAG benchmark report", ""]
    if not chapters:
        lines += ["There are no runs to report on. Run: `rag-harness run`", ""]
    else:
        lines += [f"{counted(n_runs, 'run')} over {counted(len(chapters), 'data set selection')}.", ""]
    if len(chapters) > 1:
        lines += [
            "**Not comparable across sections:** the runs were made over different queries or documents, or some "
            "of them without a generator, so each selection has its own tables and figures.",
            "",
        ]
    for chapter in chapters:
        lines += _chapter(chapter)
    return "\n".join([*lines, _HOW_TO_READ, *_measures(chapters)])


def _chapter(chapter: Chapter) -> MarkdownLines:
    lines = [f"## {prose(chapter.group.title)}", "", prose(chapter.description), ""]
    for section in chapter.sections:
        lines += section_lines(section)
    return lines


def _measures(chapters: Sequence[Chapter]) -> MarkdownLines:
    """What each measure is, in the words of its evaluator."""
    said = {
        name: chapter.group.known[name]
        for chapter in chapters
        for name in chapter.group.measures
        if name in chapter.group.known
    }
    if not said:
        return []
    way = {True: "higher is better", False: "lower is better"}
    shown = [
        f"- **{prose(name)}**: {prose(measure.summary)}; {way[measure.higher_is_better]}."
        for name, measure in said.items()
    ]
    return ["## What the measures are", "", *shown, ""]
