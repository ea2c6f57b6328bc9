"""Extracts entities and triplets from chunks: by a parser, or by a model with one of two prompts."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from harness.core.errors import HarnessError, need
from harness.core.records import ExpectedCalls, Triplet
from harness.extraction.entity_names import one_line
from harness.extraction.model_triplets import read_triplets
from harness.extraction.nlp import NlpExtractor
from harness.extraction.types import EVERYTHING, Focus, TextGraph
from harness.llm_utils.concurrency import Progress, map_bounded
from harness.llm_utils.structured_output import Question, Unreadable, ask_json, list_of, object_of, string_of
from harness.protocols import ChatModel, Message
from systems.common.chunking import Chunk
from systems.common.expected_calls import PassageFacts, expected_question

_CONCURRENCY = 8
"""Maximum concurrent calls; the limiter of the model role may allow fewer."""


def english_only(params: Any) -> str:
    """`SystemSpec.english_only` for index parameters with an `extractor`."""
    if params.extractor != "nlp":
        return ""
    return "the parser of index.extractor=nlp: let the model extract (--set index.extractor=bounded)"


def check_langchain() -> None:
    """Raise MissingDependency if the packages are not installed; fast, because it imports nothing."""
    need("extractor-langchain", "langchain_core", "langchain_experimental")


async def extract(
    extractor: str,
    chunks: Sequence[Chunk],
    chat: ChatModel | None,
    progress: Progress,
    focus: Focus = EVERYTHING,
    pipeline: str | None = None,
) -> list[TextGraph]:
    """One TextGraph for each chunk, in the same order.

    `nlp` needs no generator and parses the texts, without the headings that models read before them; the others
    (`bounded`, `langchain`) ask `chat`. A chunk that fails (an invalid reply, an HTTP error of this call only) is
    a TextGraph with its `failure`, and the others continue. A HarnessError is raised: no later call could succeed.
    """
    if extractor == "nlp":
        return await NlpExtractor(pipeline=pipeline, progress=progress).extract([chunk.text for chunk in chunks])
    if chat is None:
        raise RuntimeError("this extractor needs a generator; planning should have rejected the run")
    read: Callable[[str], Awaitable[TextGraph]]
    if extractor == "langchain":
        from systems.common.langchain_extraction import LangChainExtractor

        read = LangChainExtractor(chat, focus).read
    else:
        read = partial(_ask_triplets, chat, focus)

    async def one(chunk: Chunk) -> TextGraph:
        try:
            return await read(chunk.shown)
        except HarnessError:
            raise
        except Unreadable as error:
            return TextGraph(failure=str(error), asked_again=True)
        except Exception as error:
            # Only this call failed (a refused prompt, a server error after all retries): the others continue.
            return TextGraph(failure=f"{type(error).__name__}: {one_line(str(error))[:200]}")

    return await map_bounded(one, chunks, _CONCURRENCY, progress)


# `bounded`: one schema-constrained call with bounded lists, for small local models. With an unbounded list a small
# model may run on until its token limit, and the reply is lost.

MAX_TRIPLETS = 10
MAX_NAME, MAX_RELATION, MAX_DATE = 60, 40, 40
"""Maximum characters."""
TRIPLETS_TOKENS = 700
"""Ten triplets of maximum length, with their brackets."""
_TASK = (
    f"List up to {MAX_TRIPLETS} facts that the text states, the most important first, as triplets: "
    "head (who or what it is about), relation (a verb or short phrase), tail (who, what, where or when). "
    "Head and tail are names as the text writes them: people, organisations, places, products, events, dates, "
    "amounts. Never he, she, it or they. State nothing that the text does not say."
)


def triplets_question(text: str, focus: Focus = EVERYTHING) -> Question[TextGraph]:
    relation = {"type": "string", "enum": list(focus.relation_types)} if focus.relation_types else None
    parts = {
        "head": string_of(MAX_NAME),
        "relation": relation or string_of(MAX_RELATION),
        "tail": string_of(MAX_NAME),
    }
    dated = {"date": string_of(MAX_DATE)} if focus.dates else {}
    schema = object_of({"triplets": list_of(object_of({**parts, **dated}), MAX_TRIPLETS)})
    task = _task(focus)
    messages = [
        Message("system", f"You read texts and list the facts they state.\n{task}"),
        Message("user", f"Text:\n\n{text}\n\n{task}"),
    ]
    return Question(messages, schema, partial(_graph_in, focus), TRIPLETS_TOKENS)


def _task(focus: Focus) -> str:
    dated = ', "date": "..."' if focus.dates else ""
    rules = [_TASK]
    if focus.dates:
        rules.append("Add the date of a fact, as the text says it: when it happened or held, or an empty text.")
    if focus.entity_types:
        rules.append(f"Head and tail are of these kinds only: {', '.join(focus.entity_types)}.")
    if focus.relation_types:
        rules.append(
            f"The relation is one of these: {', '.join(focus.relation_types)}. Leave out all other facts."
        )
    form = f'{{"head": "...", "relation": "...", "tail": "..."{dated}}}'
    return f'{" ".join(rules)}\nReply with JSON only: {{"triplets": [{form}]}}'


async def _ask_triplets(chat: ChatModel, focus: Focus, text: str) -> TextGraph:
    answered = await ask_json(chat, triplets_question(text, focus))
    return replace(answered.value, asked_again=answered.asked_again)


def _graph_in(focus: Focus, reply: Mapping[str, Any]) -> TextGraph:
    triplets = read_triplets(reply.get("triplets"), MAX_TRIPLETS, _shortened)
    if wanted := {relation.casefold() for relation in focus.relation_types}:
        triplets = tuple(one for one in triplets if one.relation.casefold() in wanted)
    dates = _dates(reply["triplets"][:MAX_TRIPLETS]) if focus.dates else ()
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


_LANGCHAIN_PROMPT = 4000
"""Characters that LLMGraphTransformer's instructions and examples add to a passage."""
_LANGCHAIN_TOKENS = 1500
"""`max_tokens` of its replies, see `langchain_extraction`."""


def extraction_work(passages: PassageFacts, extractor: str) -> tuple[tuple[ExpectedCalls, ...], tuple[str, ...]]:
    """The calls of an extractor (`bounded`, `langchain`, `nlp`) over all passages, with notes.

    Second calls for unreadable replies are not counted.
    """
    if extractor == "nlp" or not passages.count:
        return (), ()
    if extractor == "langchain":
        length = _LANGCHAIN_PROMPT + passages.mean_shown
        call = ExpectedCalls(calls=passages.count, input_characters=length, output_tokens_most=_LANGCHAIN_TOKENS)
        return (call,), ("LangChain's own prompt is assumed to have 4,000 characters",)
    call = expected_question(triplets_question(""), passages.count)
    length = call.input_characters + passages.mean_shown
    return (call.model_copy(update={"input_characters": length}),), ()
