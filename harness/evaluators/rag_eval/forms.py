"""Requests of grades from a judge: one call for all metrics together, or one form a metric.

The form is that of G-Eval (Liu et al. 2023) and RAG-Eval (Akindele et al. 2025): a task, the criterion with its
scale, numbered steps, the texts, and last the name of the metric; the reply is a number and nothing else. The
sentences are ours, with the content of RAG-Eval's in the same order.
"""

from collections.abc import Mapping, Sequence

from harness.evaluators.rag_eval.criteria import Criterion, GradeName, Material, messages, schema, spoken
from harness.evaluators.rag_eval.grades import HIGHEST, LOWEST, grade_in, part_of
from harness.llm_utils.answer_contract import RULE, Tag, quoted
from harness.llm_utils.structured_output import Question, Unreadable, ask_json
from harness.protocols import ChatModel, Message

_SCALE = f"({LOWEST}-{HIGHEST})"
_MAX_TOKENS_OF_SCORE = 20
"""A number, or a short sentence around it."""
_REMINDER = f"Your last reply was not a score. Reply with one number from {LOWEST} to {HIGHEST} and nothing else."


RAG_EVAL: Mapping[GradeName, Criterion] = {
    "query_relevance": Criterion(
        "how well the response answers what the user asked. A relevant response gives the answer itself and "
        "leaves out what is unrelated or said twice.",
        (
            "Read the query, the source document and the response.",
            "Say what the user mainly wants to know.",
            "Judge whether the response gives it.",
            f"Choose a score from {LOWEST} to {HIGHEST} for relevance.",
        ),
    ),
    "factual_accuracy": Criterion(
        "whether the facts of the response are right, as far as the source document tells.",
        (
            "Hold the response against the source document.",
            "Find facts that differ, wrong details, and claims that were made up.",
            f"Choose a score from {LOWEST} to {HIGHEST} by how well response and source agree.",
            "Look again, and lower the score for each fact or reference that the source does not contain.",
        ),
    ),
    "coverage": Criterion(
        "whether the response contains all main points of the source document that matter for the query.",
        (
            "Read the query and the source document.",
            "Check which of the points that answer the query the response contains.",
            f"Choose a score from {LOWEST} to {HIGHEST} for coverage.",
            "Look again, and lower the score if an important detail of the source is missing.",
        ),
    ),
    "coherence": Criterion(
        "whether the response is well organised, and one idea follows from another. What it takes from the source "
        "should form one answer to the query.",
        (
            "Read the response with care, and judge how its ideas are arranged.",
            "Check whether the parts from the source document were joined into one response.",
            f"Choose a score from {LOWEST} to {HIGHEST} for coherence.",
        ),
    ),
    "fluency": Criterion(
        "how good the language of the response is: grammar, punctuation and the form of its sentences.",
        (
            "Read the response, and judge whether it is easy to read, correct and fluent.",
            f"Choose a score from {LOWEST} to {HIGHEST} for fluency.",
        ),
    ),
}


def form_messages(task: str, name: str, form: Criterion, texts: Mapping[str, tuple[Tag, str]]) -> list[Message]:
    """The request for the score of one metric; `texts`: title -> tag and text, in the order of the form."""
    title = spoken(name).capitalize()
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
        return grade_in(await judge.complete(messages, max_tokens=_MAX_TOKENS_OF_SCORE))
    except ValueError:
        reply = await judge.complete(reminded, max_tokens=_MAX_TOKENS_OF_SCORE)
    try:
        return grade_in(reply)
    except ValueError as error:
        raise Unreadable(str(error)) from error


_MAX_TOKENS_OF_GRADES = 100
"""Five names with numbers need about 50; a single grade may come in a sentence."""
_SHOWN = 60

Graded = tuple[Mapping[str, int], str]
"""The grades by metric, and why metrics have none; empty if all have one."""


async def ask_grades(judge: ChatModel, texts: Material, metrics: Sequence[GradeName]) -> Graded:
    """The grades of these metrics in one call, or two if the first reply misses any.

    The second reply only fills in missing grades. Raises the errors of the judge's client.
    """
    grades: dict[str, int] = {}

    def parse(reply: str) -> Mapping[str, int]:
        grades.update((name, grade) for name, grade in grades_in(reply, metrics).items() if name not in grades)
        if missing := ", ".join(spoken(name) for name in metrics if name not in grades):
            raise ValueError(f"no grade from {LOWEST} to {HIGHEST} for {missing} in {reply[:_SHOWN]!r}")
        return grades

    try:
        await ask_json(
            judge, Question(messages(texts, metrics), schema(metrics), dict, _MAX_TOKENS_OF_GRADES, parse)
        )
    except Unreadable as error:
        return grades, str(error)
    return grades, ""


_TASK = (
    "You will read the query of a user, the source document that was used to answer it, and the response of a "
    "language model. Evaluate the response on one metric."
)


async def ask_form(judge: ChatModel, texts: Material, name: GradeName) -> Graded:
    """The grade of one metric, asked for in the form that RAG-Eval prints; otherwise as `ask_grades`."""
    shown: dict[str, tuple[Tag, str]] = {
        "User query": ("query", texts.query),
        "Source document": ("contexts", texts.contexts),
        "Generated response": ("answer", texts.answer),
    }
    try:
        return {name: await ask_score(judge, form_messages(_TASK, name, RAG_EVAL[name], shown))}, ""
    except Unreadable as error:
        return {}, str(error)


def grades_in(reply: str, metrics: Sequence[GradeName]) -> dict[str, int]:
    """The grades in a reply, without metrics that have none or several."""
    grades: dict[str, int] = {}
    for name in metrics:
        said = reply if len(metrics) == 1 else part_of(reply, name, metrics)
        try:
            grades[name] = grade_in(said, name)
        except ValueError:
            continue
    return grades
