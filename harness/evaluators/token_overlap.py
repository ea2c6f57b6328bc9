"""How much of a reference stands in an answer: SQuAD's two measures, containment, and MultiHop-RAG's shared word.

`exact_match` and `token_f1` are those of SQuAD (Rajpurkar et al. 2016), with its normalisation, by which published
numbers are made: lower case, without punctuation (of every script, as in MLQA's script) and a, an and the; so
`3.5` is `35`, `C++` is `C`, `Bankman-Fried` is `bankmanfried`. Composed and decomposed letters are the same, and
so are digits of any script and letters of any width. A citation such as `[1]` is a word, and an abstention in
other words than the reference's is wrong. As in SQuAD 2.0 two texts of which nothing is left ("A" and
"The") are equal; but an answer that is empty as written earns nothing.

In scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) `token_f1` and `contains` take each
character as a token, and ideographic and full-width punctuation as none, as MLQA's script does for Chinese (Lewis
et al. 2020).
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

from harness.core.scripts import CLAUSE_MARKS, UNSPACED, WIDE_PUNCTUATION, folded
from harness.evaluators.answer_normalisation import (
    ABSTENTION,
    canonical,
    is_verdict,
    leading_yes_no,
    normalise,
)

_ARTICLES = re.compile(r"\b(?:an?|the)\b")
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())}
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}{WIDE_PUNCTUATION}]+")
_CLAUSE_END = re.compile(rf"[.,;:!?()\n{CLAUSE_MARKS}]+|\s[-–—]+\s")  # noqa: RUF001 - dashes between clauses
_HEDGES = frozenset({"or", "not", "nor", "neither", "never"})
_YES_NO = frozenset({"yes", "no"})
_SCRIPTED_ANSWER = re.compile(r'The answer to the question is "([^"\n]*)"')


def squad_form(text: str) -> str:
    """The form in which SQuAD compares answers; empty where only punctuation and articles were there."""
    composed = folded(text).lower()
    kept = (char for char in composed if char not in string.punctuation and unicodedata.category(char)[0] != "P")
    return " ".join(_ARTICLES.sub(" ", "".join(kept)).split())


def exact_match(answer: str, references: Sequence[str]) -> bool:
    """Whether the answer equals any reference in SQuAD's form."""
    return bool(answer.strip()) and squad_form(answer) in map(squad_form, references)


def token_f1(answer: str, references: Sequence[str]) -> float:
    """The best over the references of 2 * shared / (tokens of the answer + tokens of the reference); 0 to 1.

    Tokens count as often as they occur.
    """
    if not answer.strip():
        return 0.0
    found = Counter(_TOKEN.findall(squad_form(answer)))
    return max(
        (_f1(found, Counter(_TOKEN.findall(squad_form(reference)))) for reference in references), default=0.0
    )


def is_near(answer: str, reference: str) -> bool:
    """Whether the answer may be right in other words: one of the two has all words of the other and at most twice
    as many, none a number, or the answer contains the reference. "Seven" is 7. False where the reference is
    yes or no, and where "or" or "not" stands in one of them alone: who names several or denies it has not said it.
    """
    if is_verdict(canonical(reference)):
        return False
    tokens = [_TOKEN.findall(squad_form(text)) for text in (answer, reference)]
    few, many = sorted(({_NUMBERS.get(word, word) for word in own} for own in tokens), key=len)
    beyond = few ^ many
    if beyond & _HEDGES:
        return False
    is_part = few <= many and 0 < len(many) <= 2 * len(few)
    return (is_part and not any(map(str.isdecimal, beyond))) or contains(answer, [reference])


def contains(answer: str, references: Sequence[str]) -> bool:
    """Whether the tokens of any reference stand in a row in those of the answer, after `normalise`.

    An answer that abstains contains only a reference that abstains; no other answer does. A reference yes or no is
    a verdict: the answer must be it, begin with it ("No, it fell") or end with it as a clause of its own ("Both
    say so, yes."), and neither say the opposite in another clause nor, before a final one, that it cannot be told.
    Whatever `accuracy` calls right contains its reference.
    """
    by_form = {canonical(reference): reference for reference in references}
    if (form := canonical(answer)) == ABSTENTION or form in by_form:
        return form in by_form
    if not _YES_NO.isdisjoint(by_form) and _verdict(answer) in by_form:
        return True
    worded = [by_form[form] for form in by_form.keys() - _YES_NO - {ABSTENTION}]
    # "May 2021" stands in "3 May 2021", which has another form as a full date.
    return any(_run(one, dates=dates) in _run(answer, dates=dates) for one in worded for dates in (True, False))


def shared_words(answer: str, references: Sequence[str]) -> frozenset[str]:
    """The words that the answer and any reference share, as in MultiHop-RAG's qa_evaluate.py: lower-cased and
    split at white space, with punctuation. The answer is the text in `The answer to the question is "..."`, if
    that occurs.
    """
    marked = _SCRIPTED_ANSWER.search(answer)
    words = (marked[1] if marked else answer).lower().split()
    return frozenset(words).intersection(word for reference in references for word in reference.lower().split())


def _f1(one: Counter[str], other: Counter[str]) -> float:
    if not (one and other):
        return float(one == other)
    return 2 * (one & other).total() / (one.total() + other.total())


def _run(text: str, *, dates: bool) -> str:
    """The tokens with a space before and after each, so that a run of tokens is a substring."""
    form = normalise(text, dates=dates, alone=False)
    return f" {' '.join(_TOKEN.findall(form) or [form])} "


def _verdict(answer: str) -> str | None:
    """The yes or no that the answer gives; None: neither, or both."""
    whole = canonical(answer)
    if whole in _YES_NO:
        return whole
    if leading := leading_yes_no(answer):
        return leading
    clauses = [form for clause in _CLAUSE_END.split(answer) if (form := canonical(clause))]
    last = clauses[-1] if clauses else ""
    said = {*_YES_NO, ABSTENTION}.intersection(clauses)
    return last if last in _YES_NO and said == {last} else None
