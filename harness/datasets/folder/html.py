"""Reads HTML pages as text, without menus. Formulas and raised numbers stay what they are: 10² is not 102."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Set
from typing import Any, BinaryIO

from harness.datasets.folder.plain_text import decoded_page
from harness.datasets.folder.text_cleanup import (
    LONGEST_CELL,
    NoDocument,
    ReadText,
    SpannedCells,
    heading,
    no_heading,
    superscript,
    table_text,
)

_OF_HEAD = {"base", "link", "meta", "noscript", "script", "style", "template", "title"}
_NOT_TEXT = ("head", "script", "style", "template", "svg", "iframe", "object", "select", "datalist")
_MENUS = (
    "//nav | //footer[not(ancestor::blockquote or ancestor::figure)]"
    " | //*[@role='navigation' or @role='contentinfo']"
)
_BANNER = re.compile(
    r"(?:^|[-_\s])(?:cookies?|consent|gdpr|onetrust|cookiebot|didomi|usercentrics)(?:[-_\s]|$)", re.I
)
_HIDING = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all)", re.I)
_FOR_SCREEN_READERS = re.compile(r"(?:^|[-_\s])(?:sr-only|visually-?hidden|screen-?reader|off-?screen)", re.I)
_OPENED = "//@aria-controls | //@data-target | //@data-bs-target | //@href[starts-with(., '#')]"
"""Names of the hidden elements that controls show."""
_TITLES = ("h1", "h2", "h3", "h4", "h5", "h6")
_APART = frozenset(
    {"article", "aside", "blockquote", "dialog", "div", "dl", "fieldset", "figure", "form", "hgroup", "menu", "ol"}
    | {"p", "pre", "section", "table", "tr", "ul", *_TITLES}
)
_LINES = frozenset(
    {"address", "br", "caption", "dd", "details", "dt", "figcaption", "footer", "header", "hr", "label", "legend"}
    | {"li", "main", "summary", "td", "th"}
)
_ANCHORS = {"\N{PILCROW SIGN}", "#", "\N{SECTION SIGN}"}
"""Texts of link anchors behind headings."""
_AROUND = "menus, footers, forms and other parts around the content of HTML pages"
_HEADING = re.compile(r"^h([1-6])$")
_LEADS_ON = re.compile(r"^\s*[\d.]+\s*[;,\s]\s*[^\s;,]")
"""Matches a `<meta http-equiv=refresh>` that leads to another page; without a URL it only reloads this page."""
_LITTLE = 300
"""Most characters of a page that only says that it has moved."""
_COPIES = (
    "//*[@aria-hidden='true']"
    "[contains(@class, 'katex-html') or starts-with(@class, 'mjx') or starts-with(name(), 'mjx-')]"
)
_BLANKS = re.compile(r"[ \t\r\n\f]+")


def read_html(file: BinaryIO, at_work: Callable[[], None]) -> ReadText:
    """The text of the main part (`main` or a single `article`), else of the body. Headings become Markdown."""
    from lxml import etree, html

    at_work()
    text = decoded_page(file.read())
    if not text.strip():
        raise NoDocument("without text")
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError as error:
        raise NoDocument("without text") from error
    _begin_body(root)
    named = " ".join((root.findtext(".//title") or "").split())
    _drop(list(root.iter("noscript", "noframes")))  # For other browsers; not visible to users.
    refreshing = root.xpath("//meta[translate(@http-equiv, 'REFSH', 'refsh') = 'refresh']")
    leads_on = any(_LEADS_ON.match(one.get("content", "")[:_LITTLE]) for one in refreshing)
    left_out = _drop_what_is_not_said(root)
    main = _main(root)
    first = next((_line(one).lstrip("#").strip() for one in main.iter("h1", "h2")), "")
    text = _joined(main)
    if leads_on and len(text) < _LITTLE:
        raise NoDocument("a page that only leads to another")
    left_out[_AROUND] += any(one.text_content().strip() for one in _around(main))
    return ReadText(text, title=first or named, left_out={what: n for what, n in left_out.items() if n})


def _begin_body(root: Any) -> None:
    """Begin the body where HTML 5 does. The parser knows no `main` or `section`, and leaves them in the head of a
    page without `<body>`, as minified pages are.
    """
    head, body = root.find("head"), root.find("body")
    outside = [] if head is None else list(itertools.dropwhile(lambda one: one.tag in _OF_HEAD, head))
    if outside and body is None:
        body = root.makeelement("body")
        root.append(body)
    if outside:
        body[:0] = outside


def _drop_what_is_not_said(root: Any) -> Counter[str]:
    """Drop scripts, menus, controls, forms (unless they are the page), banners and what is hidden. Returns how
    many parts with text were left out, by kind.
    """
    left_out: Counter[str] = Counter()
    _keep_formulas(root)
    _mark_superscripts(root)
    _drop(list(root.iter(*_NOT_TEXT)))
    _drop([one for one in root.xpath("//*[@class]") if _is_said_beside(one)])
    opened = {str(name).lstrip("#") for name in root.xpath(_OPENED)}
    hidden = [one for one in root.xpath("//*[@hidden or @style] | //dialog[not(@open)]") if _is_hidden(one)]
    left_out["hidden parts of HTML pages"] += _drop([one for one in hidden if not _can_be_shown(one, opened)])
    _drop([one for one in root.xpath("//*[@aria-hidden='true']") if _is_icon(one)])
    left_out[_AROUND] += _drop(root.xpath(_MENUS))
    _keep_openers(root)
    left_out[_AROUND] += _drop([one for one in root.xpath("//aside[not(ancestor::aside)]") if _is_of_links(one)])
    left_out[_AROUND] += _drop([one for one in root.iter("div", "section", "dialog") if _is_banner(one)])
    anchors = [one for one in root.iter("a") if (one.text or "").strip() in _ANCHORS and not len(one)]
    filled_in = list(root.iterfind(".//form//textarea"))
    numbers = root.xpath("//td[contains(@class, 'linenos') or contains(@class, 'gutter')]")
    _drop([*root.iter("button"), *anchors, *filled_in, *numbers])
    forms = list(root.iter("form"))
    main = _main(root)
    is_within = next(main.iterancestors("form"), None) is not None
    if forms and not (is_within or _are_the_page(main)):
        left_out[_AROUND] += _drop(forms)
    return left_out


def _drop(elements: list[Any]) -> int:
    said = 0
    for element in elements:
        if element.getparent() is not None:
            said += next((True for text in element.itertext() if text.strip()), False)
            element.drop_tree()
    return said


def _is_said_beside(element: Any) -> bool:
    """Whether text for screen readers only repeats the visible element beside it."""
    beside = (element.getprevious(), element.getnext()) if _FOR_SCREEN_READERS.search(element.get("class")) else ()
    return any(one is not None and one.get("aria-hidden") == "true" and not _is_icon(one) for one in beside)


def _is_hidden(element: Any) -> bool:
    if element.tag in {"html", "body"} or next(element.iter("main", "article", "h1"), None) is not None:
        return False  # A script shows the page when it is complete.
    if element.tag == "dialog" or _HIDING.search(element.get("style", "")):
        return True
    return "hidden" in element.attrib and element.get("hidden").lower() != "until-found"


def _can_be_shown(element: Any, opened: Set[str]) -> bool:
    """Whether a control of the page shows it, as those of tabs and accordions do."""
    before = element.getprevious()
    is_below_opener = before is not None and (
        before.tag in {"button", "dt"} or before.get("role") == "button" or before.find(".//button") is not None
    )
    return is_below_opener or element.get("role") == "tabpanel" or bool(opened & {element.get("id")})


def _is_icon(element: Any) -> bool:
    """Whether an element that is hidden from screen readers only is no text: a sign, or the name of an icon."""
    if element.tag == "i" or "icon" in element.get("class", ""):
        return len("".join(element.itertext())) < 40
    return not any(char.isalnum() for text in element.itertext() for char in text)


def _keep_openers(root: Any) -> None:
    """Keep the text of a button that is the heading of what it opens, as in accordions."""
    for button in list(root.iter("button")):
        if next(button.iterancestors(*_TITLES), None) is not None or _is_within_sentence(button):
            button.tail = button.tail or " "
            button.drop_tag()
        elif next(button.iter(*_TITLES), None) is not None or (
            "aria-expanded" in button.attrib and next(button.iterancestors("header"), None) is None
        ):
            button.tag = "div"


def _is_within_sentence(element: Any) -> bool:
    around = ("preceding-sibling::node()", "following-sibling::node()[not(self::button)]")
    said = ("".join(element.xpath(f"{nodes}/descendant-or-self::text()")).strip() for nodes in around)
    return element.getparent().tag in {"p", "li", "td", "dd", "span", "strong", "em"} and all(said)


def _is_of_links(element: Any) -> bool:
    linked = sum(len("".join(link.itertext()).strip()) for link in element.iter("a"))
    return 2 * linked >= len(" ".join("".join(element.itertext()).split()))


def _is_banner(element: Any) -> bool:
    return (
        _BANNER.search(f"{element.get('id', '')} {element.get('class', '')}") is not None
        and next(element.iter("button", "input"), None) is not None
        and next(element.iter("main", "article", "h1"), None) is None
        and next(element.iterancestors("main", "article"), None) is None
        and len(text := "".join(element.itertext())) < 3000
        and "cookie" in text.casefold()
    )


def _around(main: Any) -> Iterator[Any]:
    """The elements beside it and beside each that contains it. XPath would take quadratic time."""
    inner = main
    for outer in main.iterancestors():
        yield from (one for one in outer if one is not inner and isinstance(one.tag, str))
        inner = outer


def _are_the_page(root: Any) -> bool:
    """Whether forms contain at least a quarter of the text outside links and labels."""
    from lxml import etree

    whole = inside = forms = others = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        begins = event == "start"
        step = 1 if begins else -1
        forms += step * (element.tag == "form")
        others += step * (element.tag in {"a", "label"})
        said = 0 if others else len("".join(((element.text if begins else element.tail) or "").split()))
        whole += said
        inside += said if forms else 0
    return 4 * inside >= whole


def _main(root: Any) -> Any:
    for path in ("//main", "//*[@role='main']", "//article"):
        found = root.xpath(path)
        if len(found) == 1 and len(found[0].text_content().strip()) > 0:
            return found[0]
    return root


class _Writing:
    """Collects text; separators and list marks are added only if text follows."""

    def __init__(self, *, is_cell: bool) -> None:
        self._is_cell = is_cell
        self.said: list[str] = []
        self._ends = 0
        self._mark = ""
        self._kept = 0
        self._headings = 0

    def begin(self, tag: str) -> None:
        self._break(tag)
        self._kept += tag == "pre"
        if tag == "li":
            self._mark = "; " if self._is_cell else "- "
        elif level := _HEADING.match(tag):
            self._mark = heading(int(level[1]), "")
            self._headings += 1

    def end(self, tag: str) -> None:
        self._headings -= _HEADING.match(tag) is not None
        self._break(tag)
        if tag == "pre" and self.said:
            self.said[-1] = self.said[-1].rstrip("\n")
        self._kept -= tag == "pre"
        if tag in _APART:
            self._mark = ""

    def say(self, text: str) -> None:
        """Add a text. Outside <pre>, white space is reduced to one blank."""
        text = text if self._kept else _BLANKS.sub(" ", text)
        if text.strip() or (text and self._kept and not (self._ends and "\n" in text)):
            begins = self._ends or self._mark or not self.said
            text = text.removeprefix("\n") if self._kept and self._ends > 1 else text
            text = text.lstrip() if begins and not self._kept else text
            self.add(text if self._mark else no_heading(text))
        elif text and self.said and not self._ends and not self._mark:
            self.said.append(" ")

    def add(self, text: str) -> None:
        self.said += ["\n" * self._ends, self._mark, text]
        self._ends, self._mark = 0, ""

    def _break(self, tag: str) -> None:
        lines = 2 if tag in _APART else 1 if tag in _LINES else 0
        if self._headings:  # A heading is one line.
            self.said += [" "] if lines and self.said and self.said[-1][-1:] not in " " else []
        else:
            self._ends = max(self._ends, min(lines, 1) if self._kept else lines)


def _joined(root: Any, *, is_cell: bool = False) -> str:
    """The text of an element. Iterative, because pages may be nested deeply."""
    from lxml import etree

    writing = _Writing(is_cell=is_cell)
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "start":
            writing.begin(element.tag)
            if element.tag == "table" and not is_cell and _is_data(element):
                lines = filter(None, (*map(_line, element.iterchildren("caption")), _table(element)))
                if text := "\n".join(lines):
                    writing.add(text)
                walk.skip_subtree()
            else:
                writing.say(element.text or "")
        else:
            writing.end(element.tag)
            writing.say((element.tail or "") if element is not root else "")
    return re.sub(r"[ \t]+\n", "\n", "".join(writing.said)).strip("\n").rstrip()


def _line(element: Any) -> str:
    return " ".join(_joined(element, is_cell=True).split()).replace(" ; ", "; ").removeprefix("; ")


def _is_data(table: Any) -> bool:
    if table.get("role") in {"presentation", "none"}:
        return False
    if any(one is not table for one in table.iter("table", "form", "pre", "h1", "h2", "h3", "h4")):
        return False
    return all(len("".join(cell.itertext())) <= LONGEST_CELL for cell in table.iter("td", "th"))


def _table(table: Any) -> str:
    spans = SpannedCells()
    rows: list[list[str]] = []
    is_headed = False
    for element in table.iter("tr"):
        cells = list(element.iterchildren("td", "th"))
        if not rows:
            is_headed = element.getparent().tag == "thead" or (
                bool(cells) and all(one.tag == "th" for one in cells)
            )
        rows.append(spans.row((_line(one), _span(one, "colspan"), _span(one, "rowspan")) for one in cells))
    return table_text(rows, is_headed=is_headed)


def _span(cell: Any, name: str) -> int:
    given = cell.get(name, "1").strip()
    return max(1, int(given)) if re.fullmatch(r"[0-9]{1,5}", given) else 1


def _keep_formulas(root: Any) -> None:
    """A formula is its TeX source if the page has it, else its text. Its other copies on the page are dropped."""
    for formula in list(root.iter("math")):
        source = formula.xpath("string(.//annotation[contains(@encoding, 'tex')])") or formula.get("alttext", "")
        if not source:
            for power in list(formula.iter("msup", "msubsup")):
                _set_text(power[-1], superscript("".join(power[-1].itertext()).strip()))
            for numerator in formula.xpath(".//mfrac/*[1]"):
                numerator.tail = "/"
            for square in formula.iter("msqrt"):
                square.text = "\N{SQUARE ROOT}"
        text = " ".join((source or formula.text_content()).split())
        for outer in (formula, *formula.iterancestors("span")):
            outer.attrib.pop("style", None)  # Some pages show a picture and hide its text.
        _set_text(formula, text)
        formula.tag = "span"
    _drop(root.xpath(_COPIES))


def _set_text(element: Any, text: str) -> None:
    del element[:]
    element.text = text


def _mark_superscripts(root: Any) -> None:
    """Exponents become superscript characters: 10<sup>2</sup> is not 102. Numbers of footnotes are dropped."""
    for element in list(root.iter("sup")):
        text = "".join(element.itertext()).strip()
        around = element.getparent()
        is_link = around.tag == "a" and around.text_content().strip() == text
        is_note = is_link or element.find(".//a[@href]") is not None
        if text != superscript(text):
            _set_text(element, "" if is_note else superscript(text))
