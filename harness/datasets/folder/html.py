"""Reads HTML pages as text, without menus."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, BinaryIO

from harness.datasets.folder.html_charset_aliases import codec_of
from harness.datasets.folder.plain_text import decoded
from harness.datasets.folder.text_cleanup import NoDocument, ReadText, heading, no_heading

_NOT_SAID = (
    *("head", "script", "style", "template", "svg", "math", "iframe", "object"),
    *("nav", "footer", "aside", "button", "select"),
)
_IN_FORMS = ("textarea", "datalist")
"""Form fields whose content is input or a suggestion."""
_OF_OTHERS = frozenset({"a", "label"})
"""Link texts and labels do not count as content of the page itself."""
_APART = frozenset(
    {"blockquote", "div", "dl", "figure", "ol", "p", "pre", "section", "article", "table", "ul"}
    | {"h1", "h2", "h3", "h4", "h5", "h6"}
)
_LINES = frozenset(
    {
        "address",
        "br",
        "caption",
        "dd",
        "details",
        "dt",
        "figcaption",
        "header",
        "hr",
        "li",
        "main",
        "summary",
        "tr",
    }
)
_ANCHORS = {"\N{PILCROW SIGN}", "#", "\N{SECTION SIGN}"}
"""Texts of link anchors behind headings."""
_HEADING = re.compile(r"^h([1-6])$")
_NAME = rb"""\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})"""
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset" + _NAME + rb"|^<\?xml[^>]{0,200}?encoding" + _NAME, re.I)
_LEADS_ON = re.compile(r"^\s*[\d.]+\s*[;,\s]\s*[^\s;,]")
"""Matches a `<meta http-equiv=refresh>` that leads to another page; without a URL it only reloads this page."""
_LITTLE = 300
"""Most characters of a page that only says that it has moved."""
_BLANKS = re.compile(r"[ \t\r\n\f]+")


def read_html(file: BinaryIO, at_work: Callable[[], None]) -> ReadText:
    """The text of the main part (`main` or a single `article`), else of the body. Headings become Markdown."""
    from lxml import etree, html

    at_work()
    text = _decoded(file.read())
    if not text.strip():
        raise NoDocument("without text")
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError as error:
        raise NoDocument("without text") from error
    named = " ".join((root.findtext(".//title") or "").split())
    _drop(list(root.iter("noscript")))  # For browsers without scripts; not visible to users.
    leads_on = _leads_on(root)
    _drop_what_is_not_said(root)
    main = _main(root)
    first = next((" ".join(one.text_content().split()) for one in main.iter("h1", "h2")), "")
    text = _joined(main)
    if leads_on and len(text) < _LITTLE:
        raise NoDocument("a page that only leads to another")
    return ReadText(text, title=first or named)


def _leads_on(root: Any) -> bool:
    """Whether the page redirects to another one by itself."""
    asked = root.xpath("//meta[translate(@http-equiv, 'REFSH', 'refsh') = 'refresh']")
    return any(_LEADS_ON.match(one.get("content", "")[:_LITTLE]) for one in asked)


def _drop_what_is_not_said(root: Any) -> None:
    """Drop menus, scripts, controls and forms. Forms stay if they contain the page: some pages are one form."""
    anchors = [one for one in root.iter("a") if (one.text or "").strip() in _ANCHORS and not len(one)]
    filled_in = [one for name in _IN_FORMS for one in root.iterfind(f".//form//{name}")]
    _drop([*root.iter(*_NOT_SAID), *anchors, *filled_in])
    forms = list(root.iter("form"))
    main = _main(root)
    is_within = next(main.iterancestors("form"), None) is not None
    if forms and not (is_within or _are_the_page(main)):
        _drop(forms)


def _drop(elements: list[Any]) -> None:
    for element in elements:
        if element.getparent() is not None:
            element.drop_tree()


def _are_the_page(root: Any) -> bool:
    """Whether forms contain at least a quarter of the text outside links and labels."""
    from lxml import etree

    whole = inside = forms = others = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        begins = event == "start"
        step = 1 if begins else -1
        forms += step * (element.tag == "form")
        others += step * (element.tag in _OF_OTHERS)
        said = 0 if others else len("".join(((element.text if begins else element.tail) or "").split()))
        whole += said
        inside += said if forms else 0
    return 4 * inside >= whole


def _decoded(content: bytes) -> str:
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


def _main(root: Any) -> Any:
    for path in ("//main", "//*[@role='main']", "//article"):
        found = root.xpath(path)
        if len(found) == 1 and len(found[0].text_content().strip()) > 0:
            return found[0]
    return root


class _Writing:
    """Collects text; separators and list marks are added only if text follows."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._ends = 0
        self._mark = ""
        self._cells = 0
        self._kept = 0

    def begin(self, tag: str) -> None:
        """Start an element."""
        self._break(tag)
        self._kept += tag == "pre"
        if tag == "tr":
            self._cells, self._mark = 0, ""
        elif tag in {"td", "th"}:
            self._mark += " | " if self._cells else ""
            self._cells += 1
        elif tag == "li":
            self._mark = "- "
        elif level := _HEADING.match(tag):
            self._mark = heading(int(level[1]), "")

    def end(self, tag: str) -> None:
        """End an element."""
        self._break(tag)
        self._kept -= tag == "pre"
        if tag == "tr" or tag in _APART:
            self._mark = ""

    def say(self, text: str) -> None:
        """Add a text. Outside <pre>, white space is reduced to one blank."""
        text = text if self._kept else _BLANKS.sub(" ", text)
        if text.strip():
            begins = self._ends or self._mark or not self.said
            text = text.lstrip() if begins and not self._kept else text
            self.said += ["\n" * self._ends, self._mark, text if self._mark else no_heading(text)]
            self._ends, self._mark = 0, ""
        elif text and not self._ends and not self._mark:
            self.said.append(" ")

    def _break(self, tag: str) -> None:
        self._ends = max(self._ends, 2 if tag in _APART else 1 if tag in _LINES else 0)


def _joined(root: Any) -> str:
    """The text of an element. Iterative, because pages may be nested deeply."""
    from lxml import etree

    writing = _Writing()
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            writing.begin(element.tag)
            writing.say(element.text or "")
        else:
            writing.end(element.tag)
            writing.say((element.tail or "") if element is not root else "")
    return re.sub(r"[ \t]+\n", "\n", "".join(writing.said)).strip()
