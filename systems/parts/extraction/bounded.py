"""Triplets by one schema-constrained call a chunk, with bounded lists: for small local models.

A free list of nodes and edges lets a small model run on until its token limit, and everything is lost; at most
`MAX_TRIPLETS` short triplets cannot.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.asking.bounded import Progress, map_bounded
from harness.asking.structured import Question, Unreadable, ask_json
from harness.errors import HarnessError
from harness.extraction.nouns import TextGraph, Triplet
from harness.protocols import ChatModel
from systems.parts.chunking import Chunk
from systems.parts.headings import passage_text
from systems.parts.prompts.triplets import (
    MAX_NAME,
    MAX_RELATION,
    MAX_TOKENS,
    MAX_TRIPLETS,
    TRIPLETS_SCHEMA,
    triplets_messages,
)

_CONCURRENCY = 8
"""Calls under way at once, at most; the limiter of the model role may allow fewer."""


class BoundedExtractor:
    """See `systems.parts.extraction.contract.Extractor`."""

    def __init__(self, chat: ChatModel, progress: Progress) -> None:
        self._chat = chat
        self._progress = progress

    async def extract(self, chunks: Sequence[Chunk]) -> list[TextGraph]:
        """One call for each chunk, a second where the first reply cannot be read."""
        return await map_bounded(self._extract, chunks, _CONCURRENCY, self._progress)

    async def _extract(self, chunk: Chunk) -> TextGraph:
        try:
            answered = await ask_json(
                self._chat, Question(triplets_messages(passage_text(chunk)), TRIPLETS_SCHEMA, _read, MAX_TOKENS)
            )
        except HarnessError:
            raise
        except Unreadable as error:
            return TextGraph(failure=str(error), asked_again=True)
        except Exception as error:
            # This call's alone (a refused prompt, a server error that outlived its retries): the others go on.
            return TextGraph(failure=f"{type(error).__name__}: {str(error)[:200]}")
        return TextGraph(triplets=answered.value, asked_again=answered.asked_again)


def _read(reply: Mapping[str, Any]) -> tuple[Triplet, ...]:
    """Every well-formed triplet; a server that does not hold the model to the schema may send others too."""
    listed = reply.get("triplets")
    if not isinstance(listed, list):
        raise ValueError("no list of triplets")
    found = [_triplet(item) for item in listed[:MAX_TRIPLETS]]
    triplets = tuple(dict.fromkeys(triplet for triplet in found if triplet))
    if listed and not triplets:
        raise ValueError("none of its triplets has a head, a relation and a tail")
    return triplets


def _triplet(item: object) -> Triplet | None:
    if not isinstance(item, dict):
        return None
    words = [item.get(key) for key in ("head", "relation", "tail")]
    if not all(isinstance(word, str) and word.strip() for word in words):
        return None
    head, relation, tail = (str(word).strip() for word in words)
    return Triplet(head[:MAX_NAME], relation[:MAX_RELATION], tail[:MAX_NAME])
