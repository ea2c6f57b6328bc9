"""Requests grades from a judge: one call for all metrics that are requested together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.evaluators.rag_eval.criteria import GradeName
from harness.evaluators.rag_eval.forms import RAG_EVAL, ask_score, form_messages
from harness.evaluators.rag_eval.grades import HIGHEST, LOWEST, grade_in, part_of
from harness.evaluators.rag_eval.prompts import Material, messages, schema, spoken
from harness.llm_utils.answer_contract import Tag
from harness.llm_utils.structured_output import Question, Unreadable, ask_json
from harness.protocols import ChatModel

MAX_TOKENS = 100
"""Five names with numbers need about 50; a single grade may come in a sentence."""
_SHOWN = 60

Grades = Mapping[str, int]
"""Metric name -> grade."""


@dataclass(frozen=True)
class Graded:
    """The grades from one request about an answer."""

    grades: Grades
    missing: str = ""
    """Why metrics have no grade; empty if all have one."""

    def of(self, name: GradeName) -> int:
        """The grade, 1 to 5; raises Unreadable if the judge gave none."""
        if name not in self.grades:
            raise Unreadable(self.missing)
        return self.grades[name]


async def ask_grades(judge: ChatModel, texts: Material, metrics: Sequence[GradeName]) -> Graded:
    """The grades of these metrics in one call, or two if the first reply misses any.

    The second reply only fills in missing grades. Raises the errors of the judge's client.
    """
    grades: dict[str, int] = {}

    def parse(reply: str) -> Grades:
        grades.update((name, grade) for name, grade in grades_in(reply, metrics).items() if name not in grades)
        if missing := ", ".join(spoken(name) for name in metrics if name not in grades):
            raise ValueError(f"no grade from {LOWEST} to {HIGHEST} for {missing} in {reply[:_SHOWN]!r}")
        return grades

    try:
        await ask_json(judge, Question(messages(texts, metrics), schema(metrics), dict, MAX_TOKENS, parse))
    except Unreadable as error:
        return Graded(grades, str(error))
    return Graded(grades)


_FORM_TASK = (
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
        return Graded({name: await ask_score(judge, form_messages(_FORM_TASK, name, RAG_EVAL[name], shown))})
    except Unreadable as error:
        return Graded({}, str(error))


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
