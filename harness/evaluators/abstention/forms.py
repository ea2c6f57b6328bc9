"""The forms in which a clause says that there is no answer, on normalised text.

- too little of it: "Insufficient information", "there is not enough context to answer", "no information about the
  date", "the provided information is insufficient", "No Answer Present" (MS MARCO's own marker);
- nobody can tell: "I don't know", "I am unable to answer", "it cannot be determined from the articles",
  "unknown", "unanswerable", "N/A";
- the text is silent: "the articles do not mention this", "no passage says so", "not mentioned in the text".
"""

import re
from functools import cache

_ADJECTIVE = (
    r"(?:relevant|specific|such|further|additional|direct|explicit|clear|detailed|concrete|contextual|background|"
    r"textual|factual|provided|available|given|retrieved|requested)"
)
_MATTER = rf"(?:{_ADJECTIVE} )*(?:information|info|context|knowledge)"
_PROOF = rf"(?:{_ADJECTIVE} )*(?:data|evidence|details?)"
_PASSAGE = (
    r"(?:passages?|texts?|documents?|articles?|sources?|excerpts?|contexts?|snippets?|chunks?|search results?|"
    r"knowledge (?:base|graph))"
)
_DETERMINER = (
    r"(?:(?:provided|given|available|retrieved|supplied|above|these|this|those|your|any|all|both|two|of) )*"
)
_NUMBERS = r"(?: \d+(?: and \d+| \d+)*)?"
TEXT = (
    rf"{_DETERMINER}(?:{_PASSAGE}|information|info|data|evidence|question)"
    rf"{_NUMBERS}(?: (?:provided|given|available|above|retrieved))?"
)
_SAID = (
    r"(?:(?:directly|explicitly|specifically|clearly) )?"
    r"(?:available|provided|given|found|present|presented|supplied|mentioned|specified|stated|included)"
)
_JUDGED = r"(?:answer|determine|conclude|confirm|say|tell|decide|verify|establish|identify|know|ascertain|infer)"
_REACHED = r"(?:make|draw|reach|provide|give)"
_JUDGEMENT = rf" (?:to|for) (?:{_JUDGED}|{_REACHED}|be|question|answering|determining|conclusion)\b.*"
_TO_JUDGE = rf"(?:{_JUDGEMENT})?"
_ASKS = r"(?:whether|if|that|what|who|whom|whose|when|where|which|how|why)"
# "Insufficient information about risks caused the crash" tells what came of it; "about what caused the crash",
# "about the damage it caused" and "about a crash caused by rain" tell nothing.
_CAME_OF_IT = (
    r"(?<!\bit )(?<!\bthey )(?<!\bhe )(?<!\bshe )\b(?:led to|led \w+ to|resulted in|contributed to|"
    r"(?:caused|prompted|prevented|forced|triggered|delayed|sparked|hampered|hindered)(?= \w)"
    r"(?! (?:by|in|on|at|to|for|during|when|after|before)\b)|"
    r"(?:is|was) (?:\w+ )?(?:reason|cause|complaint|problem|issue|concern)\b)"
)
_NOTHING_CAME_OF_IT = rf"(?!(?:(?!\b{_ASKS}\b).)*?{_CAME_OF_IT})"
# "No information about customers was leaked" states a fact; "about customers was found", "about who was fired" and
# "about the year the bank was founded" do not. So the object is one noun with its modifiers, and the verb after it
# ends in no preposition. Articles are removed before.
_WHOSE = r"(?:any|all|some|his|her|their|its|our|your|my|these|those|this|other)"
_IS = r"(?:(?:has|have|had) been|will be|(?:is|are|was|were)(?: being)?)"
_MOMENT = (
    r"(?:years?|dates?|days?|months?|weeks?|times?|moments?|points?|periods?|places?|cit(?:y|ies)|countr(?:y|ies)|"
    r"locations?|reasons?|ways?|manner|extent|amounts?|numbers?|prices?|persons?|people|things?|one|he|she|they|it|"
    r"we|i|you)"
)
_WORD = rf"(?!(?:{_ASKS}|{_WHOSE}|{_MOMENT}|is|are|was|were|has|have|had|will)\b)\S+"
_THING = (
    rf"(?:(?:{_WHOSE} )?{_WORD}(?:(?: (?:of|in|to|for|from|by|with|between|and|or|at|on)(?: {_WHOSE})?)? {_WORD})"
    r"{0,4}|it|this|him|her|them|us)"
)
_TOLD = (
    rf"(?:{_SAID}|made available|disclosed|revealed|released|reported|published|discussed|shared|retrieved|"
    r"returned|identified|located|obtained|detected|extracted|contained|listed|detailed|described|covered|addressed|noted|"
    r"uncovered|discovered|offered|explained|confirmed|needed|required)"
)
_DONE = (
    r"(?:(?!(?:awarded|granted|promised|asked|named|called|assigned|charged)\b)\w+ed|stolen|taken|lost|sold|sent|"
    r"kept|held|written|hidden|bought|withheld|put|read|seen|sought|brought|broken|drawn|forgotten|left|thrown|"
    r"spread|fed)"
)
_HAPPENED = (
    rf"{_IS} (?:\w+ly |ever |never |also )?(?:(?!{_TOLD}\b){_DONE}\b"
    rf"(?! (?:of|for|by|in|with|to|at|on|from|over)$)|"
    rf"{_TOLD} (?:to|with) (?!(?:{_JUDGED}|{_REACHED}|me|us|help|support|{TEXT})\b))"
)
_NOTHING_HAPPENED = rf"(?! {_THING} {_HAPPENED})"
_STORE = rf"{_DETERMINER}(?:data ?set|workspace)"
_WHERE_ALWAYS = rf" (?:in|from|within|by|based on|with) (?:{TEXT}|{_STORE})\b{_NOTHING_CAME_OF_IT}.*"
_WHERE = rf"(?:{_WHERE_ALWAYS})?"
_ABOUT = (
    r"(?: (?:whether|that) .*|"
    rf" (?:about|on|regarding|concerning|as to){_NOTHING_CAME_OF_IT}{_NOTHING_HAPPENED} .*)?"
)
_THERE = r"(?:(?:there (?:is|was|are)|i have|we have|due to) )?"
# "Insufficient information was given to voters" tells of the past.
_BE_SAID = (
    rf"(?: (?:(?:is|are) )?{_SAID}|"
    rf" (?:was|were) {_SAID}(?=$| (?:in|from|within|by) {TEXT}| (?:about|on|regarding|as to) {_ASKS}))?"
)
_SHORT_OF = r"(?:insufficient|inadequate|not (?:enough|sufficient)|too little|no (?:enough|sufficient))"
_CAN_JUDGE = (
    rf"(?:{_JUDGED}\b.*|(?:make|draw|reach) (?:any )?(?:determination|conclusion|comparison|judge?ment)s?\b.*|"
    rf"(?:provide|give|find) (?:any )?(?:(?:definitive|accurate|complete) )?"
    rf"(?:{_MATTER}|answer|response|mention|details)\b.*)"
)
_TELLS = (
    r"(?:mentions?|says?|states?|discuss(?:es)?|specif(?:y|ies)|address(?:es)?|answers?|covers?|tells?|explains?|"
    r"indicates?|describes?|clarif(?:y|ies)|reveals?|refers? to)"
)
_HOLDS = r"(?:contains?|provides?|gives?|includes?|offers?|has|have|makes?)"
_SOUGHT = rf"(?:{_MATTER}|details?|mention|answer|reference|indication)"
_OUTRIGHT = r"(?:(?:directly|explicitly|specifically|clearly|actually|even) )?"
_WITHOUT = r"(?:do not|does not|did not)"

