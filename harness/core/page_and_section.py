"""Page and section of a position in a document, derived from its text.

Page breaks are form feeds, headings are in Markdown (`## Keys`); the readers of all file formats write them so.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

PAGE_BREAK = "\f"
_LINE = re.compile(
    r"^(?:(?P<fence>(?:```|~~~).*)|(?P<level>#{1,6})[ \t]+(?P<title>\S.*?)[ \t]*#*[ \t]*$)", re.MULTILINE
)


class HeadingLine(NamedTuple):
    start: int
    level: int
    title: str


def headings(text: str) -> Iterator[HeadingLine]:
    """All headings, in order; fenced code is ignored."""
    fence = ""
    for line in _LINE.finditer(text.replace(PAGE_BREAK, "\n")):
        if line["fence"]:
            fence = fence_after(line["fence"], fence)
        elif not fence:
            yield HeadingLine(line.start(), len(line["level"]), " ".join(line["title"].split()))


def fence_after(line: str, fence: str) -> str:
    """The fence of the code block that is open after a line; empty if none is. `fence`: before the line."""
    if not line.startswith(("```", "~~~")):
        return fence
    rest = line.lstrip(line[0])
    mark = line[: len(line) - len(rest)]
    if fence:  # Only a fence at least as long as the opening one closes a block.
        return "" if mark.startswith(fence) and not rest.strip() else fence
    return "" if "`" in mark and "`" in rest else mark  # ```code``` is code within a line.


def has_places(text: str) -> bool:
    return PAGE_BREAK in text or ("#" in text and next(headings(text), None) is not None)


class PlacesOfText:
    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks = [found.start() for found in re.finditer(PAGE_BREAK, text)]
        self._headings = list(headings(text))
        self._starts = [one.start for one in self._headings]

    def describe(self, start: int, end: int) -> str:
        """Page and section of `start`, such as `page 12, 3.1 Ovens` or `pages 12-13`; empty if there are none."""
        own = self._text[start:end]
        start += len(own) - len(own.lstrip())
        end -= len(own) - len(own.rstrip())
        if not own or end <= start:
            return ""
        first, last = (1 + bisect_right(self._breaks, place) for place in (start, end - 1))
        pages = f"page {first}" if first == last else f"pages {first}-{last}"
        number = bisect_right(self._starts, start) - 1
        title = self._headings[number].title if number >= 0 else ""
        section = title if len(title) <= 80 else f"{title[:79]}…"
        return ", ".join(filter(None, (pages if self._breaks else "", section)))
