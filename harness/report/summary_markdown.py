"""summary.md: the answer, what supports it, how sure we are, and what to know before believing it."""

from collections.abc import Sequence

from harness.display.text_format import counted
from harness.report.chapter import Chapter
from harness.report.render.markdown import MarkdownLines, prose, section_lines

_FILES = """\
Every number, with counts and intervals, is in `summary.csv`; `tables/` holds every table as CSV,
Markdown and LaTeX. report.html explains the terms.
"""


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
    return "\n".join([*lines, _FILES, *_measures(chapters)])


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
    return ["## Metrics", "", *shown, ""]
