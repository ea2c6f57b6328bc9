"""Finds the names in a question."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.scripts import bm25_terms
from harness.extraction.entity_names import entity_id
from harness.llm_utils.structured_output import Question, ask_json, list_of, object_of, string_of
from harness.protocols import Message, Runtime
from systems.common.graph_stores.contract import EntityHit, GraphStore
from systems.common.graph_stores.entity_name_search import words

_QUOTED = re.compile(
    r"[\"\u201c\u2018]([^\"\u201c\u201d\u2018\u2019]{2,80})[\"\u201d\u2019]|(?<!\w)'([^']{2,80})'(?!\w)"
)
# A capital, or one within as in iPhone; not the rest of a word.
_WORD = r"(?<!\w)(?:[a-z]{1,3}[A-Z]|[A-Z0-9\u00c0-\u00de])[\w&.\-\u2019']*"
# A run of capitalised words, also over a small word in between, as in Bank of England.
_CAPITALISED = re.compile(rf"{_WORD}(?:\s+(?:(?:of|of the|for|de|van|von|&)\s+)?{_WORD})*")
_OPENING_WORDS = """
who whom whose what which when where why how did do does is are was were has have had can could will would should
may might in on at of for from by with between according considering based after before since while if and or but
the a an this that these those both yes no name list give tell
"""
OPENERS = frozenset(_OPENING_WORDS.split())


def names_in(question: str) -> list[str]:
    """Distinct quoted phrases and sequences of capitalised words, in order; at most `MAX_NAMES`.

    No model. Words that only start a question (Who, Does, According) are ignored.
    """
    places = [(match.start(), match[1] or match[2]) for match in _QUOTED.finditer(question)]
    places += [(match.start(), _without_openers(match[0])) for match in _CAPITALISED.finditer(question)]
    names = (" ".join(name.split()).strip(".'\u2019") for _, name in sorted(places))
    return list(dict.fromkeys(name for name in names if len(name) > 1))[:MAX_NAMES]


def _without_openers(run: str) -> str:
    words = run.split()
    while words and words[0].lower() in OPENERS:
        words.pop(0)
    return " ".join(words)


def keyword_query(question: str) -> str:
    """The names in `question`, then its other search terms, without those that only ask."""
    names, (terms,) = names_in(question), bm25_terms([question])
    known = OPENERS.union(*bm25_terms(names))
    return " ".join([*names, *dict.fromkeys(term for term in terms if term not in known)]) or question


MAX_NAMES = 10
MAX_NAME = 80
"""Maximum characters."""
_NAMES_TASK = (
    "List the names in the question: people, organisations, places, products, events, works and dates, "
    'as the question writes them. Reply with JSON only: {"names": ["..."]}'
)


def names_question(question: str) -> Question[list[str]]:
    messages = [
        Message("system", _NAMES_TASK),
        Message("user", f"Question: {question}\n\n{_NAMES_TASK}"),
    ]
    schema = object_of({"names": list_of(string_of(MAX_NAME), MAX_NAMES)})
    return Question(messages, schema, _read_names, max_tokens=300)


async def question_names(runtime: Runtime, names_by: str, question: str) -> list[str]:
    """The names in `question`: with `names_by=model` those that the generator lists, otherwise `names_in`."""
    if names_by != "model" or runtime.chat is None:
        return names_in(question)
    with runtime.stage("names"):
        return (await ask_json(runtime.chat, names_question(question))).value


def _read_names(reply: Mapping[str, Any]) -> list[str]:
    listed = reply.get("names")
    if not isinstance(listed, list):
        raise ValueError("no list of names")
    names = (name.strip()[:MAX_NAME] for name in listed if isinstance(name, str))
    return list(dict.fromkeys(filter(None, names)))[:MAX_NAMES]


_LONGEST = 8
"""Maximum words of a name."""
_MOST_WORDS = 300
"""Maximum words of a question that are searched for names."""
_ALIASES = 50
"""Number of full-text results checked for another spelling of a name."""
# A comma or a quotation mark separates names.
_PART = re.compile(r"[^,;:?!()\"\u201c\u201d]+")


@dataclass(frozen=True)
class _Run:
    """Neighbouring words of the question."""

    start: int
    end: int
    text: str
    entity_id: str

    @property
    def may_be_a_name(self) -> bool:
        """Several words, or one with a capital or a digit that is not just the first word of the question."""
        if self.end - self.start > 1:
            return True
        is_marked = any(character.isupper() or character.isdigit() for character in self.text)
        return is_marked and (self.text.casefold() not in OPENERS or self.text.isupper())


async def entities_named(
    store: GraphStore, question: str, publishers: Collection[str], aliases: int
) -> list[EntityHit]:
    """The entities of the graph that the question names, in its order, without `publishers` (entity ids).

    First, word sequences that equal the name of an entity, longest first, ignoring possessives and articles. Then,
    for remaining names in quotation marks and capitals, entities that contain all words of the name, or the
    reverse, at most `aliases` for each.
    """
    runs = [run for run in _runs(question) if run.may_be_a_name]
    stored = {hit.entity_id: hit for hit in await store.entities([run.entity_id for run in runs])}
    chosen = _longest([run for run in runs if run.entity_id in stored or run.entity_id in publishers])
    hits = {run.entity_id: stored[run.entity_id] for run in chosen if run.entity_id not in publishers}
    met = {word for run in chosen for word in words(run.text)}
    for name in names_in(question):
        asked = set(words(name))
        if not asked <= met:
            found = await store.find_entities(name, _ALIASES)
            same = [hit for hit in found if _is_alias(asked, hit.name) and hit.entity_id not in publishers]
            hits = {**{hit.entity_id: hit for hit in same[:aliases]}, **hits}
    return sorted(hits.values(), key=lambda hit: _place(question, hit.name))


def _runs(question: str) -> Iterator[_Run]:
    start = 0
    for part in _PART.findall(question):
        parts = part.split()[: _MOST_WORDS - start]
        for first in range(len(parts)):
            for last in range(first + 1, min(first + _LONGEST, len(parts)) + 1):
                text = " ".join(parts[first:last])
                if met := entity_id(text):
                    yield _Run(start + first, start + last, text, met)
        start += len(parts)


def _longest(runs: Sequence[_Run]) -> list[_Run]:
    """Sequences without common words, longest first; returned in the question's order."""
    kept: list[_Run] = []
    for run in sorted(runs, key=lambda each: (each.start - each.end, each.start)):
        if all(run.end <= other.start or other.end <= run.start for other in kept):
            kept.append(run)
    return sorted(kept, key=lambda each: each.start)


def _is_alias(asked: set[str], name: str) -> bool:
    """Whether one is an alias of the other: `Apple Inc.` of `Apple`, `Altman` of `Sam Altman`; not `MTV News` of
    `Sporting News`.
    """
    has = set(words(name))
    return bool(has) and (has <= asked or asked <= has)


def _place(question: str, name: str) -> int:
    """Where the question names the entity; at the end if it is spelled differently."""
    found = question.casefold().find(name.casefold())
    return found if found >= 0 else len(question)
