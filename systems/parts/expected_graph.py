"""What the extraction of a graph expects to ask of a model."""

from harness.records import ExpectedCalls
from systems.parts.expected import PassageFacts, characters_of
from systems.parts.prompts.triplets import MAX_TOKENS, triplets_messages

_LANGCHAIN_PROMPT = 4000
"""Characters that LLMGraphTransformer's instructions and examples add to a passage."""
_LANGCHAIN_TOKENS = 1500
"""`max_tokens` of its replies, see `extraction.langchain`."""


def extraction_work(passages: PassageFacts, extractor: str) -> tuple[tuple[ExpectedCalls, ...], tuple[str, ...]]:
    """The calls of an extractor (`bounded`, `langchain`, `nlp`) over all passages, and what is to be said of them.

    A chunk whose reply cannot be read is asked for twice; that is not counted.
    """
    if extractor == "nlp" or not passages.count:
        return (), ()
    if extractor == "langchain":
        length = _LANGCHAIN_PROMPT + passages.mean_shown
        call = ExpectedCalls(calls=passages.count, input_characters=length, output_tokens_most=_LANGCHAIN_TOKENS)
        return (call,), ("LangChain's own prompt is taken to have 4,000 characters",)
    prompt = characters_of(triplets_messages("")) + passages.mean_shown
    return (ExpectedCalls(calls=passages.count, input_characters=prompt, output_tokens_most=MAX_TOKENS),), ()
