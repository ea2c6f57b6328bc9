"""Reads plain text and Markdown."""

import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import date

import yaml

from harness.datasets.folder.text_cleanup import NoDocument, ReadText, no_heading, rows_below
from harness.display.page_and_section import fence_after, headings

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?![ \t]*\r?\n)(?P<yaml>.*?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)"
    r"|\+\+\+[ \t]*\r?\n(?P<toml>.*?)(?<=\n)\+\+\+[ \t]*(?:\r?\n|$)",
    re.DOTALL,
)
_LONGEST_FRONT_MATTER = 50_000
NOT_UTF8 = "not UTF-8: save it as UTF-8"
_SCALARS = (str, int, float, date)


def read_text(content: bytes) -> ReadText:
    """Read a plain text file."""
    return ReadText(no_heading(decoded(content)))


def read_markdown(content: bytes) -> ReadText:
    """Read Markdown; its headings stay, because they describe the passages. The title is that of the front matter,
    else the first heading. The other fields of the front matter are metadata.
    """
    fields, text = _front_matter(decoded(content))
    titled = fields.pop("title", "")
    first = next(headings(text), None)
    return ReadText(_with_repeated_headers(text), title=titled or (first.title if first else ""), metadata=fields)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The texts, numbers and dates in the front matter of a file, and the text below. A block that is not valid
    stays text.
    """
    block = _FRONT_MATTER.match(text[:_LONGEST_FRONT_MATTER])
    if block is None:
        return {}, text
    try:
        if block["toml"] is not None:
            fields: object = tomllib.loads(block["toml"].replace("\r\n", "\n"))
        else:
            # Values stay as written: `no` is not False, 12:30 is not 750. Nothing is merged or constructed.
            fields = yaml.load(block["yaml"], Loader=yaml.BaseLoader) or {}  # noqa: S506
        if not isinstance(fields, Mapping):
            return {}, text
        said = {str(name): str(value) for name, value in fields.items() if isinstance(value, _SCALARS)}
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, text
    return said, text[block.end() :].lstrip("\r\n")


def _with_repeated_headers(text: str) -> str:
    """The text with the header of each long table repeated, see `text_cleanup.rows_below`."""
    if "|" not in text:
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    written: list[str] = []
    fence = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = fence_after(line.lstrip(), fence)
        written.append(line)
        number += 1
        if fence or "|" not in line or number == len(lines) or not _is_rule(lines[number]):
            continue
        end = number + 1
        while end < len(lines) and "|" in lines[end]:
            end += 1
        written += [lines[number], *rows_below((line, lines[number]), lines[number + 1 : end])]
        number = end
    return "\n".join(written)


def _is_rule(line: str) -> bool:
    """Whether it is the line between the header and the rows of a table."""
    return "-" in line and "|" in line and not line.strip("|:- \t")


PLAIN: dict[str, Callable[[bytes], ReadText]] = {
    ".txt": read_text,
    ".text": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
}
"""Readers by file extension."""


def coding_of(start: bytes) -> str:
    """UTF-8, or UTF-16 and UTF-32 with a byte order mark."""
    if start.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    return "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def decoded(content: bytes) -> str:
    """Decode a text in the `coding_of` its first bytes."""
    try:
        text = content.decode(coding_of(content))
    except UnicodeDecodeError as error:
        raise NoDocument("binary, not text" if b"\0" in content else NOT_UTF8) from error
    if "\0" in text:
        raise NoDocument("binary, not text")
    return text
