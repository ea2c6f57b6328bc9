"""LightRAG's expected model calls. The number of entities is known only once the graph exists."""

from harness.core.records import Context, Expected, ExpectedCalls, Work
from harness.protocols import Workload
from systems.common.expected_calls import PassageFacts, answer_call, passages_of, search, typical_question
from systems.lightrag.params import KEYWORDS_MAX_TOKENS, AnswerParams, IndexParams

_EXTRACTION_CHARACTERS = 9_000
"""Characters of the library's instructions for one chunk."""
_KEYWORDS_CHARACTERS = 3_000
"""Characters of the library's instructions for the keywords of a question."""
_RECORDS_A_CHUNK = 20
"""Entities and relations that a capable model finds in a chunk of typical size."""
_RECORD_CHARACTERS = 150
_CHARACTERS_A_TOKEN = 4
_INSTRUCTIONS_TOKENS = 1_200
"""Tokens that the library reserves in a prompt for its own instructions, which are not sent."""


def expect(index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    passages = passages_of(workload.corpus, index)
    return Expected(
        index=_index(passages, index),
        query=_query(passages, answer, workload),
        most=f"{'a chunk needs two calls, ' if index.max_gleaning else ''}every prompt is full",
        notes=(
            f"LightRAG's own prompts are assumed to have {_EXTRACTION_CHARACTERS:,} characters, a chunk "
            f"{_RECORDS_A_CHUNK} entities and relations",
            "calls that summarise the descriptions of frequent entities are not counted",
        ),
    )


def _index(passages: PassageFacts, index: IndexParams) -> Work:
    if not passages.count:
        return Work()
    call = ExpectedCalls(
        calls=passages.count * (1 + index.max_gleaning),
        input_characters=_EXTRACTION_CHARACTERS + passages.mean_characters,
        output_tokens_most=index.reply_tokens,
    )
    records = passages.count * _RECORDS_A_CHUNK
    chunks = passages.embedding()
    return Work(
        calls=(call,),
        embedded_texts=chunks.embedded_texts + records,
        embedded_characters=chunks.embedded_characters + records * _RECORD_CHARACTERS,
    )


def _query(passages: PassageFacts, answer: AnswerParams, workload: Workload) -> Work:
    calls, searches = [], 1
    room = max(0, answer.context_tokens - _INSTRUCTIONS_TOKENS) * _CHARACTERS_A_TOKEN
    if answer.mode == "naive":
        shown = passages.retrieved(min(answer.chunk_top_k, max(1, int(room / max(passages.mean_shown, 1)))))
    else:
        question = typical_question(workload.queries)
        length = _KEYWORDS_CHARACTERS + len(question)
        calls = [ExpectedCalls(calls=1, input_characters=length, output_tokens_most=KEYWORDS_MAX_TOKENS)]
        searches = 2 if answer.mode in ("local", "global") else 3
        shown = [Context(text="x" * room, doc_ids=())]
    return search(workload, [*calls, answer_call(workload, shown)], searches=searches)