_TOO_LITTLE = (
    rf"{_THERE}{_SHORT_OF} (?:{_MATTER}|{_PROOF})(?: exists?)?(?: here)?{_BE_SAID}{_TO_JUDGE}{_WHERE}{_ABOUT}",
    rf"{_THERE}lack of (?:{_ADJECTIVE} )*(?:information|info|context){_BE_SAID}{_TO_JUDGE}{_WHERE}{_ABOUT}",
    rf"{_THERE}no {_MATTER}{_BE_SAID}{_TO_JUDGE}{_WHERE}{_ABOUT}",
    rf"{_THERE}no {_PROOF} (?:(?:is|are) )?{_SAID}{_WHERE}",
    rf"{_THERE}no {_PROOF} in {TEXT}{_JUDGEMENT}",
    r"insufficient",
    rf"{TEXT}(?: (?:is|are|was|were))? (?:insufficient|inadequate|too limited|not (?:enough|sufficient))"
    rf"{_TO_JUDGE}{_ABOUT}",
    rf"{_THERE}no (?:(?:definitive|clear|certain|conclusive) )?answer(?: (?:(?:is|was|can be) )?{_SAID})?{_WHERE}",
    rf"{_PROOF} (?:(?:is|are) )?not (?:available|provided|given|specified|stated){_WHERE}",
    rf"{TEXT} {_WITHOUT} {_HOLDS} (?:enough|sufficient) (?:{_MATTER}|{_PROOF})\b.*",
    rf"(?:this |that )?{_MATTER}(?: (?:about|on|regarding|concerning) .*)?(?: (?:is|was))? "
    rf"(?:unavailable|missing|lacking|not {_SAID}){_WHERE}",
)
_NOBODY_CAN_TELL = (
    r"(?:(?:i|we) )?do not know(?: .*)?",
    rf"(?:i|we) do not have (?:any |enough |sufficient )?(?:\w+ )?(?:{_MATTER}|{_PROOF})\b.*",
    r"(?:i|we) do not have access to .*",
    rf"(?:i|we) (?:found|find|see|have) no (?:{_MATTER}|details?|answer|mention)\b.*",
    rf"(?:i |we )?(?:cannot|could not|(?:(?:am|are|is|was|were) )?(?:unable|not able) to) {_CAN_JUDGE}",
    r"(?:i|we) (?:cannot|could not|(?:am|are) (?:unable|not able) to) (?:provide|give|find)\b.*",
    rf"(?:it (?:is|was) )?(?:not possible|impossible) to {_CAN_JUDGE}",
    r"(?:(?:it|this|that|question|this question|answer|answer to .*) )?(?:cannot|could not) be "
    r"(?:answered|determined|concluded|confirmed|established|known|verified)"
    rf"(?: (?:(?:by|in|from|with|within) {TEXT}|without|based on|using|given|due to|because|as|if|whether|which|"
    r"who|what|when|here|definitively|conclusively)\b.*)?",
    rf"(?:answer|it|{_MATTER}) cannot be found{_WHERE_ALWAYS}",
    rf"no (?:\w+ )?(?:conclusion|determination|comparison) can be (?:drawn|made|reached){_WHERE}",
    r"(?:\S+ ){1,8}cannot be (?:determined|established|identified|inferred) "
    rf"(?:from|by|with|based on|using|in) {TEXT}",
    r"(?:(?:answer|question|it) is )?(?:unknown|unanswerable|not answerable|not applicable|n a|undetermined|"
    rf"not known|unclear|not clear|unspecified){_WHERE}",
    rf"(?:i am |we are )?(?:not sure|unsure|uncertain){_ABOUT}",
    r"(?:i have )?no (?:idea|clue)",
    # Of LlamaIndex.
    r"empty response",
)
_TEXT_IS_SILENT = (
    rf"{TEXT} {_WITHOUT} {_OUTRIGHT}(?:{_TELLS}|{_HOLDS})\b(?! (?:exactly )?same\b).*",
    rf"(?:no|none of|neither(?: of)?) {_DETERMINER}{_PASSAGE} {_OUTRIGHT}"
    rf"(?:{_TELLS}|{_HOLDS} (?:(?:any|this|that) )?{_SOUGHT})\b(?! (?:exactly )?same\b).*",
    rf"{TEXT} (?:{_HOLDS} no {_SOUGHT}|(?:mentions?|states?|specif(?:y|ies)) no|(?:say|mention|state|reveal)s? "
    rf"nothing|(?:is|are) silent|fails? to {_OUTRIGHT}{_TELLS}|"
    rf"(?:is|are) (?:irrelevant|unrelated|not relevant|not related)|"
    rf"lacks? (?:any |enough |sufficient )?{_SOUGHT})\b.*",
    rf"{_THERE}no (?:{_ADJECTIVE} )+{_PASSAGE}(?: (?:(?:is|are|was|were) )?{_SAID})?{_ABOUT}",
    rf"there (?:is|are) no {_PASSAGE} (?:about|on|from|that) .*",
    rf"{_THERE}no (?:{_ADJECTIVE} )*(?:results?|content|{_PASSAGE}) (?:(?:is|are|was|were) )?found{_WHERE}",
    rf"nothing in {TEXT} (?:{_TELLS}|suggests?)\b.*",
    rf"nothing (?:is )?(?:mentioned|said|stated)(?: (?:about|regarding) .*)?{_WHERE}",
    rf"{_THERE}no (?:{_ADJECTIVE} )*mention(?: (?:of|that) .*)?{_WHERE}",
    rf"(?:(?:it|this|that|answer(?: you are looking for)?) (?:is|was) )?not {_SAID}{_WHERE}",
    rf"(?:(?:it|this|that|answer) (?:is|was) )?not in {TEXT}",
    rf"(?:it|this|that) is (?:not (?:something|anything)|nothing) (?:(?:that|which) )?(?:{TEXT} {_TELLS}\b.*|"
    rf"(?:is )?(?:covered|mentioned|discussed|addressed|stated|found|described)(?: (?:in|by) {TEXT}.*)?)",
    rf"(?:\S+ ){{1,8}}(?:is|are|was|were) not (?:\w+ly )?(?:mentioned|specified|stated|provided|given|discussed|"
    rf"addressed|covered|described) (?:anywhere )?in {_DETERMINER}{_PASSAGE}\b.*",
)


