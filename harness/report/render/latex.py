"""A table as LaTeX: booktabs in a float, for a document that loads booktabs, array and graphicx.

For pdflatex with its default encodings: missing characters become commands, their nearest letters, or "?".
"""

import re
import unicodedata
from collections.abc import Sequence

from harness.display import Table, file_name, format_value, printable

_LONGEST = 600
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
_LONG_NAME = 26


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
    composed = unicodedata.normalize("NFC", printable(text, _LONGEST))
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
    wrapped = [width > _LONG_NAME and is_words for width, is_words in zip(widths, words, strict=True)]
    share = min(0.3, 0.9 / max(1, sum(wrapped)))
    kinds = [
        rf">{{\raggedright\arraybackslash}}p{{{share:.2f}\linewidth}}" if wraps else "l" if is_words else "r"
        for wraps, is_words in zip(wrapped, words, strict=True)
    ]
    taken = [int(share * _LINE) if wraps else width for width, wraps in zip(widths, wrapped, strict=True)]
    return "".join(kinds), sum(taken) + 2 * len(taken)


def _row(cells: Sequence[str]) -> str:
    return rf"{' & '.join(latex(cell) for cell in cells)} \\"
