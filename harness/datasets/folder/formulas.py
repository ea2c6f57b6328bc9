"""Formulas and raised numbers of HTML and Word as text: 10² is not 102, and one half is not 12."""

from __future__ import annotations

import re
from typing import Any

_EXPONENT = re.compile(r"[-+\N{MINUS SIGN}]?[0-9]{1,4}[-+\N{MINUS SIGN}]?|[-+\N{MINUS SIGN}]")
_COPIES = (
    "//*[@aria-hidden='true']"
    "[contains(@class, 'katex-html') or starts-with(@class, 'mjx') or starts-with(name(), 'mjx-')]"
)
_SUPERSCRIPTS = str.maketrans("0123456789+-\N{MINUS SIGN}", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


def superscript(text: str) -> str:
    """A raised number or sign in superscript characters, `^1/2` for one that has none; any word as it is."""
    if _EXPONENT.fullmatch(text):
        return text.translate(_SUPERSCRIPTS)
    return f"^{text}" if text[:1].isdigit() and not text.isalnum() else text


def keep_formulas(root: Any) -> None:
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
    for copy in root.xpath(_COPIES):
        if copy.getparent() is not None:
            copy.drop_tree()


def _set_text(element: Any, text: str) -> None:
    del element[:]
    element.text = text


def mark_superscripts(root: Any) -> None:
    """Exponents become superscript characters: 10<sup>2</sup> is not 102. Numbers of footnotes are dropped."""
    for element in list(root.iter("sup")):
        text = "".join(element.itertext()).strip()
        around = element.getparent()
        is_link = around.tag == "a" and around.text_content().strip() == text
        is_note = is_link or element.find(".//a[@href]") is not None
        if text != superscript(text):
            _set_text(element, "" if is_note else superscript(text))
