"""Expected model calls of evidence: those of kg, then the steps of each answer and their evidence."""

from harness.core.records import Expected, ExpectedCalls
from harness.llm_utils.answer_contract import answer_form
from harness.llm_utils.logprob_entailment import entailment_messages
from harness.protocols import BY_GENERATOR, Workload
from systems.common.expected_calls import (
    also_embedding,
    answer_call,
    expected_call,
    passages_of,
    search,
    typical_question,
)
from systems.common.expected_graph import expected_graph, expected_search
from systems.common.graph_index import GraphIndexParams
from systems.common.prompts.logic_steps import LONGEST_STEP, Listed, reasons_messages, reply_tokens
from systems.evidence.params import AnswerParams

_SENTENCE = "x" * 150
"""A sentence of typical length."""


def expect(index: GraphIndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Assumes that every question is answered, with the maximum number of steps."""
    passages = passages_of(workload.corpus, index)
    graph, notes = expected_graph(index, passages)
    contexts, before, note = expected_search(answer, passages, workload)
    searches = int(answer.by_meaning)
    together = answer.steps == "with_answer"
    listed: Listed = "evidence" if answer.evidence == "direct" else "steps"
    known = None if together else "x" * 20
    reasons = reasons_messages(
        listed,
        typical_question(workload.queries),
        contexts,
        answer.max_steps,
        known,
        answer_form(workload.answer_style),
    )
    calls = [
        *before,
        *([] if together else [answer_call(workload, contexts, answer.prompts)]),
        expected_call(reasons, reply_tokens(listed, answer.max_steps, together)),
        *_letters(answer),
    ]
    query = search(workload, calls, searches=searches)
    most = f"{answer.max_steps} sentences named for every answer"
    if answer.evidence == "graph":
        looked_at = 0 if answer.pick == "chunk" else answer.max_steps * answer.step_chunks
        sentences = round(looked_at * passages.mean_characters / len(_SENTENCE))
        query = search(workload, calls, searches=searches + answer.max_steps)
        query = also_embedding(query, sentences, len(_SENTENCE))
        most = f"{answer.max_steps} steps to every answer"
    return Expected(index=graph, query=query, most=most, notes=(*notes, note))


def _letters(answer: AnswerParams) -> list[ExpectedCalls]:
    """One call per sentence, if the generator scores sentences."""
    if answer.inference != BY_GENERATOR:
        return []
    prompt = entailment_messages(_SENTENCE, "x" * (LONGEST_STEP // 2))
    groups = answer.step_chunks if answer.sentence_per == "chunk" else 1
    calls = answer.max_steps * groups * answer.step_sentences
    return [expected_call(prompt, 1, calls)]
