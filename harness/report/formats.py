"""Tables and reports as CSV, LaTeX and GitHub's Markdown; each escapes the markup of its format.

LaTeX: booktabs in a float, for a document that loads booktabs, array and graphicx. For pdflatex with its default
encodings: missing characters become commands, their nearest letters, or "?".
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields, replace

from harness.display import Section, Table, counted, file_name, format_value, printable
from harness.display.text_format import csv_name, markdown
from harness.report.chapter import Chapter, what_differs
from harness.report.view import Group
from harness.statistics.run_frame import Aggregate

COLUMNS = tuple(field.name for field in fields(Aggregate))
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    "–": "--",  # noqa: RUF001 - an en dash
    "—": "---",
    "−": "$-$",  # noqa: RUF001 - a minus
    "…": r"\ldots{}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "×": r"$\times$",  # noqa: RUF001 - a times sign
    "·": r"$\cdot$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "µ": r"$\mu$",
    "“": "``",
    "”": "''",
    "‘": "`",  # noqa: RUF001 - a quote
    "’": "'",  # noqa: RUF001 - a quote
    "€": r"\texteuro{}",
    "°": r"$^\circ$",
}
_NOT_IN_OT1 = "ÐÞðþ÷"
_LINE = 92
"""Characters of a \\small line of an A4 page, roughly."""
_FILES = """\
Every number, with counts and intervals, is in `summary.csv`; `tables/` holds every table as CSV,
Markdown and LaTeX. report.html explains the terms.
"""

MarkdownLines = list[str]


def table_csv(table: Table) -> str:
    """Header and rows; no cell is a formula, for which only words can be taken: numbers are ours."""
    lines = (table.header, *table.rows)
    return csv_text(
        [csv_name(entry) if isinstance(entry, str) else format_value(entry) for entry in line] for line in lines
    )


def summary_csv(groups: Sequence[Group]) -> str:
    """Every aggregate of every run in long format; `system` is the run's label. Empty cells were not measured."""
    rows = (
        replace(
            row,
            run_id=csv_name(row.run_id),
            system=csv_name(view.label),
            dataset=csv_name(row.dataset),
            query_type=csv_name(row.query_type),
            measure=csv_name(row.measure),
        )
        for group in groups
        for view in group.views
        for row in view.rows
    )
    return csv_text([COLUMNS, *([exact(value) for value in astuple(row)] for row in rows)])


def csv_text(lines: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def exact(value: object) -> str:
    """A number with ten digits; empty: None."""
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def table_latex(table: Table) -> str:
    """A `table` float with caption and the label `tab:<name>`, scaled down if it is too wide."""
    lines = [table.header, *[tuple(map(format_value, row)) for row in table.rows]]
    # A first column that wraps counts with the width it is given.
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.header))]
    spec, width = _columns(widths, table.word_columns)
    rows = [_row(line) for line in lines[1:]]
    tabular = [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", _row(table.header), r"\midrule", *rows]
    tabular += [r"\bottomrule", r"\end{tabular}"]
    if width > _LINE:
        tabular = [r"\resizebox{\linewidth}{!}{%", *tabular, "}"]
    caption = f"{table.title}. {table.note}" if table.note else f"{table.title}."
    whole = [r"\begin{table}[htbp]", r"\centering", r"\small", rf"\caption{{{latex(caption)}}}"]
    whole += [rf"\label{{tab:{file_name(table.name)}}}", *tabular, r"\end{table}"]
    return "\n".join(["% \\usepackage{array,booktabs,graphicx}", *whole, ""])


def latex(text: str) -> str:
    """`printable`, special characters as themselves, and a place to break after what joins the parts of a name."""
    composed = unicodedata.normalize("NFC", printable(text, 600))
    safe = "".join(_SPECIAL[char] if char in _SPECIAL else _letter(char) for char in composed)
    # A bracket after the end of a row would be its option.
    safe = re.sub(r"^\[", "{[}", safe)
    return re.sub(r"(?<=\w)(\\_|[-=/.:])(?=[A-Za-z])", r"\1\\allowbreak{}", safe)


def _letter(char: str) -> str:
    if char.isascii() or ("À" <= char <= "ÿ" and char not in _NOT_IN_OT1):
        return char
    plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode("ascii")
    return "".join(_SPECIAL.get(one, one) for one in plain) or "?"


def _columns(widths: Sequence[int], words: Sequence[bool]) -> tuple[str, int]:
    """The columns' kinds, and how many characters they take side by side."""
    wrapped = [width > 26 and is_words for width, is_words in zip(widths, words, strict=True)]
    share = min(0.3, 0.9 / max(1, sum(wrapped)))
    kinds = [
        rf">{{\raggedright\arraybackslash}}p{{{share:.2f}\linewidth}}" if wraps else "l" if is_words else "r"
        for wraps, is_words in zip(wrapped, words, strict=True)
    ]
    taken = [int(share * _LINE) if wraps else width for width, wraps in zip(widths, wrapped, strict=True)]
    return "".join(kinds), sum(taken) + 2 * len(taken)


def _row(cells: Sequence[str]) -> str:
    return rf"{' & '.join(latex(cell) for cell in cells)} \\"


def table_markdown(table: Table) -> str:
    return "\n".join([f"# {prose(table.title)}", "", *_body(table), ""])


def section_lines(section: Section) -> MarkdownLines:
    """A heading of the third level and everything below it, with an empty line after each part."""
    lines = [f"### {prose(section.title)}", ""]
    content = section.content
    for paragraph in content.paragraphs:
        lines += [prose(paragraph), ""]
    if content.items:
        lines += [*[f"- {prose(item)}" for item in content.items], ""]
    for picture in section.pictures:
        lines += [f"![{prose(picture.alt)}]({picture.path.as_posix()})", ""]
        lines += [f"**{prose(picture.title)}** {prose(picture.caption)}", ""]
    for table in content.tables:
        if table.title != section.title:
            lines += [f"**{prose(table.title)}**", ""]
        lines += [*_body(table), ""]
    if content.code:
        commands = [printable(line, 100_000) for line in content.code]
        # Tildes, more than any line has one after the other: none of them can close it.
        tildes = [len(found) + 1 for line in commands for found in re.findall("~+", line)]
        fence = "~" * max([3, *tildes])
        lines += [f"{fence}sh", *commands, fence, ""]
    return lines


def prose(text: str) -> str:
    """A sentence that is nothing but its letters."""
    return markdown(text, 2000)


def _body(table: Table) -> MarkdownLines:
    rule = ["---" if words else "---:" for words in table.word_columns]
    # Only words can be taken for markup: numbers are ours.
    body = [
        [markdown(entry, 200) if isinstance(entry, str) else format_value(entry) for entry in line]
        for line in (table.header, *table.rows)
    ]
    note = ["", prose(table.note)] if table.note else []
    return [*(f"| {' | '.join(line)} |" for line in (body[0], rule, *body[1:])), *note]


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
            f"**Not comparable across sections** ({prose(what_differs(chapters))}): each "
            "selection has its own tables and figures.",
            "",
        ]
    for chapter in chapters:
        facts = "; ".join(f"{name}: {value}" for name, value in chapter.facts.items())
        lines += [f"## {prose(chapter.group.title)}", "", prose(f"{facts}."), ""]
        for section in chapter.sections:
            lines += section_lines(section)
    return "\n".join([*lines, _FILES, *_measures(chapters)])


def _measures(chapters: Sequence[Chapter]) -> MarkdownLines:
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
