"""What kg expects to ask of models: a graph of every chunk, then one generation a query."""

from harness.protocols import Workload
from harness.records import Expected, ExpectedCalls, Work
from systems.kg.params import AnswerParams, answer_roles
from systems.parts.expected import answer_call, characters_of, filler, passages_of, search, typical_question
from systems.parts.expected_graph import extraction_work
from systems.parts.graph_index import GraphIndexParams
from systems.parts.prompts.names import MAX_TOKENS, names_messages

_TRIPLET_CHARACTERS = 65
"""Of a triplet: two names, a relation and their brackets. Seen on news: 37 to 102."""
_SENTENCE_CHARACTERS = 150
"""Of a sentence that states one, with its publisher and date."""


def expect(index: GraphIndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. The graph's answers are taken to be full: `max_triplets` for every query."""
    passages = passages_of(workload.corpus, index)
    extraction, notes = extraction_work(passages, index.extractor)
    embedding = passages.embedding(index.headings)
    if index.statements:
        sentences = round(passages.count * passages.mean_characters / _SENTENCE_CHARACTERS)
        embedding = Work(
            embedded_texts=embedding.embedded_texts + sentences,
            embedded_characters=embedding.embedded_characters + sentences * _SENTENCE_CHARACTERS,
        )
        notes = (*notes, "every sentence of the corpus is taken to state a triplet, and to be embedded")
    length = _TRIPLET_CHARACTERS + (_SENTENCE_CHARACTERS if answer.rank == "meaning" else 0)
    shown = [] if answer.mode == "triplets" else passages.retrieved(answer.top_k)
    contexts = [*shown, *filler(answer.max_triplets, length)]
    calls = [answer_call(workload, contexts)]
    if answer.names_by == "model":
        prompt = characters_of(names_messages(typical_question(workload.queries)))
        calls.insert(0, ExpectedCalls(calls=1, input_characters=prompt, output_tokens_most=MAX_TOKENS))
    return Expected(
        index=embedding.model_copy(update={"calls": extraction}),
        query=search(workload, calls, searches=int("embedder" in answer_roles(index, answer))),
        most="" if answer.rank == "words" else "as many sentences as triplets, none of which stands in a passage",
        notes=(*notes, f"every query is taken to find {answer.max_triplets} triplets, the most there can be"),
    )
