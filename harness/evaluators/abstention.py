"""Which answers say that there is no answer.

The wording that the answer contract asks for ("Insufficient information") and its close paraphrases. An answer
abstains if its *first sentence as a whole* has one of the forms below and nothing after it offers an answer after
all (`_GUESSES`). The forms are matched on normalised text (lower case, no articles, no punctuation: "don't" is
`dont`, "N/A" is `n a`).

- too little of it: "Insufficient information", "there is not enough context to answer", "no information about the
  date", "the provided information is insufficient", "No Answer Present" (MS MARCO's own marker);
- nobody can tell: "I don't know", "I am unable to answer", "it cannot be determined from the articles",
  "unknown", "unanswerable", "N/A";
- the text is silent: "the articles do not mention this", "the context does not say", "not mentioned in the text".

Not abstentions: a bare "no" or "none", "no evidence of fraud" (a finding, not a gap), an empty answer, and "I
don't know, but probably Google" (a guess).
"""

import re

_MATTER = r"(?:information|info|context|knowledge)"
_PROOF = r"(?:data|evidence|details?)"
_TEXT = (
    r"(?:(?:provided|given|available|retrieved|supplied|above|these|this) )*"
    r"(?:information|info|context|contexts|texts?|passages?|documents?|articles?|sources?|excerpts?|data|evidence|question)"
    r"(?: (?:provided|given|available|above|retrieved))?"
)
_SAID = r"(?:available|provided|given|found|present|presented|supplied|mentioned|specified|stated|included)"
_JUDGE = (
    r"(?:answer|determine|conclude|confirm|say|tell|decide|verify|"
    r"establish|identify|make|draw|provide|give|know)"
)
_TO_JUDGE = rf"(?: (?:to|for) (?:{_JUDGE}|be|question|answering|determining|conclusion)\b.*)?"
_WHERE = rf"(?: (?:in|from|within|by|based on|with) {_TEXT}\b.*)?"
_ABOUT = r"(?: (?:about|on|regarding|concerning|that|as to|whether) .*)?"
_THERE = r"(?:(?:there (?:is|was|are)|theres|i have|we have|due to) )?"
_BE_SAID = rf"(?: (?:(?:is|was|are|were) )?{_SAID})?"
_SHORT_OF = r"(?:insufficient|inadequate|not (?:enough|sufficient)|lack of|no (?:enough|sufficient|relevant))"
_CANNOT = (
    r"(?:cannot|can not|cant|could not|couldnt|(?:am |is |are |was |were )?unable to|"
    r"(?:is|was) (?:not possible|impossible) to)"
)
_WITHOUT = r"(?:do not|dont|does not|doesnt|did not|didnt)"

_TOO_LITTLE = (
    rf"{_THERE}{_SHORT_OF} (?:\w+ )?(?:{_MATTER}|{_PROOF}){_BE_SAID}{_TO_JUDGE}{_WHERE}{_ABOUT}",
    rf"{_THERE}no (?:such )?{_MATTER}{_BE_SAID}{_TO_JUDGE}{_WHERE}{_ABOUT}",
    rf"{_THERE}no {_PROOF} {_SAID}",
    r"insufficient",
    rf"{_TEXT}(?: (?:is|are|was|were))? (?:insufficient|inadequate|not (?:enough|sufficient)){_TO_JUDGE}{_ABOUT}",
    rf"{_THERE}no answer(?: (?:present|found|available|provided|given))?",
)
_NOBODY_CAN_TELL = (
    r"(?:i|we) (?:dont|do not) know(?: .*)?",
    rf"(?:i|we) (?:dont|do not) have (?:any |enough |sufficient )?(?:\w+ )?(?:{_MATTER}|{_PROOF})\b.*",
    rf"(?:i|we|it)? ?{_CANNOT} {_JUDGE}\b.*",
    r"(?:it|this|that|question|this question|answer)? ?(?:cannot|can not|cant|could not) be "
    r"(?:answered|determined|concluded|confirmed|established|known|verified)(?: .*)?",
    r"(?:answer is )?(?:unknown|unanswerable|not answerable|n a|undetermined|not known)",
)
_TEXT_IS_SILENT = (
    rf"{_TEXT} {_WITHOUT} "
    r"(?:contain|provide|include|give|have|offer|specify|mention|state|answer|say|discuss)\b.*",
    rf"(?:(?:it|this|that|answer|{_MATTER}) (?:is|was) )?not {_SAID}{_WHERE}",
    rf"(?:(?:it|this|that|answer) (?:is|was) )?not in {_TEXT}",
)
_FIRM = re.compile("|".join(f"(?:{form})" for form in (*_TOO_LITTLE, *_NOBODY_CAN_TELL)))
_SILENT = re.compile("|".join(f"(?:{form})" for form in _TEXT_IS_SILENT))

_GUESSES = re.compile(
    r"\b(?:but|however|although|though|maybe|perhaps|possibly|probably|likely|presumably|might be|could be|"
    r"best guess|answer is|i (?:think|believe|guess))\b"
)
_OPENING = re.compile(
    r"(?:(?:(?:im|i am) )?(?:sorry|unfortunately|i apologi[sz]e)(?: but)? )?"
    rf"(?:(?:based on|from|according to) {_TEXT} )?"
)


def is_abstention(sentences: list[str], *, firm: bool = False) -> bool:
    """Whether these normalised sentences of one answer abstain.

    `firm`: only the forms that speak of too little information or of nobody being able to tell. After a "no,",
    "the article does not mention it" explains the no, whereas "there is not enough information" takes it back.
    """
    if not sentences:
        return False
    first, *rest = sentences
    first = _OPENING.sub("", first, count=1)
    fits = _FIRM.fullmatch(first) or (not firm and _SILENT.fullmatch(first))
    return bool(fits) and not any(_GUESSES.search(sentence) for sentence in (first, *rest))
