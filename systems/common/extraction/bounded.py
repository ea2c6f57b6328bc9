"""Extracts triplets with one schema-constrained call per chunk and bounded lists: for small local models.

With an unbounded list a small model may run on until its token limit, and the reply is lost; at most
`MAX_TRIPLETS` short triplets cannot.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from harness.core.errors import HarnessError
from harness.core.records import Triplet
from harness.extraction.entity_names import one_line
from harness.extraction.model_triplets import read_triplets
from harness.extraction.types import TextGraph
from harness.llm_utils.concurrency import Progress, map_bounded
from harness.llm_utils.structured_output import Question, Unreadable, ask_json
from harness.protocols import ChatModel
from systems.common.chunking import Chunk
from systems.common.extraction.extractor import Focus
from systems.common.headings import passage_text
from systems.common.prompts.triplets import (
    MAX_DATE,
    MAX_NAME,
    MAX_RELATION,
    MAX_TOKENS,
    MAX_TRIPLETS,
    triplets_messages,
    triplets_schema,
)

_CONCURRENCY = 8
"""Maximum concurrent calls; the limiter of the model role may allow fewer."""


class BoundedExtractor:
    def __init__(self, chat: ChatModel, progress: Progress, focus: Focus = Focus()) -> None:  # noqa: B008
        self._chat = chat
        self._progress = progress
        self._focus = focus

    async def extract(self, chunks: Sequence[Chunk]) -> list[TextGraph]:
        return await map_bounded(self._extract, chunks, _CONCURRENCY, self._progress)

    async def _extract(self, chunk: Chunk) -> TextGraph:
        messages = triplets_messages(passage_text(chunk), self._focus)
        asked = Question(messages, triplets_schema(self._focus), self._read, MAX_TOKENS)
        try:
            answered = await ask_json(self._chat, asked)
        except HarnessError:
            raise
        except Unreadable as error:
            return TextGraph(failure=str(error), asked_again=True)
        except Exception as error:
            # Only this call failed (a refused prompt, a server error after all retries): the others continue.
            return TextGraph(failure=f"{type(error).__name__}: {str(error)[:200]}")
        return replace(answered.value, asked_again=answered.asked_again)

    def _read(self, reply: Mapping[str, Any]) -> TextGraph:
        triplets = read_triplets(reply.get("triplets"), MAX_TRIPLETS, _shortened)
        if wanted := {relation.casefold() for relation in self._focus.relation_types}:
            triplets = tuple(one for one in triplets if one.relation.casefold() in wanted)
        dates = _dates(reply["triplets"][:MAX_TRIPLETS]) if self._focus.dates else ()
        return TextGraph(triplets=triplets, dates=tuple(one for one in dates if one[0] in triplets))


def _dates(listed: Sequence[object]) -> Iterator[tuple[Triplet, str]]:
    for item in listed:
        date = item.get("date") if isinstance(item, dict) else None
        if isinstance(date, str) and date.strip():
            with suppress(ValueError):
                (triplet,) = read_triplets([item], 1, _shortened)
                yield triplet, one_line(date)[:MAX_DATE]


def _shortened(triplet: Triplet) -> Triplet:
    return Triplet(triplet.head[:MAX_NAME], triplet.relation[:MAX_RELATION], triplet.tail[:MAX_NAME])
