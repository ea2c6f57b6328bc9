"""Summaries of texts: sentences with frequent words, or a model's."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.scripts import bm25_terms
from harness.llm_utils.answer_contract import RULE, quoted
from harness.protocols import ChatModel, Message
from systems.common.chunking import Chunk
from systems.common.headings import MOST_CITED, origin_of_chunk, with_origins
from systems.common.sentences import sentence_spans
from systems.common.token_estimate import clip, count_tokens
from systems.common.wrapped_libraries import Guard

_WORDS_A_TOKEN = 0.7
_ROLE = f"You summarise passages of a collection of documents. {RULE}"
_TASK = (
    "Write a summary of these passages in one paragraph of at most {words} words. Keep the names, sources, dates "
    "and amounts that matter, and state nothing that the passages do not say. Reply with the summary alone."
)


@dataclass(frozen=True)
class Sentence:
    """A sentence with the documents that state it."""

    text: str
    doc_ids: tuple[str, ...]
    origin: str = ""
    """Source and date, if the corpus has them."""

    @property
    def shown(self) -> str:
        return with_origins(self.text, [self.origin])


def sentences_of(chunk: Chunk) -> tuple[Sentence, ...]:
    origin, ids = origin_of_chunk(chunk), (chunk.span.doc_id,)
    return tuple(Sentence(chunk.text[start:end], ids, origin) for start, end in sentence_spans(chunk.text))


def cited(sentences: Sequence[Sentence]) -> list[str]:
    """The documents that state most of them."""
    counted = Counter(doc_id for sentence in sentences for doc_id in sentence.doc_ids)
    return [doc_id for doc_id, _ in counted.most_common(MOST_CITED)]


class SummaryWriter:
    """Writes summaries by rules, or with a model and by rules where that fails."""

    def __init__(self, chat: ChatModel | None, tokens: int, prompt_tokens: int) -> None:
        """`chat` None: by rules. `tokens`, `prompt_tokens`: maximum of a summary, and of the texts in a prompt."""
        self._chat = chat
        self._tokens = tokens
        self._prompt_tokens = prompt_tokens
        self.guard = Guard()
        self.failed = 0
        """Number of summaries that the model failed to write."""

    async def write(self, texts: Sequence[str], sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
        """The summary of texts with these sentences; call `guard.check` behind the last one."""
        chat = self._chat
        if chat is not None:
            messages = summary_messages(clip("\n\n".join(texts), self._prompt_tokens), self._tokens)
            reply = await self.guard.run(lambda: chat.complete(messages, max_tokens=self._tokens)) or ""
            ids = tuple(cited(sentences))
            if said := tuple(Sentence(reply[start:end], ids) for start, end in sentence_spans(reply)):
                return said
            self.failed += 1
        # Neighbouring chunks repeat sentences.
        distinct = list({sentence.text: sentence for sentence in sentences}.values())
        costs = [count_tokens(sentence.shown) for sentence in distinct]
        chosen = frequent_sentences([sentence.text for sentence in distinct], costs, self._tokens)
        return tuple(distinct[number] for number in chosen)


def summary_messages(material: str, tokens: int) -> list[Message]:
    task = _TASK.format(words=round(tokens * _WORDS_A_TOKEN))
    return [Message("system", _ROLE), Message("user", f"{quoted('passages', material)}\n\n{task}")]


def frequent_sentences(sentences: Sequence[str], costs: Sequence[int], budget: int) -> list[int]:
    """Ascending numbers of at least one sentence, and of more while their costs fit into the budget, by SumBasic
    (Nenkova & Vanderwende 2005).

    The sentence with the highest mean probability of its words is chosen, among those with the most probable word;
    then the probabilities of its words are squared, so that the next one says something else.
    """
    terms = bm25_terms(sentences)
    counts = Counter(term for of_sentence in terms for term in of_sentence)
    probability = {term: count / counts.total() for term, count in counts.items()}
    left = [number for number, of_sentence in enumerate(terms) if of_sentence]
    chosen: list[int] = []
    while left:
        # Ties: the first word of the alphabet, the first sentence.
        top = min({term for number in left for term in terms[number]}, key=lambda term: (-probability[term], term))
        among = [number for number in left if top in terms[number]]
        best = max(among, key=lambda number: sum(map(probability.__getitem__, terms[number])) / len(terms[number]))
        left.remove(best)
        if costs[best] <= budget or not chosen:
            chosen.append(best)
            budget -= costs[best]
            probability.update({term: probability[term] ** 2 for term in terms[best]})
    return sorted(chosen) or list(range(len(sentences[:1])))
