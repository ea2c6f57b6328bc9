"""Joins words that are broken at the end of a line."""

import re
from collections import Counter
from collections.abc import Sequence

_LETTERS = r"[^\W\d_]+"
_WORD = re.compile(rf"{_LETTERS}(?:-{_LETTERS})*")
_LEFT = re.compile(rf"(?:{_LETTERS}(?:-{_LETTERS})*|\d+)$")
_RIGHT = re.compile(rf"{_LETTERS}|\d+")
_NO_PROSE = re.compile(r"^\W?(?:--|/|www\.)|://|[@_\\]")
"""Begins or contains what only addresses, paths and options of commands do."""
_LONGEST = 100
"""Characters of each part; longer ones are no words."""
_AND = {"and", "or", "und", "oder", "bzw"}
"""Words that follow a first part such as `Vor-` in `Vor- und Nachteile`."""
_ENOUGH = 2
"""Compounds at line ends, more than hyphenated words, of a document that does not hyphenate."""


def without_broken_words(pages: Sequence[str]) -> list[str]:
    """The pages with each broken word in one piece, on its first line.

    What the document writes elsewhere decides whether the hyphen stays: `harbour` joins `har-` and `bour`,
    `well-known` keeps its hyphen. A word that is nowhere else keeps it if both parts are words of the document
    (`well`, `known`), or if most line ends with a hyphen are known compounds, as in documents without hyphenation.
    """
    lines = [page.split("\n") for page in pages]
    breaks = [pair for own in lines for pair in map(_break, own, own[1:]) if pair]
    if not breaks:
        return list(pages)
    words: Counter[str] = Counter()
    for page in pages:
        words.update(_WORD.findall(page.casefold().replace("\u2010", "-")))
    words.subtract(part.casefold() for pair in breaks for part in pair)  # Parts of broken words are no words.
    kept = Counter(_keeps_hyphen(left, right, words) for left, right in breaks if right[0].islower())
    hyphenates = kept[True] < _ENOUGH or kept[True] <= kept[False]
    return ["\n".join(_joined(own, words, hyphenates=hyphenates)) for own in lines]


def _break(line: str, following: str) -> tuple[str, str] | None:
    """The two parts of a word or number that is broken between two lines."""
    line = line.rstrip()
    if not line.endswith(("-", "\u2010")):
        return None
    token = line[-_LONGEST:-1].split(" ")[-1]  # The pattern alone would try every word of the line.
    left, right = _LEFT.search(token), _RIGHT.match(following.lstrip()[:_LONGEST])
    if not left or not right:
        return None
    return token if _NO_PROSE.search(token) else left[0], right[0]


def _keeps_hyphen(left: str, right: str, words: Counter[str]) -> bool | None:
    """None: the document does not say."""
    if _NO_PROSE.search(left):
        return True
    joined, compound = words[f"{left}{right}".casefold()], words[f"{left}-{right}".casefold()]
    if joined > 0 or compound > 0:
        return compound > joined
    if not right[0].islower() or left.isdigit() or len(left) == 1:
        return True  # Names, numbers and single letters: Baden-Baden, COVID-19, 1939-1945, e-mail.
    return True if "-" in left or (words[left.casefold()] > 0 and words[right.casefold()] > 0) else None


def _joined(lines: Sequence[str], words: Counter[str], *, hyphenates: bool) -> list[str]:
    written: list[str] = []
    for line in lines:
        pair = _break(written[-1], line) if written else None
        if pair is None:
            written.append(line)
            continue
        left, right = pair
        keeps = _keeps_hyphen(left, right, words)
        first, _, rest = line.lstrip().partition(" ")
        before = written[-1].rstrip()
        if right in _AND and words[f"{left}{right}".casefold()] <= 0:
            before += " "
        elif not keeps and (keeps is False or hyphenates):
            before = before[:-1]
        written[-1] = before + first
        if rest.strip():
            written.append(rest.lstrip())
    return written
