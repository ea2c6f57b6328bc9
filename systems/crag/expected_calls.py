"""Expected model calls of crag, if every question is rewritten and searched again."""

from typing import Any

from harness.core.records import Expected, ExpectedCalls
from harness.llm_utils.structured_output import Question
from harness.protocols import Workload
from systems.common.expected_calls import answer_call, characters_of, passages_of, search, typical_question
from systems.common.passages import PassageParams, expected_index
from systems.common.prompts.grading import grading, rewriting
from systems.crag.params import AnswerParams

_SENTENCE_CHARACTERS = 95
"""Of a sentence. Seen: 99 in the demo, 93 in MultiHop-RAG."""


def expect(index: PassageParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. An upper bound. Second calls for unreadable replies are not counted."""
    passages, question = passages_of(workload.corpus, index), typical_question(workload.queries)
    found, long = passages.retrieved(answer.top_k), _SENTENCE_CHARACTERS * answer.strip_sentences
    strips = [one.text[at : at + long] for one in found for at in range(0, len(one.text), long)]
    calls, graded = [answer_call(workload, [*found, *found], answer.prompts)], 2 * len(strips)
    if answer.grader == "model":
        calls, graded = [_call(grading(question, [("", strips)]), 2), _call(rewriting(question), 1), *calls], 0
    # Each grading by rules embeds the question, too.
    searches = answer.is_dense + answer.second.is_dense + 2 * (answer.grader == "rules")
    work = search(workload, calls, searches=searches)
    texts, characters = work.embedded_texts + graded, work.embedded_characters + graded * long
    return Expected(
        index=expected_index(passages, index),
        query=work.model_copy(update={"embedded_texts": texts, "embedded_characters": characters}),
        most="every question is searched a second time, and every strip passes",
    )


def _call(asked: Question[Any], calls: int) -> ExpectedCalls:
    prompt = characters_of(asked.messages)
    return ExpectedCalls(calls=calls, input_characters=prompt, output_tokens_most=asked.max_tokens)
