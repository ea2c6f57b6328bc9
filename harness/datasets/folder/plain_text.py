"""Decodes texts, and reads plain text, Markdown and JSON Lines, of which every row with a text is a document."""

from __future__ import annotations

import codecs
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath
from typing import Any

import yaml

from harness.core.page_and_section import fence_after, headings
from harness.core.sanitize import visible
from harness.datasets.decompression_limits import most_values, values_of_json
from harness.datasets.folder.text_cleanup import (
    NoDocument,
    ReadFile,
    ReadText,
    composed,
    no_heading,
    rows_below,
)

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?![ \t]*\r?\n)(?P<yaml>.*?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)"
    r"|\+\+\+[ \t]*\r?\n(?P<toml>.*?)(?<=\n)\+\+\+[ \t]*(?:\r?\n|$)",
    re.DOTALL,
)
_NAME = rb"""\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})"""
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset" + _NAME + rb"|^<\?xml[^>]{0,200}?encoding" + _NAME, re.I)
_RULE = re.compile(r"(?=[^|]*\|)(?=[^-]*-)[|:\- \t]*")
"""Below the header of a table."""
NOT_UTF8 = "not UTF-8: save it as UTF-8"


def read_text(content: bytes) -> ReadText:
    return ReadText(no_heading(decoded(content)))


def read_markdown(content: bytes) -> ReadText:
    """The title is that of the front matter, whose other fields are metadata, else the first heading."""
    fields, text = _front_matter(decoded(content))
    titled = fields.pop("title", "")
    first = next(headings(text), None)
    return ReadText(_with_repeated_headers(text), title=titled or (first.title if first else ""), metadata=fields)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The texts, numbers and dates in the front matter, and the text below. A block that is not valid stays
    text.
    """
    block = _FRONT_MATTER.match(text[:50_000])
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
        said = {
            str(name): str(value) for name, value in fields.items() if isinstance(value, str | int | float | date)
        }
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, text
    return said, text[block.end() :].lstrip("\r\n")


def _with_repeated_headers(text: str) -> str:
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
        if fence or "|" not in line or number == len(lines) or not _RULE.fullmatch(lines[number]):
            continue
        end = number + 1
        while end < len(lines) and "|" in lines[end]:
            end += 1
        written += [lines[number], *rows_below((line, lines[number]), lines[number + 1 : end])]
        number = end
    return "\n".join(written)


PLAIN: dict[str, Callable[[bytes], ReadText]] = {
    ".txt": read_text,
    ".text": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
}
"""Readers by file extension."""


def coding_of(start: bytes) -> str:
    if start.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    return "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def decoded(content: bytes) -> str:
    try:
        text = content.decode(coding_of(content))
    except UnicodeDecodeError as error:
        raise NoDocument("binary, not text" if b"\0" in content else NOT_UTF8) from error
    if "\0" in text:
        raise NoDocument("binary, not text")
    return text


_READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    # If the name could be read as single bytes, the page is not UTF-16.
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
"""Python's charset name -> the larger charset that browsers use for it."""
_SPELLED = {
    "dos-874": "cp874",
    "iso-8859-6-e": "iso8859-6",
    "iso-8859-6-i": "iso8859-6",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-8-i": "iso8859-8",
    "logical": "iso8859-8",
    "visual": "iso8859-8",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "ks_c_5601-1989": "cp949",
    "cn-big5": "big5hkscs",
    "gb_2312-80": "gb18030",
    "iso88591": "cp1252",
    "koi8": "koi8-r",
    "koi8-ru": "koi8-u",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-roman": "mac-roman",
}
"""Charset names that Python does not know."""


def decoded_page(content: bytes) -> str:
    """Decode with the charset that the page declares, else like plain text."""
    named = _CHARSET.search(content[:4096])
    charset = (named[1] or named[2]).decode() if named else ""
    if charset and not content.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        codec = ""
        try:
            codec = codec_of(charset)
            return content.decode(codec)
        except (UnicodeDecodeError, LookupError) as error:
            if codec != "utf-8":
                raise NoDocument("not in its declared charset") from error
    return decoded(content)


def codec_of(label: str) -> str:
    """Python's codec for the charset name of a page. LookupError: unknown name."""
    label = label.lower()
    try:
        named = _SPELLED.get(label) or codecs.lookup(label).name
    except LookupError:
        named = codecs.lookup(label.removeprefix("x-")).name  # Of non-standard names, such as `x-sjis`.
    return _READ_AS.get(named, named)


_BY_LINE = "rows identified by file and line, because ids in their file are not unique"


def read_rows_of(name: str, content: bytes) -> ReadFile:
    """Every row with a text is a document. Its `doc_id` is the id, otherwise file name and line (see
    `named_by_ids`), the title its `title`. All other texts, numbers and booleans, also those in `metadata`, become
    metadata. NoDocument: no row has a text.
    """
    if values_of_json(content) > most_values(len(content)):
        raise NoDocument("contains too many values to be data")
    documents: list[ReadText] = []
    refused: list[tuple[str, str]] = []
    for number, line in enumerate(decoded(content).split("\n"), start=1):
        if line.strip():
            try:
                documents.append(_row(name, number, line))
            except NoDocument as error:
                refused.append((f"line {number}", str(error)))
    if not documents:
        raise NoDocument("no row has a `text`" if refused else "without text")
    return ReadFile(documents, refused)


def named_by_ids(files: Mapping[str, ReadFile]) -> Iterator[tuple[str, ReadFile]]:
    """Each file by name. Rows are identified by their ids if each id of the file names a single document of the
    folder; otherwise by their lines, with a remark.
    """
    texts = [(name, one) for name, file in files.items() for one in file.documents]
    names = Counter(composed(one.row_id or one.doc_id or name) for name, one in texts)
    shared = {name for name, one in texts if one.row_id and names[composed(one.row_id)] > 1}
    for name, file in files.items():
        yield name, replace(file, documents=[_called(one, by_id=name not in shared) for one in file.documents])


def _called(one: ReadText, *, by_id: bool) -> ReadText:
    if not one.row_id:
        return one
    return replace(one, doc_id=one.row_id) if by_id else replace(one, remarks={**one.remarks, _BY_LINE: 1})


def _row(name: str, number: int, line: str) -> ReadText:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise NoDocument("a row that is not JSON") from error
    if not isinstance(fields, dict):
        raise NoDocument("a row that is not a JSON object")
    text, title, doc_id = (fields.pop(key, None) for key in ("text", "title", "doc_id"))
    if not isinstance(text, str) or not text.strip():
        raise NoDocument("a row without `text`")
    nested = fields.get("metadata")
    own = _named(doc_id)
    row_id = "" if own else next(filter(None, (_named(fields.get(key)) for key in ("id", "_id"))), "")
    return ReadText(
        text,
        title=title if isinstance(title, str) else own or row_id or f"{PurePosixPath(name).stem} {number}",
        doc_id=own or f"{name}#{number}",
        row_id=row_id,
        place=f"line {number}",
        metadata=(_scalars(nested) if isinstance(nested, dict) else {}) | _scalars(fields),
    )


def _named(value: object) -> str:
    return visible(str(value).strip()) if isinstance(value, str | int) else ""


def _scalars(fields: Mapping[Any, Any]) -> dict[str, str]:
    return {
        str(key): value if isinstance(value, str) else json.dumps(value)
        for key, value in fields.items()
        if isinstance(value, str | int | float)
    }
