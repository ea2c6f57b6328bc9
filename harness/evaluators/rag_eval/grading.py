"""Grades from a judge: one call for as many metrics as are asked at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.evaluators.rag_eval.criteria import GradeName
from harness.evaluators.rag_eval.grades import HIGHEST, LOWEST, grade_in, part_of
from harness.evaluators.rag_eval.prompts import Material, messages, schema, spoken
from harness.llm_utils.structured_output import Question, Unreadable, ask_json
from harness.protocols import ChatModel

MAX_TOKENS = 100
"""Five names with a number each take about 50; one grade may come in a sentence."""
_SHOWN = 60

Grades = Mapping[str, int]
"""By the names of metrics."""


@dataclass(frozen=True)
class Graded:
    """What came of one question about an answer."""

    grades: Grades
    missing: str = ""
    """Why a metric has no grade; empty where all have one."""

    def of(self, name: GradeName) -> int:
        """Its grade, 1 to 5; Unreadable where the judge gave none."""
        if name not in self.grades:
            raise Unreadable(self.missing)
        return self.grades[name]


async def ask_grades(judge: ChatModel, texts: Material, metrics: Sequence[GradeName]) -> Graded:
    """The grades of these metrics, in one call; in two where the first reply leaves any out.

    A grade that the first reply states stands, the second fills in. Raises what the judge's client raises.
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


def grades_in(reply: str, metrics: Sequence[GradeName]) -> dict[str, int]:
    """The grades that a reply states; a metric of which it states none, or several, is left out."""
    grades: dict[str, int] = {}
    for name in metrics:
        said = reply if len(metrics) == 1 else part_of(reply, name, metrics)
        try:
            grades[name] = grade_in(said, name)
        except ValueError:
            continue
    return grades
