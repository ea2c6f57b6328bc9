"""Detects answers that say there is no answer.

An answer abstains if its first statement has one of the forms in `forms` ("Insufficient information", and close
paraphrases) **and the rest states no answer** (`explaining`). A later statement of these forms counts as the last
verdict

- if it concludes from what came before or withdraws it: "Google. Actually, there is not enough information";
- if the answer only said what the passages are about: "The articles cover football. They do not mention tennis";
- or if it only said what they state, and all of the question stays open: "Passage 1 names the price. There is not
  enough information to answer the question".

"Google. Insufficient information" asserts both, and "Paris. The passages do not say when" lacks something else:
both are answers. So are a bare "no" or "none", "no evidence of fraud", "insufficient evidence led to the
acquittal", "no information about customers was leaked", and an empty answer. "No information about the deal was
disclosed" counts as an abstention, although it may be about the deal itself.
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
    **{"thats": "that is", "idk": "i do not know", "dunno": "do not know"},
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
_CONNECTIVE = re.compile(
    r"(?:and )?(?:(?P<concludes>therefore|thus|hence|consequently|accordingly|as result|overall|ultimately|"
    r"in (?:conclusion|summary|short)|to (?:conclude|sum up|summari[sz]e))|(?P<so>so)|"
    r"(?P<withdraws>actually|(?:no )?wait|in fact|on (?:second thoughts?|reflection|closer look)|correction)|"
    r"(?P<contrasts>however|but|nevertheless|still|yet|unfortunately))\b ?"
)
_WITHIN = re.compile(r"(?<=\w) (?:therefore|thus|hence|consequently) (?=\w)")
_THE_ANSWER_IS = re.compile(
    r"(?:final |correct )?answer (?:is|would be) (?=insufficient|no |not enough|unknown|n a\b)"
)
_PRONOUN = re.compile(r"^(?:they|it) (?=do|does|did|contain|provide|give|mention|say|state)")
_REMARKS = re.compile(
    r"\b(?:further|additional|other|more|else|also|exact|precise|was|were)\b|\b(?:evidence|data|details?)$"
)
"""What is lacking beside an answer that was given, or was lacking in a story."""
_QUOTES = re.compile(r"\b(?:quot\w+|saying|said|repl(?:y|ies|ied)|told)\b")
_GENERAL = re.compile(
    r"(?:(?:\d+|"
    r"there|is|are|am|not|no|none|enough|sufficient|insufficient|inadequate|too|little|limited|lack|of|due|"
    r"information|info|context|contexts|knowledge|data|evidence|details|answer|answers|response|conclusion|"
    r"determination|question|passage|passages|text|texts|document|documents|article|articles|source|sources|"
    r"excerpt|excerpts|search|results|provided|given|available|found|present|stated|mentioned|specified|"
    r"included|contained|retrieved|above|relevant|specific|clear|clearly|definitive|definitively|conclusive|"
    r"conclusively|certain|certainty|explicit|explicitly|direct|directly|accurate|correct|final|reliable|to|"
    r"for|in|from|by|with|within|based|on|about|using|any|all|both|these|those|this|that|it|them|i|we|do|does|"
    r"did|know|say|tell|sure|unsure|unable|able|possible|impossible|cannot|could|have|has|be|been|was|draw|"
    r"drawn|make|made|reach|reached|determine|determined|answering|answered|establish|established|identify|"
    r"identified|infer|inferred|decide|conclude|concluded|mention|mentions|state|specify|contain|provide|give|"
    r"find|cover|address|unknown|unclear|undetermined|unspecified|unanswerable|applicable|n|a|idea|clue|here|"
    r"alone"
    r")(?: |$))+"
)
"""Words that name nothing of their own, as "the price" and "what happened" do."""
_JUDGES = re.compile(r"\b(?:determin|answer|conclu|decid|tell|identif|compar|establish)\w*")
_OF_TEXTS = re.compile(
    rf"(?:(?:first|second|third|only|one|in|from|according to|based on|while|although|and) )*{TEXT}\b|"
    r"(?:it|they|both|neither|none|another|other)\b"
)
_TOPIC_OF_TEXTS = re.compile(
    rf"(?:(?:first|second|third|only) )*(?:{TEXT}|it|they) (?:only |both |all |also )*"
    r"(?:discuss|cover|describe|focus|talk|concern|address|relate|deal|ask|"
    r"(?:is|are|was|were) (?:only |all |both )*(?:about|on)\b)"
)
_LONGEST_BARE_ANSWER = 3
"""Words."""


def is_abstention(statements: Sequence[Statement], *, firm: bool = False) -> bool:
    """Whether these statements of one answer, as normalised words, abstain.

    `firm`: only the forms about too little information or about not being able to tell. After a "no,", "the
    article does not mention it" explains the no, whereas "there is not enough information" withdraws it.
    """
    spelled = [
        [_CONTRACTION.sub(lambda found: _SPELLED[found[0]], clause) for clause in clauses]
        for clauses in statements
    ]
    return bool(_head(spelled, firm=firm)) or _abstains_at_last(spelled, firm=firm)


def _head(statements: list[list[str]], *, firm: bool) -> str:
    """The clause of the first statement that abstains; empty if none does or the rest states an answer."""
    opened = _opened(statements)
    is_one = bool(opened) and _abstains(opened[0], firm=firm) and all(map(explains, opened[1:]))
    return opened[0][0] if is_one else ""


def _abstains_at_last(statements: list[list[str]], *, firm: bool) -> bool:
    """Whether one of the last statements, or a clause behind a connective, is an abstention that counts."""
    starts = [
        (number, place)
        for number, clauses in enumerate(statements)
        for place, clause in enumerate(clauses)
        if place == 0 or _CONNECTIVE.match(clause)
    ]
    return any(_counts_from(statements, *start, firm=firm) for start in starts[-4:])


def _counts_from(statements: list[list[str]], number: int, place: int, *, firm: bool) -> bool:
    clauses = statements[number]
    before = [*statements[:number], *([clauses[:place]] if place else [])]
    connective = _CONNECTIVE.match(clauses[place])
    kind = connective.lastgroup if connective else "concludes" if _WITHIN.search(clauses[place]) else None
    said = clauses[place][connective.end() :] if connective else _WITHIN.sub(" ", clauses[place])
    first, *others = [clause for clause in (said, *clauses[place + 1 :]) if clause] or [""]
    first = _PRONOUN.sub("passages " if before else r"\g<0>", _THE_ANSWER_IS.sub("", first))
    head = _head([*([[first, *others]] if first else []), *statements[number + 1 :]], firm=firm)
    if not head or _REMARKS.search(head):
        return False
    is_general = _GENERAL.fullmatch(head) is not None
    if not before or (is_general and kind in {"concludes", "so", "withdraws"}):
        return bool(connective or before)
    can_nobody_tell = is_general and _fits(head, (firm_form(),))
    if all(map(_is_about, before)) or (can_nobody_tell and all(map(_describes, before))):
        return True
    is_short = len(before[0][0].split()) <= _LONGEST_BARE_ANSWER
    return kind == "concludes" and not is_short and bool(_JUDGES.search(head))


def _describes(clauses: Sequence[str]) -> bool:
    """Whether a statement tells what passages state, without offering it as the answer."""
    whole = " ".join(clauses)
    is_long = len(whole.split()) > _LONGEST_BARE_ANSWER
    return is_long and bool(_OF_TEXTS.match(whole)) and not (GUESS.search(whole) or _QUOTES.search(whole))


def _is_about(clauses: Sequence[str]) -> bool:
    """Whether a statement only tells what passages are about, not what they describe something as."""
    whole = " ".join(clauses)
    is_plain = (
        " as " not in whole and max(map(len, map(str.split, clauses[1:])), default=0) <= _LONGEST_BARE_ANSWER
    )
    return is_plain and bool(_TOPIC_OF_TEXTS.match(whole)) and not GUESS.search(whole)


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
