"""The context with which a chunk is searched: headings of its document, or sentences that a model writes."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

from harness.core.records import ExpectedCalls
from harness.extraction.entity_names import one_line
from harness.llm_utils.answer_contract import RULE, quoted
from harness.llm_utils.concurrency import Progress, map_bounded
from harness.protocols import ChatModel, Corpus, Message
from systems.common.chunking import Chunk
from systems.common.expected_calls import PassageFacts, characters_of
from systems.common.headings import document_heading, heading_of, under_heading
from systems.common.wrapped_libraries import CONCURRENCY, Guard

CONTEXT_TOKENS = 120
"""Maximum tokens of a written context."""
LONGEST = 600
"""Maximum characters of a written context; a server may ignore max_tokens."""
_LONGEST_SECTION = 120
_SECTION = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)
_ROLE = f"You prepare the passages of a document for a search engine. {RULE}"
_TASK = (
    "In one or two short sentences, say what the document is about and where in it the passage stands. Name the "
    "people, organisations, places and dates that the passage is about but does not name. Reply with these "
    "sentences alone."
)


def heading_contexts(chunks: Sequence[Chunk]) -> Iterator[str]:
    """For each chunk, title, source and date of its document, and the section headings above it."""
    for _, group in groupby(chunks, key=lambda chunk: chunk.span.doc_id):
        of_document = list(group)
        document = of_document[0].document
        headings = list(_SECTION.finditer(document.text))
        starts = [heading.start() for heading in headings]
        for chunk in of_document:
            above = _path(headings[: bisect_right(starts, chunk.span.start)])
            sections = " > ".join(section for section in above if section != document.title)
            yield under_heading(document_heading(document), sections).strip()


def _path(headings: Sequence[re.Match[str]]) -> list[str]:
    """The headings that are open behind the last of these, from the highest level to the lowest."""
    opened: dict[int, str] = {}
    for heading in headings:
        level = len(heading[1])
        opened = {above: text for above, text in opened.items() if above < level}
        opened[level] = one_line(heading[2])[:_LONGEST_SECTION]
    return list(opened.values())


async def written_contexts(
    chat: ChatModel, chunks: Sequence[Chunk], most_characters: int, progress: Progress
) -> tuple[list[str | None], str]:
    """A context for each chunk, by one call each; None for a call that failed, and the first reason."""
    guard = Guard()

    async def write(chunk: Chunk) -> str | None:
        messages = context_messages(heading_of(chunk), excerpt(chunk, most_characters), chunk.text)
        reply = await guard.run(lambda: chat.complete(messages, max_tokens=CONTEXT_TOKENS))
        return None if reply is None else one_line(reply)[:LONGEST]

    written = await map_bounded(write, chunks, CONCURRENCY, progress)
    guard.check()
    return written, guard.first_failure


def excerpt(chunk: Chunk, most: int) -> str:
    """The document of a chunk; of one with more than `most` characters, the part around the chunk."""
    text, span = chunk.document.text, chunk.span
    start = max(0, min((span.start + span.end - most) // 2, len(text) - most))
    return text[start : start + most]


def context_messages(heading: str, document: str, passage: str) -> list[Message]:
    """The prompt for the context of a passage. The document comes first, so that a server can cache it."""
    material = f"Document:\n{quoted('text', under_heading(heading, document))}"
    asked = f"Passage of this document:\n{quoted('passages', passage)}"
    return [Message("system", _ROLE), Message("user", f"{material}\n\n{asked}\n\n{_TASK}")]


def expected_contexts(passages: PassageFacts, corpus: Corpus, most_characters: int) -> tuple[ExpectedCalls, ...]:
    """One call per chunk, with documents in proportion to their chunks."""
    if not passages.count:
        return ()
    lengths = [len(document.text) for document in corpus.documents]
    mean = sum(length * min(length, most_characters) for length in lengths) / max(sum(lengths), 1)
    template = characters_of(context_messages("", "", ""))
    call = ExpectedCalls(
        calls=passages.count,
        input_characters=template + mean + passages.mean_shown,
        output_tokens_most=CONTEXT_TOKENS,
    )
    return (call,)
