"""Finds the names in a question."""

import re
from collections.abc import Mapping
from typing import Any

from harness.core.scripts import bm25_terms
from harness.llm_utils.structured_output import Question, ask_json
from harness.protocols import ChatModel, Runtime
from systems.common.prompts.names import MAX_NAME, MAX_NAMES, MAX_TOKENS, NAMES_SCHEMA, names_messages

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


async def question_names(runtime: Runtime, names_by: str, question: str) -> list[str]:
    """The names in `question`: with `names_by=model` those that the generator lists, otherwise `names_in`."""
    if names_by != "model" or runtime.chat is None:
        return names_in(question)
    with runtime.stage("names"):
        return await ask_for_names(runtime.chat, question)


async def ask_for_names(chat: ChatModel, question: str) -> list[str]:
    """At most `MAX_NAMES` names listed by the model; one call, and a second if the reply is not a list.

    Then raises `Unreadable`; also the errors of the model's client.
    """
    asked = Question(names_messages(question), NAMES_SCHEMA, _read, MAX_TOKENS)
    return (await ask_json(chat, asked)).value


def _read(reply: Mapping[str, Any]) -> list[str]:
    listed = reply.get("names")
    if not isinstance(listed, list):
        raise ValueError("no list of names")
    names = (name.strip()[:MAX_NAME] for name in listed if isinstance(name, str))
    return list(dict.fromkeys(filter(None, names)))[:MAX_NAMES]
