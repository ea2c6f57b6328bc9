"""Checks without a language model: it is a question, it stands alone, it is no duplicate, its quotes exist."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from harness.core.records import Evidence
from harness.core.scripts import word_count
from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import abstains, is_verdict, normalise
from harness.evaluators.novel_tokens import content_words
from harness.extensions.testset.documents import is_table_row
from harness.extensions.testset.question_records import PAIRED, Candidate, QuestionCheck

if TYPE_CHECKING:
    from harness.protocols import Embedder, Vectors

_LONGEST_ANSWER_WORDS = 10
"""Two people would word longer answers differently."""
_LONGEST_AMOUNT = 4
"""Words of a date, or of a number with its unit."""
_SHORTEST_QUESTION = 6
"""Characters; low, because scripts without spaces need few."""
_DIGIT, _NUMBER = re.compile(r"\d"), re.compile(r"\d+(?:\.\d+)?")
_SOURCE = (
    r"article|report|document|text|passage|excerpt|author|writer|sentences?|paragraph|section|table|figure|page|"
    r"chapter|memo|note|letter|statement|abstract|story|piece|context|source|speaker|narrator"
)
_DANGLING = (
    re.compile(rf"\b(?:this|these|that|those|said) (?:\w+ )?(?:{_SOURCE})s?\b", re.IGNORECASE),
    re.compile(
        r"\b(?:according to|in|from|by|based on|mentioned in|described in|stated in|given in) the "
        rf"(?:\w+ )?(?:{_SOURCE})s?(?! of\b| by\b| on\b| from\b| about\b|\w|(?-i: [A-Z\"'\u201c]))",
        re.IGNORECASE,
    ),
    re.compile(r"\bthe (?:author|writer|speaker|narrator|passage|excerpt)s?\b(?! of\b)", re.IGNORECASE),
    re.compile(r"\b(?:documents?|sentences?) [AB]\d*\b|\b[AB]\d{1,2}\b(?= (?:and|say|state|mention))"),
    re.compile(
        r"\b(?:both|two|these|those|the (?:given|provided|above)) (?:documents|articles|texts|passages|reports)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:mentioned|described|listed|stated|discussed) (?:above|below|here)\b|\bthe (?:above|following)\b",
        re.IGNORECASE,
    ),
)
_VERBS = r"is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might"
_PRONOUN_FIRST = re.compile(
    r"^(?:(?:what|who|whom|when|where|why|which|how(?: (?:many|much|long|often|far|old))?)(?:'s)? )?"
    rf"(?:(?:{_VERBS}) )?"
    r"(?:he|she|they|him|her|his|its|their|theirs|it(?! (?:take|took|cost|true|possible|called|known))|"
    r"this|that|these|those)\b(?! (?:day|week|month|year|century)\b)",
    re.IGNORECASE,
)
_NAMELESS = re.compile(
    r"\bthe (?:company|firm|project|event|city|town|person|man|woman|organi[sz]ation|agency|team|group|"
    r"programme|program|product|system|contract|deal|law|court|ship|building|study|meeting)\b",
    re.IGNORECASE,
)
_NAME_OF = re.compile(r"\bthe names? of the (?:\w+ )?\w+\?$", re.IGNORECASE)
"""Such as `the name of the ferry?`, but not `the name of the ferry that ...?`."""
_LATER_WORD = re.compile(r"(?<=\s)\w[\w-]+")
_NAMES = re.compile(r"(?<=.)\b[A-Z][\w'.-]*|\d|[\"\u201c]")

_OVER_ALL = re.compile(
    r"\b(?:highest|lowest|largest|biggest|smallest|greatest|longest|shortest|tallest|cheapest|priciest|dearest|"
    r"oldest|newest|youngest|earliest|latest|fastest|slowest|heaviest|lightest|strongest|weakest|widest|deepest|"
    r"nearest|farthest|furthest|best|worst|fewest|(?<!at )(?:most|least)|maximum|minimum|average|total|sum of|"
    r"in all|altogether|overall|combined)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\b(?:how many|(?:the|what) number of)\b", re.IGNORECASE)
"""English only, as the other rules about words."""

_CHOICE = re.compile(
    r"\b(?:or|oder|ou|o|eller|lub|czy|или)\b|还是|還是|それとも|또는|\bأم\b|\bया\b", re.IGNORECASE
)
"""Between two options that a question names."""

_NEAR = 0.9
"""Cosine of two questions. Questions that differ in one name reach it too, so answer or quote must also match."""


def well_formed(kind: str, question: str, answer: str) -> QuestionCheck:
    """A question with a short, comparable answer; for a comparison, one of the two options."""
    trouble = ""
    if not question.rstrip().endswith(("?", "\uff1f", "\u061f")) or len(question) < _SHORTEST_QUESTION:
        trouble = "it is no question"
    elif kind != "unanswerable":
        trouble = _no_answer(kind, question, answer)
    return _check("form", trouble)


def _no_answer(kind: str, question: str, answer: str) -> str:
    if not normalise(answer):
        return "it has no answer"
    if abstains(answer):
        return "its answer is an abstention"
    if word_count(answer) > _LONGEST_ANSWER_WORDS:
        return f"its answer is longer than {_LONGEST_ANSWER_WORDS} words"
    is_amount = bool(_DIGIT.search(answer)) and word_count(answer) <= _LONGEST_AMOUNT
    if kind in {"comparison", "temporal"} and not gives_away(question, answer) and not is_amount:
        return "its answer is neither a date or number nor one of the two that it names"
    said, asked = set(content_words(answer)), set(content_words(question))
    is_choice = is_verdict(answer) or kind in {"comparison", "temporal"} or _CHOICE.search(question)
    if said and said <= asked and not is_choice:
        return "its answer only repeats words of the question"
    return ""


def gives_away(question: str, answer: str) -> bool:
    """Whether the question contains its answer: with two options a guess is right half of the time."""
    return is_verdict(answer) or f" {normalise(answer, alone=False)} " in f" {normalise(question, alone=False)} "


def cannot_agree(one: str, other: str) -> bool:
    """Whether one is a bare yes or no, or both have numbers and none in common. A small judge accepts those."""
    numbers, others = set(_NUMBER.findall(normalise(one))), set(_NUMBER.findall(normalise(other)))
    return is_verdict(one) != is_verdict(other) or bool(numbers and others and numbers.isdisjoint(others))


def check_names_occur(question: str, texts: Iterable[str]) -> QuestionCheck:
    """At least one of its names is in these texts: a question about unknown names has no answer anywhere."""
    names = [word for word in _LATER_WORD.findall(question) if word[0].isupper()]
    known = "\n".join(texts).casefold()
    strange = names and not any(name.casefold() in known for name in names)
    return _check("about", f"none of its documents mentions {', '.join(names)}" if strange else "")


def left_out(answer: str, texts: Mapping[str, str]) -> QuestionCheck:
    """The answer to an unanswerable question is not in the documents from which it was written."""
    form = f" {normalise(answer, alone=False)} "
    said = next(
        (doc for doc, text in texts.items() if form.strip() and form in f" {normalise(text, alone=False)} "), None
    )
    return _check("left_out", f"the missing detail ('{answer}') is in '{said}'" if said is not None else "")


def stands_alone(question: str) -> QuestionCheck:
    """It refers to nothing that its reader has not seen."""
    for pattern in _DANGLING:
        if found := pattern.search(question):
            return _check("self_contained", f"it mentions '{found[0]}'")
    if found := _PRONOUN_FIRST.match(question):
        return _check("self_contained", f"it begins with '{found[0]}', and names nobody")
    if (found := _NAMELESS.search(question) or _NAME_OF.search(question)) and not _NAMES.search(question):
        return _check("self_contained", f"it mentions '{found[0]}' without a name")
    return _check("self_contained", "")


def check_quotes(kind: str, evidence: Sequence[Evidence], texts: Mapping[str, str]) -> QuestionCheck:
    """Every quote is in its document, letter by letter; there is one, or one of each of two documents."""
    if not evidence:
        return _check("quotes", "no sentence is named")
    for item in evidence:
        if item.doc_id not in texts:
            return _check("quotes", f"no document '{item.doc_id}'")
        if not item.fact.strip() or item.fact not in texts[item.doc_id]:
            return _check("quotes", f"'{item.fact[:60]}' is not in '{item.doc_id}'")
    if kind in PAIRED and len({item.doc_id for item in evidence}) < 2:
        return _check("quotes", "all quotes are of one document")
    return _check("quotes", "")


def check_all_rows(question: str, answer: str, evidence: Sequence[Evidence]) -> QuestionCheck:
    """It asks for no superlative, sum or count over a table of which it quotes single rows, unless a quote states
    it or its answer is one of two that it names.
    """
    quoted = "\n".join(item.fact for item in evidence)
    found = None
    is_option = gives_away(question, answer) and not is_verdict(answer)
    if any(is_table_row(item.fact) for item in evidence) and not is_option:
        asked = [one for one in _OVER_ALL.finditer(question) if one[0].casefold() not in quoted.casefold()]
        counted = _COUNTED.search(question) if not gives_away(quoted, answer) else None
        found = next(iter(asked), counted)
    return _check(
        "all_rows", f"'{found[0]}' needs all rows of the table, and it quotes single rows" if found else ""
    )


def _check(name: str, trouble: str) -> QuestionCheck:
    return QuestionCheck(name=name, passed=not trouble, note=trouble)


class Distinct:
    """Compares each candidate with those accepted before it: a duplicate would count one fact twice."""

    def __init__(self, embedder: "Embedder | None") -> None:
        self._embedder = embedder
        self._seen: list[tuple[Candidate, Vectors | None]] = []

    async def check_each(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates with their verdicts, in order; of two duplicates the second fails."""
        if not candidates:
            return []
        vectors: Sequence[Vectors | None] = [None] * len(candidates)
        if self._embedder:
            vectors = list(await self._embedder.embed_documents([each.question for each in candidates]))
        return [self._checked(each, vector) for each, vector in zip(candidates, vectors, strict=True)]

    def _checked(self, candidate: Candidate, vector: "Vectors | None") -> Candidate:
        for other, known in self._seen:
            same_words = normalise(other.question) == normalise(candidate.question)
            quotes = {item.fact for item in candidate.evidence} & {item.fact for item in other.evidence}
            same_fact = bool(quotes) or is_right(candidate.answer, [other.answer])
            near = vector is not None and known is not None and float(vector @ known) >= _NEAR
            if same_words or (near and same_fact):
                note = f"it asks the same as '{other.question}'"
                return candidate.checked(QuestionCheck(name="distinct", passed=False, note=note))
        self._seen.append((candidate, vector))
        return candidate.checked(QuestionCheck(name="distinct", passed=True))
