"""Finds quotes in documents, with the literal text there, and answers that no document contains literally."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import accumulate

from harness.core.languages import YES_NO
from harness.core.records import Document
from harness.core.scripts import UNSPACED, is_whole
from harness.datasets.column_names import listed_names
from harness.datasets.folder.file_listing import shown_text
from harness.datasets.folder.text_cleanup import plain

_WORD = re.compile("[^\\s\u200b\u00ad\u2010-\u2014\u2212-]+")
"""Without hyphens and dashes: a document and a copied quote break words at different line ends."""
_SHAPES = str.maketrans("\u2018\u2019\u201a\u201b\u2032\u201c\u201d\u201e\u201f\u2033", "'''''\"\"\"\"\"")
"""Typographic quotation marks, each mapped to its ASCII form."""


class QuoteFinder:
    def __init__(self, documents: Sequence[Document], skipped: Mapping[str, str]) -> None:
        self._skipped = {_plain(name): why for name, why in skipped.items()}
        self._texts = {document.doc_id: document.text for document in documents}
        self._called: dict[str, set[str]] = {}
        self._parts: dict[str, list[str]] = {}
        """The documents of a file that is read in parts, by the names of the file."""
        for doc_id in self._texts:
            for name in {_plain(doc_id), _plain(doc_id).rpartition("/")[2]}:
                self._called.setdefault(name, set()).add(doc_id)
            file, is_part, _ = _plain(doc_id).partition("#")
            for name in {file, file.rpartition("/")[2]} if is_part else ():
                self._parts.setdefault(name, []).append(doc_id)
        self._words = lru_cache(maxsize=4096)(lambda doc_id: _Squeezed.of(self._texts[doc_id]))

    def document(self, name: str, quote: str = "") -> str | None:
        """The id of a document by its id or by a unique file name at the end of an id, of a file that is read in
        parts the first part that contains the quote; None if there is none.
        """
        if name in self._texts:
            return name
        if quote and _plain(name) not in self._called:
            parts = self._parts.get(_plain(name), ())
            return next((doc_id for doc_id in parts if self.verbatim(doc_id, quote) is not None), None)
        meant = self._called.get(_plain(name), set())
        exact = [doc_id for doc_id in meant if _plain(doc_id) == _plain(name)]
        found = exact or list(meant)
        return found[0] if len(found) == 1 else None

    def what_else(self, name: str) -> str:
        """A hint for an unknown name: why the file was skipped, the ambiguous names, or the nearest name."""
        why = self._skipped.get(_plain(name))
        if why is not None:
            return f"it was skipped: {why}"
        if parts := self._parts.get(_plain(name)):
            return f"it is read in parts: add a quote that one contains, or name one, such as '{parts[0]}'"
        meant = sorted(self._called.get(_plain(name), ()))
        if len(meant) > 1:
            return f"say which: '{meant[0]}' or '{meant[1]}'"
        close = get_close_matches(_plain(name[:200]), self._called, n=1, cutoff=0.5)
        near = f"did you mean '{shown_text(min(self._called[close[0]]))}'? " if close else ""
        return f"{near}documents: {listed_names(sorted(self._texts))}"

    def knows(self, name: str) -> bool:
        """Whether a document, a part of one, or a skipped file has this name."""
        return any(_plain(name) in known for known in (self._called, self._parts, self._skipped))

    def verbatim(self, doc_id: str, quote: str) -> str | None:
        """The document's literal text for a quote; None if not found. White space, hyphens, dashes and the shapes
        of quotation marks may differ. A quote inside a longer word or number is not found.
        """
        text = self._texts[doc_id]
        if _states(text, quote):
            return quote
        words = self._words(doc_id)
        for form in _forms(quote):
            for start, end in words.find(form):
                if is_whole(text, start, end):
                    return text[start:end]
        return None

    def holders(self, quote: str) -> list[str]:
        """Up to two documents that contain the quote; two already make it ambiguous."""
        found = [doc_id for doc_id, text in self._texts.items() if _states(text, quote)]
        if not found:
            forms, squeezed = _forms(quote), self._all_squeezed.items()
            likely = [doc_id for doc_id, letters in squeezed if any(form and form in letters for form in forms)]
            found = [doc_id for doc_id in likely if self.verbatim(doc_id, quote) is not None]
        return found[:2]

    @cached_property
    def _all_squeezed(self) -> dict[str, str]:
        return {doc_id: _squeezed(text) for doc_id, text in self._texts.items()}


@dataclass(frozen=True)
class _Squeezed:
    """A text without white space and hyphens, and the positions of its words."""

    letters: str
    begins: array[int]
    """Start of each word in `letters`."""
    stood: array[int]
    """Start of each word in the original text."""

    @classmethod
    def of(cls, text: str) -> _Squeezed:
        spans = [found.span() for found in _WORD.finditer(text)]
        ends = accumulate((end - start for start, end in spans), initial=0)
        return cls(_squeezed(text), array("q", ends), array("q", (start for start, _ in spans)))

    def find(self, quote: str) -> Iterator[tuple[int, int]]:
        """Start and end of each occurrence in the original text."""
        at = self.letters.find(quote) if quote else -1
        while at >= 0:
            yield self._place(at), self._place(at + len(quote) - 1) + 1
            at = self.letters.find(quote, at + 1)

    def _place(self, letter: int) -> int:
        word = bisect_right(self.begins, letter) - 1
        return self.stood[word] + letter - self.begins[word]


def _states(text: str, quote: str) -> bool:
    """Whether the quote stands in the text, not inside a word or number."""
    at = text.find(quote)
    while at >= 0 and not is_whole(text, at, at + len(quote)):
        at = text.find(quote, at + 1)
    return at >= 0


def _forms(quote: str) -> list[str]:
    """The quote cleaned as folders clean their documents, and in NFD, because other documents may contain that."""
    return list(dict.fromkeys(map(_squeezed, (plain(quote), unicodedata.normalize("NFD", quote)))))


def _squeezed(text: str) -> str:
    return "".join(_WORD.findall(text)).translate(_SHAPES)


def _plain(name: str) -> str:
    """A normalised name, so that equivalent names are equal; hidden characters are escaped as in doc ids."""
    return shown_text(name).replace("\\", "/").removeprefix("./").casefold()


_WORDS = re.compile(r"\w+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_NO_ANSWER = "insufficient information"
_SAID_OF_DOCUMENTS = {*YES_NO, _NO_ANSWER}
"""Answers that are verdicts, which need not be in a document."""


def unsupported_answers(answers: Iterable[str], documents: Sequence[Document]) -> set[str]:
    """The answers, other than verdicts and abstentions, that no document contains, ignoring case and
    punctuation.
    """
    looked_for = {answer: _form(plain(answer)) for answer in answers}
    left = {form: form.split() for form in looked_for.values() if form and form not in _SAID_OF_DOCUMENTS}
    for document in documents:
        if not left:
            break
        text = f" {_form(f'{document.title} {document.text}')} "
        words = set(text.split())
        for form, parts in list(left.items()):
            # A missing word is quick to detect, and rules out most documents.
            if (words.issuperset(parts) and f" {form} " in text) or (_UNSPACED.search(form) and form in text):
                del left[form]
    return {answer for answer, form in looked_for.items() if form in left}


def contains_words(text: str, part: str) -> bool:
    """Whether the words of a part stand in a row in the text, ignoring case and punctuation."""
    whole, words = _form(plain(text)), _form(plain(part))
    return bool(words) and (f" {words} " in f" {whole} " or (bool(_UNSPACED.search(words)) and words in whole))


def say_that_there_is_none(answers: Sequence[str]) -> bool:
    """Whether the reference answer is an abstention."""
    return bool(answers) and all(_form(answer) == _NO_ANSWER for answer in answers)


def is_settled(answers: Sequence[str]) -> bool:
    """Whether all reference answers are verdicts or abstentions."""
    return all(_form(answer) in _SAID_OF_DOCUMENTS for answer in answers)


def _form(text: str) -> str:
    return " ".join(_WORDS.findall(text.casefold()))
