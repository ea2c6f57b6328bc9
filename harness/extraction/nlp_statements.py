"""Triplets of the `nlp` extractor, by rules on the dependency tree of a sentence.

Labels are those of spaCy's English pipelines (ClearNLP dependencies, Penn tags).
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from harness.core.records import Triplet
from harness.extraction.entity_names import entity_id
from harness.extraction.nlp_phrases import Phrase

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "attr", "oprd", "dative"})
_MAX_PASSED_ON = 4
"""Verbs in a row that share a subject: `plans to buy, close and sell`."""
_MAX_COORDINATED = 10
"""Phrases joined by `and`: long lists on both sides of a verb would give their product."""
_MAX_NAMES, _MAX_PAIRS = 40, 10
"""Per sentence: names that are paired, and pairs that are kept."""


def statements_of(doc: "Doc", phrases: Mapping[int, Phrase]) -> list[Triplet]:
    """Verbs with a subject and an object, titles and appositions, in the order of the text, each once.

    At least one end is a proper name; a date, an amount or a noun with its adjectives is only ever the tail.
    """
    rules = _Rules(phrases)
    found: dict[Triplet, None] = {}
    for head, relation, tail in (link for token in doc for link in rules.links(token)):
        differ = entity_id(head.text) != entity_id(tail.text)
        if differ and "name" in {head.sort, tail.sort} and head.sort in {"name", "concept"}:
            found[Triplet(head.text, relation, tail.text)] = None
    return list(found)


def neighbours_of(sentence: "Span", phrases: Mapping[int, Phrase]) -> list[Triplet]:
    """Names of one sentence, the nearest pairs first; each pair in one direction, by their ids."""
    places = {phrases[i] for i in range(sentence.start, sentence.end) if i in phrases}
    names = sorted((phrase for phrase in places if phrase.recognised), key=lambda p: p.start)
    nearest = sorted(
        combinations(names[:_MAX_NAMES], 2), key=lambda pair: (pair[1].start - pair[0].end, pair[0].start)
    )
    ordered = (sorted((one.text, other.text), key=entity_id) for one, other in nearest[:_MAX_PAIRS])
    return [Triplet(head, "co-occurs with", tail) for head, tail in ordered]


class _Link(NamedTuple):
    head: Phrase
    relation: str
    tail: Phrase


class _Rules:
    """The rules over one dependency tree and its phrases."""

    def __init__(self, phrases: Mapping[int, Phrase]) -> None:
        self._phrases = phrases

    def links(self, token: "Token") -> Iterator[_Link]:
        """The links of this token, if it is a verb, a noun next to a name, or a name with a title."""
        # A verb in capitals is from a headline, or a name with a wrong tag.
        if token.pos_ in {"VERB", "AUX"} and token.is_lower:
            yield from self._of_verb(token)
        elif token.dep_ == "appos":
            yield from self._of_apposition(token)
        if token.i in self._phrases and self._phrases[token.i].kind == "Person":
            yield from self._of_title(token)

    def _of_verb(self, verb: "Token") -> Iterator[_Link]:
        subjects, passive = self._subjects(verb)
        if not subjects:
            return
        words = _verb_words(verb, passive)
        for extra, thing, is_agent in self._objects(verb):
            for subject in subjects:
                if is_agent:
                    yield _Link(thing, " ".join(_verb_words(verb, passive=False)), subject)
                else:
                    yield _Link(subject, " ".join((*words, *extra)), thing)

    def _subjects(self, verb: "Token") -> tuple[list[Phrase], bool]:
        """The subjects of a verb, with True for the passive voice; inherited from the previous verb, or from the
        noun that the verb describes.
        """
        participle = verb.tag_ == "VBN"
        for _ in range(_MAX_PASSED_ON):
            subject = next((child for child in verb.children if child.dep_ in _SUBJECTS), None)
            if subject:
                return self._all(_antecedent(subject)), participle and subject.dep_ == "nsubjpass"
            if verb.dep_ in {"acl", "relcl"}:
                return self._all(verb.head), participle
            if verb.dep_ not in {"conj", "xcomp"} or verb.head.pos_ not in {"VERB", "AUX"}:
                break
            verb = verb.head
        return [], False

    def _objects(self, verb: "Token") -> Iterator[tuple[tuple[str, ...], Phrase, bool]]:
        """The words added to the relation, the phrase, and whether it is the agent of a passive verb."""
        noun: tuple[str, ...] = ()
        for child in verb.children:
            if child.i > verb.i and child.dep_ in _OBJECTS:
                yield from (((), thing, False) for thing in self._all(child))
                noun = self._common_noun(child)
                if noun:
                    yield from ((noun + words, thing, False) for words, thing in self._behind(child))
            elif child.i > verb.i and child.dep_ in {"prep", "agent"}:
                yield from (
                    ((*noun, child.lower_), thing, child.dep_ == "agent") for thing in self._governed(child)
                )

    def _common_noun(self, token: "Token") -> tuple[str, ...]:
        """`deal`, if a prepositional phrase follows; empty for a name, which is complete."""
        phrase = self._phrases.get(token.i)
        is_noun = token.pos_ in {"NOUN", "PROPN"} and not (phrase and phrase.sort in {"name", "value"})
        return (token.lemma_.lower(),) if is_noun else ()

    def _behind(self, noun: "Token") -> Iterator[tuple[tuple[str, ...], Phrase]]:
        """`a deal with Google`: the prepositions of a noun, with their objects."""
        for child in noun.children:
            if child.dep_ == "prep":
                yield from (((child.lower_,), thing) for thing in self._governed(child))

    def _governed(self, preposition: "Token") -> Iterator[Phrase]:
        return (thing for child in preposition.children if child.dep_ == "pobj" for thing in self._all(child))

    def _of_apposition(self, token: "Token") -> Iterator[_Link]:
        """`Tim Cook, chief executive of Apple` and `Apple's chief executive, Tim Cook`."""
        for named, title in ((token.head, token), (token, token.head)):
            phrase = self._phrases.get(named.i)
            role = self._common_noun(title)
            if phrase and phrase.sort == "name" and role:
                for words, thing in self._behind(title):
                    yield _Link(phrase, " ".join(("is", *role, *words)), thing)
                owners = [child for child in title.children if child.dep_ == "poss"]
                for thing in (thing for owner in owners for thing in self._all(owner)):
                    yield _Link(phrase, " ".join(("is", *role, "of")), thing)

    def _of_title(self, token: "Token") -> Iterator[_Link]:
        """`OpenAI chief executive Sam Altman`."""
        person = self._phrases[token.i]
        if token.i != person.start:
            return
        title = token.i
        while title > 0 and title - 1 not in self._phrases and token.doc[title - 1].pos_ in {"NOUN", "PROPN"}:
            title -= 1
        employer = self._phrases.get(title - 1)
        if title < token.i and employer and employer.kind == "Organisation":
            yield _Link(person, f"is {token.doc[title : token.i].text.lower()} of", employer)

    def _all(self, token: "Token") -> list[Phrase]:
        """The token's phrase and its conjuncts: `Google and Apple`."""
        found = (self._phrases.get(each.i) for each in (token, *token.conjuncts))
        return list(dict.fromkeys(phrase for phrase in found if phrase))[:_MAX_COORDINATED]


def _antecedent(subject: "Token") -> "Token":
    """`Altman, who founded`: the noun that a relative pronoun refers to."""
    clause = subject.head
    return clause.head if clause.dep_ == "relcl" and subject.tag_ in {"WP", "WDT"} else subject


def _verb_words(verb: "Token", passive: bool) -> tuple[str, ...]:
    """`not sign up`, `charged`, `plan to buy`."""
    before = ("not",) if any(child.dep_ == "neg" for child in verb.children) else ()
    if verb.dep_ == "xcomp" and verb.head.pos_ == "VERB":
        to = ("to",) if any(child.lower_ == "to" for child in verb.children if child.dep_ == "aux") else ()
        before = (*_verb_words(verb.head, passive=False), *to)
    particles = tuple(child.lower_ for child in verb.children if child.dep_ == "prt")
    word = "is" if verb.lemma_ == "be" else verb.lower_ if passive else verb.lemma_.lower()
    return (*before, word, *particles)
