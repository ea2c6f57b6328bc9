"""Whether what follows an abstention explains it, or states an answer besides.

It may say why ("because ..."), what the passages hold or lack ("the passages discuss X, but not Y"), and what
would be needed. It states an answer where it

- guesses: "but probably Google", "my best guess is no";
- is a verdict: "Insufficient information. No.";
- is set against the abstention and denies nothing: "but Google is mentioned";
- reports what a passage says and denies nothing: "the passages name Google";
- or speaks neither of passages nor of anything missing: "Insufficient information: Google".
"""

import re
from collections.abc import Sequence

GUESS = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|likely|presumably|might be|could be|may be|(?:best|my) guess|"
    r"i (?:would )?(?:think|believe|guess|say|assume)|(?:seems?|appears?) to be|"
    r"(?<!no )answer (?:is|was|would be)(?! (?:not|un\w+|in\w*sufficient|missing|absent|n a)\b))\b"
)
"""What offers an answer after all."""

_UNDECIDED = re.compile(r"\b(?:whether|if)\b.*")
_CONTRASTS = re.compile(r"(?:but|however|although|though)\b")
_CONNECTIVE = re.compile(r"(?:(?:and|so|but|however|although|though|then|therefore|thus|hence) )+")
_GIVES_A_REASON = re.compile(r"(?:because|since|as|given|considering)\b")
_VERDICTS = frozenset({"yes", "no", "true", "false"})
_LEAD_INS = frozenset(
    {"note", "explanation", "reason", "reasoning", "for example", "for instance", "specifically"}
)
_DENIES = re.compile(
    r"\b(?:no|not|none|neither|nor|never|nothing|nobody|without|cannot|only|lacks?|lacking|missing|absent|"
    r"insufficient|inadequate|silent|irrelevant|needed|required|fail(?:s|ed)?|"
    r"un(?:clear|known|specified|available|able|answerable|certain|related))\b"
)
_SPEAKS_OF_TEXTS = re.compile(
    r"\b(?:passages?|texts?|documents?|articles?|sources?|excerpts?|contexts?|information|info|details?|questions?|"
    r"knowledge base|(?:search|retrieved) results|snippets?|chunks?)\b"
)
_NAMES_A_TOPIC = re.compile(
    r"\b(?:(?:mention|discuss|cover|describe|focus|concern|address|refer|relate)(?:e?s|e?d|ing)?)\b"
)
_REPORTS = re.compile(
    r"\b(?:(?:say|state|name|report(?!\w* on\b)|show|suggest|indicate|point|claim|confirm|list)(?:s|ed)?|"
    r"said|impl(?:y|ies|ied))\b"
)
_REFERS = re.compile(r"(?:according|based|source)\b")
_IS_POLITE = re.compile(r"(?:please|sorry|let me know|feel free|is there anything|if you)\b")
_LEAST_WORDS_OF_A_STATEMENT = 3
_ENUMERATES = re.compile(r"(?:or|nor|and) ")
_RESTARTS = re.compile(r"(?:it|they|he|she|this|there|instead|rather|i|we)\b")


def explains(clauses: Sequence[str]) -> bool:
    """Whether a statement, as its clauses, only explains why there is no answer."""
    whole = " ".join(clauses)
    if _states_an_answer(clauses):
        return False
    if whole in _LEAD_INS or _IS_POLITE.match(whole) or _GIVES_A_REASON.match(clauses[0]):
        return True
    denies = bool(_DENIES.search(whole))
    speaks = bool(_SPEAKS_OF_TEXTS.search(whole) or _NAMES_A_TOPIC.search(whole))
    if not denies and _REPORTS.search(whole):
        return False
    first = _bare(clauses[0])
    return (denies and speaks) or bool(_DENIES.search(first)) or _is_about_texts(first)


def goes_on(clauses: Sequence[str], *, is_open: bool, is_list: bool) -> bool:
    """Whether clauses continue the object of an abstention.

    `is_open`: it ends in a noun or an embedded question; `is_list`: it lists what a text does not mention.
    """
    if _states_an_answer(clauses) or not (is_open or (is_list and any(map(_ENUMERATES.match, clauses)))):
        return False
    return not any(_RESTARTS.match(_bare(clause)) and not _DENIES.search(clause) for clause in clauses)


def _states_an_answer(clauses: Sequence[str]) -> bool:
    return any(
        _bare(clause) in _VERDICTS
        or GUESS.search(_UNDECIDED.sub("", clause))
        or (_CONTRASTS.match(clause) and not _DENIES.search(clause))
        for clause in clauses
    )


def _is_about_texts(clause: str) -> bool:
    """Whether the clause is about the texts; "both articles" may be an answer."""
    words = len(clause.split())
    if words >= _LEAST_WORDS_OF_A_STATEMENT and _NAMES_A_TOPIC.search(clause):
        return True
    return bool((words > _LEAST_WORDS_OF_A_STATEMENT or _REFERS.match(clause)) and _SPEAKS_OF_TEXTS.search(clause))


def _bare(clause: str) -> str:
    return _CONNECTIVE.sub("", clause) if _CONNECTIVE.match(clause) else clause
