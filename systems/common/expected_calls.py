"""Arithmetic shared by the `expect` functions of systems.

Prompts are measured on the real templates, filled with texts of the expected length.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from harness.core.records import Context, ExpectedCalls, Query, Work
from harness.llm_utils.structured_output import Question
from harness.protocols import Corpus, Message, Workload
from systems.common.answers import Prompts, prompt_of
from systems.common.chunking import ChunkParams, iter_chunks

_SAMPLE = 50


@dataclass(frozen=True)
class PassageFacts:
    count: int
    mean_characters: float
    """Mean characters of a chunk's own text, as embedded."""
    mean_shown: float
    """Mean characters of a passage as shown to a model, with its heading."""
    sample: tuple[tuple[str, str], ...] = ()
    """Some passages, evenly spaced: a chunk's own text, and with its heading."""

    def embedding(self, headings: bool = False) -> Work:
        """Every passage embedded once, with or without its heading."""
        mean = self.mean_shown if headings else self.mean_characters
        return Work(
            embedded_texts=self.count,
            embedded_characters=self.count * mean,
            sample=tuple(texts[headings] for texts in self.sample),
            sampled_texts=self.count,
        )

    def retrieved(self, k: int) -> list[Context]:
        """The k passages of a search, fewer if the corpus has fewer."""
        return filler(min(k, self.count), self.mean_shown)


def passages_of(corpus: Corpus, params: ChunkParams) -> PassageFacts:
    """The passages of `corpus` with `params`; computed once per corpus in a process."""
    fields = ChunkParams.model_fields.keys()
    found = _passages_of(corpus, ChunkParams.model_validate({name: getattr(params, name) for name in fields}))
    return found if params.shows_headings else replace(found, mean_shown=found.mean_characters)


@lru_cache(maxsize=16)
def _passages_of(corpus: Corpus, params: ChunkParams) -> PassageFacts:
    count = characters = shown = 0
    sample, apart = list[tuple[str, str]](), 1
    for chunk in iter_chunks(corpus.documents, params):
        if count % apart == 0:
            sample.append((chunk.text, chunk.shown))
        if len(sample) == 2 * _SAMPLE:
            sample, apart = sample[::2], 2 * apart
        count += 1
        characters += len(chunk.text)
        shown += len(chunk.shown)
    return PassageFacts(count, characters / max(count, 1), shown / max(count, 1), tuple(sample))


def filler(count: int, characters: float) -> list[Context]:
    return [Context(text="x" * round(characters), doc_ids=())] * count


def typical_question(queries: Sequence[Query]) -> str:
    """A text of the mean length of the questions, whatever its content."""
    return "x" * round(sum(len(query.text) for query in queries) / max(len(queries), 1))


def characters_of(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)


def expected_call(messages: Sequence[Message], most_tokens: int, calls: int = 1) -> ExpectedCalls:
    """Calls with this prompt."""
    return ExpectedCalls(calls=calls, input_characters=characters_of(messages), output_tokens_most=most_tokens)


def expected_question(question: Question[Any], calls: int = 1) -> ExpectedCalls:
    """Calls that ask it; second calls for unreadable replies are not counted."""
    return expected_call(question.messages, question.max_tokens, calls)


def also_embedding(work: Work, texts: float, characters: float) -> Work:
    """The work and more texts that are embedded, of so many characters each."""
    more = {
        "embedded_texts": work.embedded_texts + texts,
        "embedded_characters": work.embedded_characters + texts * characters,
    }
    return work.model_copy(update=more)


def answer_call(workload: Workload, contexts: Sequence[Context], prompts: Prompts = "shared") -> ExpectedCalls:
    """The one generation of the answer."""
    messages = prompt_of(prompts, typical_question(workload.queries), contexts, workload.answer_style)
    return expected_call(messages, workload.answer_tokens)


def search(workload: Workload, calls: Sequence[ExpectedCalls], searches: int = 1) -> Work:
    """The work of a query that is embedded `searches` times, with these calls."""
    length = len(typical_question(workload.queries))
    return Work(calls=tuple(calls), embedded_texts=searches, embedded_characters=searches * length)
