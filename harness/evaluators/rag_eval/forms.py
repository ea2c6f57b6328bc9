"""Evaluation forms of G-Eval (Liu et al. 2023) and RAG-Eval (Akindele et al. 2025): one call per metric.

The form is that of the papers: a task, the criterion with its scale, numbered steps, the texts, and last the
name of the metric; the reply is a number and nothing else. RAG-Eval prints its criteria and steps; the sentences
here are ours, with the same content in the same order. For factual accuracy and coverage the last step is a
second review that lowers the score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.evaluators.rag_eval.criteria import GradeName
from harness.evaluators.rag_eval.grades import HIGHEST, LOWEST, grade_in
from harness.llm_utils.answer_contract import RULE, Tag, quoted
from harness.llm_utils.structured_output import Unreadable
from harness.protocols import ChatModel, Message

_SCALE = f"({LOWEST}-{HIGHEST})"
_MAX_TOKENS = 20
"""A number, or a short sentence around it."""
_REMINDER = f"Your last reply was not a score. Reply with one number from {LOWEST} to {HIGHEST} and nothing else."


@dataclass(frozen=True)
class Form:
    """The criterion and the steps of a metric."""

    asks: str
    steps: Sequence[str]


RAG_EVAL: Mapping[GradeName, Form] = {
    "query_relevance": Form(
        "how well the response answers what the user asked. A relevant response gives the answer itself and "
        "leaves out what is unrelated or said twice.",
        (
            "Read the query, the source document and the response.",
            "Say what the user mainly wants to know.",
            "Judge whether the response gives it.",
            f"Choose a score from {LOWEST} to {HIGHEST} for relevance.",
        ),
    ),
    "factual_accuracy": Form(
        "whether the facts of the response are right, as far as the source document tells.",
        (
            "Hold the response against the source document.",
            "Find facts that differ, wrong details, and claims that were made up.",
            f"Choose a score from {LOWEST} to {HIGHEST} by how well response and source agree.",
            "Look again, and lower the score for each fact or reference that the source does not contain.",
        ),
    ),
    "coverage": Form(
        "whether the response contains all main points of the source document that matter for the query.",
        (
            "Read the query and the source document.",
            "Check which of the points that answer the query the response contains.",
            f"Choose a score from {LOWEST} to {HIGHEST} for coverage.",
            "Look again, and lower the score if an important detail of the source is missing.",
        ),
    ),
    "coherence": Form(
        "whether the response is well organised, and one idea follows from another. What it takes from the source "
        "should form one answer to the query.",
        (
            "Read the response with care, and judge how its ideas are arranged.",
            "Check whether the parts from the source document were joined into one response.",
            f"Choose a score from {LOWEST} to {HIGHEST} for coherence.",
        ),
    ),
    "fluency": Form(
        "how good the language of the response is: grammar, punctuation and the form of its sentences.",
        (
            "Read the response, and judge whether it is easy to read, correct and fluent.",
            f"Choose a score from {LOWEST} to {HIGHEST} for fluency.",
        ),
    ),
}


def form_messages(task: str, name: str, form: Form, texts: Mapping[str, tuple[Tag, str]]) -> list[Message]:
    """The request for the score of one metric; `texts`: title -> tag and text, in the order of the form."""
    title = name.replace("_", " ").capitalize()
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(form.steps, start=1))
    shown = "\n\n".join(f"{heading}:\n{quoted(tag, text)}" for heading, (tag, text) in texts.items())
    asked = (
        f"{task} {RULE}\n\nEvaluation criteria:\n{title} {_SCALE}: {form.asks}\n\nEvaluation steps:\n{steps}\n\n"
        f"{shown}\n\nEvaluation form (a score from {LOWEST} to {HIGHEST} and nothing else):\n- {title}:"
    )
    return [Message("user", asked)]


async def ask_score(judge: ChatModel, messages: Sequence[Message]) -> int:
    """The score that the judge states; it is asked a second time if there is none. Raises Unreadable after that,
    and the errors of the judge's client.
    """
    *before, last = messages
    reminded = [*before, last._replace(content=f"{last.content}\n\n{_REMINDER}")]
    try:
        return grade_in(await judge.complete(messages, max_tokens=_MAX_TOKENS))
    except ValueError:
        reply = await judge.complete(reminded, max_tokens=_MAX_TOKENS)
    try:
        return grade_in(reply)
    except ValueError as error:
        raise Unreadable(str(error)) from error
