"""Is the answer right, and does the system know when it does not know? Normalised exact match, no model call.

accuracy = (1/N) * sum over queries of [answer = reference], after the normalisation in
`harness.evaluators.normalise`. No part of an answer earns credit, with one exception: where the reference is yes
or no, an answer that begins with a yes or no of its own ("No, the article ...") is that yes or no.

A *null query* is one whose reference answers are all abstentions: the corpus does not hold the answer.
hallucination_rate = null queries answered / null queries; false_abstention_rate = answerable queries refused /
answerable queries. An empty answer refuses nothing: on a null query it counts as answered.
"""

from collections.abc import Container, Iterable, Iterator, Sequence

from harness.evaluators.base import NO_GENERATOR, bounded
from harness.evaluators.normalise import abstains, canonical, leading_yes_no
from harness.protocols import Measure
from harness.records import Reference, RunRecord, Score

ACCURACY = Measure(
    name="accuracy",
    summary="share of answers equal to a reference answer after normalisation",
    failure_value=0.0,
    binary=True,
)
HALLUCINATION = Measure(
    name="hallucination_rate",
    summary="share of null queries that were answered",
    failure_value=1.0,
    higher_is_better=False,
    binary=True,
)
FALSE_ABSTENTION = Measure(
    name="false_abstention_rate",
    summary="share of answerable queries that were refused",
    failure_value=1.0,
    higher_is_better=False,
    binary=True,
)
_LONGEST_FORM = 60
_MOST_REFERENCES = 4


class AnswerEvaluator:
    """Normalised exact match, and what happens on queries that have no answer."""

    name = "answer"
    version = "1"
    measures: tuple[Measure, ...] = (ACCURACY, HALLUCINATION, FALSE_ABSTENTION)

    def not_applicable(self, reference: Reference, measure: Measure, *, has_generator: bool) -> str:
        """No generator, no reference answer, or a measure of the other kind of query."""
        if not has_generator:
            return NO_GENERATOR
        if not _answers(reference):
            return "the data set gives no reference answer"
        if measure == HALLUCINATION and not is_null(reference):
            return "the query is answerable"
        if measure == FALSE_ABSTENTION and is_null(reference):
            return "the query is a null query"
        return ""

    def evaluate(self, pairs: Sequence[tuple[Reference, RunRecord]]) -> Iterable[Score]:
        """Accuracy for each pair, and the one of the other two measures that applies."""
        for reference, record in pairs:
            answer = record.prediction.answer if record.prediction else None
            if answer is not None:
                yield from _scores(reference, record, answer)


EVALUATOR = AnswerEvaluator()


def is_null(reference: Reference) -> bool:
    """Whether the right answer to this query is that there is none."""
    answers = _answers(reference)
    return bool(answers) and all(map(abstains, answers))


def is_right(answer: str, references: Sequence[str]) -> bool:
    """Whether `answer` equals any of the reference answers after normalisation."""
    forms = {canonical(reference) for reference in references}
    return _form(answer, forms) in forms


def _form(answer: str, forms: Container[str]) -> str:
    """How the answer is compared: as its leading yes or no where a reference is that, else as a whole."""
    leading = leading_yes_no(answer)
    return leading if leading is not None and leading in forms else canonical(answer)


def _answers(reference: Reference) -> list[str]:
    return [answer for answer in reference.answers if canonical(answer)]


def _scores(reference: Reference, record: RunRecord, answer: str) -> Iterator[Score]:
    references = _answers(reference)
    forms = list(dict.fromkeys(map(canonical, references)))
    form, refused = _form(answer, forms), abstains(answer)
    shown = " or ".join(repr(bounded(one, _LONGEST_FORM)) for one in forms[:_MOST_REFERENCES])
    more = f" or {len(forms) - _MOST_REFERENCES} more" if len(forms) > _MOST_REFERENCES else ""
    compared = f"{bounded(form, _LONGEST_FORM)!r} against {shown}{more}"
    yield _score(record, ACCURACY, is_right(answer, references), compared)
    if is_null(reference):
        yield _score(record, HALLUCINATION, not refused, compared)
    else:
        yield _score(record, FALSE_ABSTENTION, refused, compared)


def _score(record: RunRecord, measure: Measure, holds: bool, explanation: str) -> Score:
    return Score(
        query_id=record.query_id,
        repeat=record.repeat,
        measure=measure.name,
        status="scored",
        value=float(holds),
        explanation=explanation,
    )
