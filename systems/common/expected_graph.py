"""Expected model calls of building and searching a graph."""

from harness.core.records import Context, ExpectedCalls, Work
from harness.protocols import Workload
from systems.common.expected_calls import (
    PassageFacts,
    also_embedding,
    expected_question,
    filler,
    typical_question,
)
from systems.common.extraction import triplets_question
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_search.question_entities import names_question
from systems.common.graph_search.retrieval import GraphSearchParams

_LANGCHAIN_PROMPT = 4000
"""Characters that LLMGraphTransformer's instructions and examples add to a passage."""
_LANGCHAIN_TOKENS = 1500
"""`max_tokens` of its replies, see `langchain_extraction`."""
_TRIPLET_CHARACTERS = 65
"""Of a triplet: two names, a relation and their brackets. Seen on news: 37 to 102."""
_SENTENCE_CHARACTERS = 150
"""Of a sentence that states one, with its publisher and date."""


def expected_search(
    answer: GraphSearchParams, passages: PassageFacts, workload: Workload
) -> tuple[list[Context], list[ExpectedCalls], str]:
    """The contexts for the generator, the calls before it answers, and a note: the graph's answers are taken to be
    full.
    """
    length = _TRIPLET_CHARACTERS + (_SENTENCE_CHARACTERS if answer.rank == "meaning" else 0)
    shown = [] if answer.mode == "triplets" else passages.retrieved(answer.top_k)
    note = f"every query is taken to find {answer.max_triplets} triplets, the most there can be"
    contexts = [*shown, *filler(answer.max_triplets, length)]
    return contexts, names_calls(answer.names_by, workload), note


def names_calls(names_by: str, workload: Workload) -> list[ExpectedCalls]:
    """The call for the names in a question, if a model lists them."""
    if names_by != "model":
        return []
    return [expected_question(names_question(typical_question(workload.queries)))]


def expected_graph(index: GraphIndexParams, passages: PassageFacts) -> tuple[Work, tuple[str, ...]]:
    """The expected cost of the graph of these passages, with notes."""
    extraction, notes = extraction_work(passages, index.extractor)
    embedding = passages.embedding(index.headings is True)
    if index.statements:
        sentences = round(passages.count * passages.mean_characters / _SENTENCE_CHARACTERS)
        embedding = also_embedding(embedding, sentences, _SENTENCE_CHARACTERS)
        notes = (*notes, "every sentence of the corpus is taken to state a triplet, and to be embedded")
    return embedding.model_copy(update={"calls": extraction}), notes


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
