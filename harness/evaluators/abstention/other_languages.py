"""Abstentions in German, French, Spanish, Portuguese, Italian, Chinese, Japanese, Korean, Arabic and Hindi.

As in English (`harness.evaluators.abstention`), the first statement must be a form of abstention as a whole, and
what follows may only explain it: it denies something and speaks of the texts, or is a question that stays open.
"Nein", "no hay pruebas" (no evidence) and "彼は英語がわかりません" (he does not understand English) are answers.
The forms are fewer than the English ones: what is not among them counts as an answer.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from harness.core.languages import YES_NO
from harness.core.scripts import MARKS

_NOT_WORDS = re.compile(rf"[^\w\s'{MARKS}-]|(?<!\w)'|[_\u0964\u0965]")
_LONGEST_BARE_ANSWER = 3
"""Words."""
_MOST_CLAUSES, _LONGEST_FORM = 12, 400
"""A statement of more clauses, or a longer form, is none: bounded time for any answer."""


class _Language:
    """The patterns of a language by their names in other_languages.toml, each compiled on first use."""

    def __init__(self, lists: Mapping[str, str | list[str]]) -> None:
        self._patterns: dict[str, str] = {}
        self._compiled: dict[str, re.Pattern[str]] = {}
        for name, written in lists.items():
            choice = written if isinstance(written, str) else "|".join(written)
            filled = re.sub(r"\{([a-z_]+)\}", lambda found: self._patterns[found[1]], choice)
            self._patterns[name] = f"(?:{unicodedata.normalize('NFKC', filled)})"
        opening = rf"(?:{self._patterns['opening']}\s*)*"
        self._patterns["firm"] = f"{opening}{self._patterns['firm']}"
        self._patterns["any"] = f"(?:{self._patterns['firm']}|{opening}{self._patterns['silent']})"

    def __getitem__(self, name: str) -> re.Pattern[str]:
        if name not in self._compiled:
            self._compiled[name] = re.compile(self._patterns[name])
        return self._compiled[name]


def abstains_in_other_languages(statements: Sequence[Sequence[str]], *, firm: bool = False) -> bool:
    """Whether these statements, each as its clauses in lower case as written, abstain in one of the languages.

    `firm`: see `harness.evaluators.abstention.is_abstention`.
    """
    bare = ([" ".join(_NOT_WORDS.sub(" ", clause).split()) for clause in clauses] for clauses in statements)
    worded = [[words for words in clauses if words] for clauses in bare]
    said = [clauses for clauses in worded if clauses]
    whole = " ".join(clause for clauses in said for clause in clauses)
    languages = (language for language in _languages() if language["denies"].search(whole))
    return any(_abstains(language, said, "firm" if firm else "any") for language in languages)


def _abstains(language: _Language, statements: Sequence[Sequence[str]], form: str) -> bool:
    opened = _without_opening(language, statements)
    if not opened or not _says_nothing(language, form, opened[0]):
        return _concludes(language, statements)
    return _goes_on(language, form, opened[1:])


def _goes_on(language: _Language, form: str, statements: Sequence[Sequence[str]]) -> bool:
    return all(_says_nothing(language, form, rest) or _explains(language, " ".join(rest)) for rest in statements)


def _concludes(language: _Language, statements: Sequence[Sequence[str]]) -> bool:
    """Whether the last "therefore" or "actually" introduces that nobody can tell. Behind a bare answer it must be
    the answer that nobody can tell, and not "when it was".
    """
    marked = [
        (number, place, found.end())
        for number, clauses in enumerate(statements)
        for place, clause in enumerate(clauses)
        if (found := language["concludes"].match(clause))
    ]
    if not marked:
        return False
    number, place, end = marked[-1]
    first, *others = statements[number][place:]
    rest = [clause for clause in (first[end:].strip(), *others) if clause]
    concluded = _without_opening(language, [*([rest] if rest else []), *statements[number + 1 :]])
    if not concluded or not _says_nothing(language, "firm", concluded[0]):
        return False
    is_bare = len(statements[0][0].split()) <= _LONGEST_BARE_ANSWER
    names_more = any(language["question"].search(f" {clause}") for clause in concluded[0])
    return not (is_bare and names_more) and _goes_on(language, "any", concluded[1:])


def _without_opening(language: _Language, statements: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Without the clauses and statements that only open the answer."""
    while statements and language["opening"].fullmatch(statements[0][0]):
        rest = statements[0][1:]
        statements = [rest, *statements[1:]] if rest else statements[1:]
    return statements


def _says_nothing(language: _Language, form: str, clauses: Sequence[str]) -> bool:
    """Whether the first of these clauses is a form of abstention, and the others continue or explain it."""
    first, *others = clauses
    return (
        len(first) <= _LONGEST_FORM
        and language[form].fullmatch(first) is not None
        and not _offers_answer(language, first)
        and len(others) < _MOST_CLAUSES
        and not any(clause in YES_NO for clause in clauses)
        and all(
            _explains(language, clause)
            or language[form].fullmatch(clause)
            or (language["question"].match(f" {clause}") and not _offers_answer(language, clause))
            for clause in others
        )
    )


def _explains(language: _Language, statement: str) -> bool:
    return bool(
        language["denies"].search(statement)
        and language["speaks"].search(statement)
        and not _offers_answer(language, statement)
    )


def _offers_answer(language: _Language, statement: str) -> bool:
    """Whether it holds a "but" or "probably"; "but the text does not say" offers nothing."""
    offered = language["answers"].search(statement)
    return offered is not None and not language["denies"].search(statement, offered.end())


@cache
def _languages() -> tuple[_Language, ...]:
    written = files(__package__).joinpath("other_languages.toml").read_text(encoding="utf-8")
    return tuple(map(_Language, tomllib.loads(written).values()))
