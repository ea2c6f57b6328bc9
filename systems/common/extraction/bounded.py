"""Extracts triplets with one schema-constrained call per chunk and bounded lists: for small local models.

With an unbounded list a small model may run on until its token limit, and the reply is lost; at most
`MAX_TRIPLETS` short triplets cannot.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.errors import HarnessError
from harness.core.records import Triplet
from harness.extraction.model_triplets import read_triplets
from harness.extraction.types import TextGraph
from harness.llm_utils.concurrency import Progress, map_bounded
from harness.llm_utils.structured_output import Question, Unreadable, ask_json
from harness.protocols import ChatModel
from systems.common.chunking import Chunk
from systems.common.headings import passage_text
from systems.common.prompts.triplets import (
    MAX_NAME,
    MAX_RELATION,
    MAX_TOKENS,
    MAX_TRIPLETS,
    TRIPLETS_SCHEMA,
    triplets_messages,
)

_CONCURRENCY = 8
"""Maximum concurrent calls; the limiter of the model role may allow fewer."""


class BoundedExtractor:
    """See `systems.common.extraction.extractor.Extractor`."""

    def __init__(self, chat: ChatModel, progress: Progress) -> None:
        self._chat = chat
        self._progress = progress

    async def extract(self, chunks: Sequence[Chunk]) -> list[TextGraph]:
        """One call per chunk, and a second if the first reply is invalid."""
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
            # Only this call failed (a refused prompt, a server error after all retries): the others continue.
            return TextGraph(failure=f"{type(error).__name__}: {str(error)[:200]}")
        return TextGraph(triplets=answered.value, asked_again=answered.asked_again)


def _read(reply: Mapping[str, Any]) -> tuple[Triplet, ...]:
    return read_triplets(reply, MAX_TRIPLETS, _shortened)


def _shortened(triplet: Triplet) -> Triplet:
    return Triplet(triplet.head[:MAX_NAME], triplet.relation[:MAX_RELATION], triplet.tail[:MAX_NAME])