def _any_of(forms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{form})" for form in forms))


@cache
def firm_form() -> re.Pattern[str]:
    """Too little information, or not able to tell. Compiled on first use, which takes a tenth of a second."""
    return _any_of((*_TOO_LITTLE, *_NOBODY_CAN_TELL))


@cache
def silent_form() -> re.Pattern[str]:
    """The text does not say it. Compiled like `firm_form`."""
    return _any_of(_TEXT_IS_SILENT)


TEXT_AND_GAP = re.compile(
    rf"{TEXT} (?:only )?(?:mentions?|discuss(?:es)?|covers?|describes?|focus(?:es)? on|talks? about) .* "
    rf"(?:but|and) (?:they |it )?{_WITHOUT} {_OUTRIGHT}(?:{_TELLS}|{_HOLDS})\b.*"
)
"""The text mentions something, but not what was asked."""
CLOSED = re.compile(
    rf".*\b(?:{_JUDGED}|{_SAID}|{_PASSAGE}|{_MATTER}|{_PROOF}|answered|determined|known|unknown|sure|so|it|this|that|"
    r"insufficient|question|a|unclear)"
)
"""A complete clause: after a comma no list or embedded question continues it."""
EMBEDDED = re.compile(r"\b(?:whether|if|that|what|who|whom|whose|when|where|which|how|why|about|regarding)\b.*")
"""An embedded question or clause that names what is unknown."""
