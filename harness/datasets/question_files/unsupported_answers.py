"""Finds answers that no document contains literally."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from harness.core.languages import YES_NO
from harness.core.records import Document
from harness.core.scripts import UNSPACED
from harness.datasets.folder.text_cleanup import plain

_WORDS = re.compile(r"\w+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_NO_ANSWER = "insufficient information"
_SAID_OF_DOCUMENTS = {*YES_NO, _NO_ANSWER}
"""Answers that are verdicts, which need not be in a document."""


def unsupported_answers(answers: Iterable[str], documents: Sequence[Document]) -> set[str]:
    """The answers that no document contains, ignoring case and punctuation. Verdicts and abstentions are never
    among them.
    """
    looked_for = {answer: _form(plain(answer)) for answer in answers}
    left = {form: form.split() for form in looked_for.values() if form and form not in _SAID_OF_DOCUMENTS}
    for document in documents:
        if not left:
            break
        text = _form(f"{document.title} {document.text}")
        words = set(text.split())
        found = [form for form, parts in left.items() if _states(text, words, form, parts)]
        for form in found:
            del left[form]
    return {answer for answer, form in looked_for.items() if form in left}


def say_that_there_is_none(answers: Sequence[str]) -> bool:
    """Whether the reference answer is an abstention."""
    return bool(answers) and all(_form(answer) == _NO_ANSWER for answer in answers)


def is_settled(answers: Sequence[str]) -> bool:
    """Whether all reference answers are verdicts or abstentions."""
    return all(_form(answer) in _SAID_OF_DOCUMENTS for answer in answers)


def _states(text: str, words: set[str], form: str, parts: Sequence[str]) -> bool:
    # A missing word is quick to detect, and rules out most documents.
    return (words.issuperset(parts) or bool(_UNSPACED.search(form))) and form in text


def _form(text: str) -> str:
    return " ".join(_WORDS.findall(text.casefold()))
