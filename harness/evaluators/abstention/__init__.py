"""Detects answers that say there is no answer.

An answer abstains if its first statement has one of the forms in `forms` (the wording that the prompt asks for,
"Insufficient information", and close paraphrases) **and the rest states no answer** (`explaining`).

Not abstentions: a bare "no" or "none"; "no evidence of fraud" and "lack of evidence", which are findings; "the
information is not available to the public until 2024"; "insufficient evidence led to the acquittal"; "no
information about customers was leaked"; an empty answer. "No information about the deal was disclosed" counts as
an abstention, although it may be about the deal itself.
"""

import re
from collections.abc import Sequence

from harness.evaluators.abstention.explaining import GUESS, explains, goes_on
from harness.evaluators.abstention.forms import CLOSED, EMBEDDED, TEXT, TEXT_AND_GAP, firm_form, silent_form

Statement = Sequence[str]
"""The clauses of a sentence, or of its part behind a colon, dash or bracket: bare words, none of them empty."""

_NEGATED = ("do", "does", "did", "is", "are", "was", "were", "has", "have", "could")
_SPELLED = {
    **{f"{verb}nt": f"{verb} not" for verb in _NEGATED},
    **{"cant": "cannot", "can not": "cannot", "im": "i am", "ive": "i have", "theres": "there is"},
    **{f"its {rest}": f"it is {rest}" for rest in ("not", "impossible", "unclear", "unknown")},
}
_CONTRACTION = re.compile(rf"\b(?:{'|'.join(_SPELLED)})\b")
_BEFORE_CONTRAST = re.compile(r"(?<!nothing)(?<!anything) (?=(?:but|however|although|though)\b)")
_BEFORE_REASON = re.compile(
    r"(?<! is)(?<! are)(?<! was)(?<! were)(?<! been)"
    r" (?=(?:because|since(?! \d)|as(?! (?:to|well|of|such)\b)|given|due to|owing to|considering)\b)"
)
_CONCESSION = re.compile(rf"(?:although|though|while) {TEXT} .*")
_OPENING = re.compile(
    r"hmm|as (?:ai|large|language)\b.*|"
    rf"(?:i am )?(?:very )?sorry|unfortunately|i apologi[sz]e.*|note|given {TEXT}|"
    rf"(?:based on|from|according to|in) {TEXT}.*|without (?:more|further|additional|any) .*|"
    rf"after (?:reading|reviewing) .*|{_CONCESSION.pattern}"
)
_OPENING_WORDS = re.compile(
    rf"(?:(?:(?:i am )?sorry|unfortunately|i apologi[sz]e) )?(?:but )?(?:(?:based on|from|according to) {TEXT} )?"
)


def is_abstention(statements: Sequence[Statement], *, firm: bool = False) -> bool:
    """Whether these statements of one answer, as normalised words, abstain.

    `firm`: only the forms about too little information or about not being able to tell. After a "no,", "the
    article does not mention it" explains the no, whereas "there is not enough information" withdraws it.
    """
    opened = _opened([[_spelled(clause) for clause in clauses] for clauses in statements])
    return bool(opened) and _abstains(opened[0], firm=firm) and all(map(explains, opened[1:]))


def _spelled(clause: str) -> str:
    return _CONTRACTION.sub(lambda found: _SPELLED[found[0]], clause)


def _opened(statements: list[list[str]]) -> list[list[str]]:
    """Without "I'm sorry, but", "based on the passages," and the like at the beginning."""
    conceded = False
    while statements and _OPENING.fullmatch(statements[0][0]):
        conceded = conceded or bool(_CONCESSION.fullmatch(statements[0][0]))
        rest = statements[0][1:]
        statements = [rest, *statements[1:]] if rest else statements[1:]
    if not statements:
        return []
    first, *others = statements[0]
    first = _OPENING_WORDS.sub("", first, count=1)
    # "Although the passages mention X, they do not say when."
    first = re.sub(r"^(?:they|it) ", "passages ", first) if conceded else first
    return [[first, *others], *statements[1:]]


def _abstains(clauses: list[str], *, firm: bool) -> bool:
    forms = (firm_form(),) if firm else (firm_form(), silent_form())
    if TEXT_AND_GAP.fullmatch(clauses[0]) and not firm:
        return len(clauses) == 1 or explains(clauses[1:])
    head, *others = (part for clause in clauses for part in _BEFORE_CONTRAST.split(clause))
    if not _fits(head, forms):
        head, *reason = _BEFORE_REASON.split(head, maxsplit=1)
        others = [*reason, *others]
    if not _fits(head, forms) or GUESS.search(EMBEDDED.sub("", head)):
        return False
    is_open = not CLOSED.fullmatch(head)
    return (
        not others
        or explains(others)
        or goes_on(others, is_open=is_open, is_list=bool(silent_form().fullmatch(head)))
    )


def _fits(clause: str, forms: Sequence[re.Pattern[str]]) -> bool:
    return any(form.fullmatch(clause) for form in forms)
