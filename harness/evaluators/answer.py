"""Is the answer right, and does the system know when it does not know? Comparison of texts, no model call.

accuracy = (1/N) * sum over queries of [answer = reference], after the normalisation in
`harness.evaluators.answer_normalisation`. No part of an answer earns credit, with one exception: if the reference
is yes or no, an answer that begins with a yes or no of its own ("No, the article ...") is that yes or no.

A *null query* is one whose reference answers are all abstentions: the corpus does not contain the answer.
hallucination_rate = null queries answered / null queries; false_abstention_rate = answerable queries on which the
answer abstains (`harness.evaluators.abstention`) / answerable queries. An empty answer does not abstain: on a null
query it counts as answered. A failed query is no abstention, so it is in neither number of false_abstention_rate.

`em`, `token_f1` (SQuAD's), `contains` and `accuracy_multihop_compat` (MultiHop-RAG's) are defined in
`harness.evaluators.token_overlap`. Like accuracy they apply to null queries too, and take the best of several
references.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from operator import mul

from harness.core.records import Reference, Score
from harness.evaluators.answer_normalisation import abstains, canonical, leading_yes_no
from harness.evaluators.score_preconditions import CaseEvaluator, stated_answers
from harness.evaluators.scores import bounded, scored
from harness.evaluators.token_overlap import contains, exact_match, shared_words, squad_form, token_f1
from harness.protocols import ConstantAnswer, EvaluatorSpec, Measure, Params, ScoringInput, Sides


def best_constant(
    read: Callable[[str], str],
    worth: Callable[[str, Sequence[str]], float],
    references: Sequence[Reference],
    weights: Sequence[float],
) -> ConstantAnswer | None:
    """Among the three most frequent reference answers, by weight, the constant answer with the highest weighted
    mean; None without any reference answer. Ties: the first by spelling. For binary metrics no constant is better.

    `read` normalises an answer for comparison; `worth(answer, reference answers)`, all of them normalised.
    """
    read = cache(read)
    own = [{read(answer): answer for answer in reference.answers if read(answer)} for reference in references]
    weight_of: dict[str, float] = {}
    wording: dict[str, str] = {}
    for forms, weight in zip(own, weights, strict=True):
        for form, answer in forms.items():
            weight_of[form] = weight_of.get(form, 0.0) + weight
            wording.setdefault(form, answer)
    tried = sorted(weight_of, key=lambda form: (-weight_of[form], form))[:3]
    found = []
    for form in tried:
        # Equal sets of reference answers are compared once.
        known = {answers: float(worth(form, answers)) for answers in dict.fromkeys(map(tuple, own))}
        found.append(ConstantAnswer(wording[form], tuple(known[tuple(forms)] for forms in own)))
    return max(found, key=lambda one: sum(map(mul, weights, one.values)), default=None)


_RIGHT, _REFUSED = "Right answers", "Unanswerable queries and abstentions"
_READS: Sides = frozenset({"answer", "reference"})
_SHARE = Measure(name="", summary="", failure_value=0.0, section=_RIGHT, unit="%", reads=_READS, binary=True)
ACCURACY = replace(
    _SHARE,
    name="accuracy",
    summary="share of answers equal to a reference answer after normalisation",
    title="answers right",
    stands_for="factual_correctness",
    constant=partial(best_constant, canonical, lambda form, forms: form in forms),
)
HALLUCINATION = replace(
    _SHARE,
    name="hallucination_rate",
    summary="share of null queries that were answered",
    title="wrong instead of abstaining",
    section=_REFUSED,
    queries="null",
    failure_value=1.0,
    higher_is_better=False,
    column=True,
)
FALSE_ABSTENTION = replace(
    HALLUCINATION,
    name="false_abstention_rate",
    summary="share of answerable queries on which the system abstained",
    title="abstained although answerable",
    queries="answerable",
    counts_failures=False,
)
EM = replace(
    _SHARE,
    name="em",
    summary="share of answers equal to a reference answer by SQuAD's exact match",
    title="exact match",
    constant=partial(best_constant, squad_form, lambda form, forms: form in forms),
)
TOKEN_F1 = replace(
    _SHARE,
    name="token_f1",
    summary="overlap of the tokens of answer and reference by SQuAD's F1",
    title="token F1",
    unit="",
    binary=False,
    range=(0.0, 1.0),
    constant=partial(best_constant, squad_form, token_f1),
)
CONTAINS = replace(
    _SHARE,
    name="contains",
    summary="share of answers in which a reference answer stands after normalisation",
    title="containment",
)
MULTIHOP_COMPAT = replace(
    _SHARE,
    name="accuracy_multihop_compat",
    summary="share of answers that share a word with a reference, as MultiHop-RAG's script counts (it prints "
    "1 / (3 - 2 x this) as accuracy)",
    title="shared-word accuracy",
)
MEASURES = (ACCURACY, HALLUCINATION, FALSE_ABSTENTION, EM, TOKEN_F1, CONTAINS, MULTIHOP_COMPAT)
_LONGEST_FORM = 40
_MOST_REFERENCES = 3


class AnswerEvaluator(CaseEvaluator):
    def scores(self, case: ScoringInput) -> list[Score]:
        found = _values(case.prediction.answer or "", stated_answers(case.reference))
        return [scored(case, measure, *found[measure]) for measure in case.measures]


SPEC = EvaluatorSpec(
    name="answer",
    version="10",
    summary="is the answer right, and does the system know when it does not know (no model call)",
    params=Params,
    measures=lambda _params: MEASURES,
    build=AnswerEvaluator,
)


def is_right(answer: str, references: Sequence[str]) -> bool:
    forms = {canonical(reference) for reference in references}
    return _form(answer, forms) in forms


def _form(answer: str, forms: Container[str]) -> str:
    """The form to compare: the leading yes or no of an answer if a reference is one, otherwise the whole."""
    leading = leading_yes_no(answer)
    return leading if leading is not None and leading in forms else canonical(answer)


def _values(answer: str, references: Sequence[str]) -> dict[Measure, tuple[float, str]]:
    forms, refused = list(map(canonical, references)), abstains(answer)
    compared = _compared(_form(answer, forms), forms)
    as_in_squad = _compared(squad_form(answer), map(squad_form, references))
    shared = shared_words(answer, references)
    return {
        ACCURACY: (is_right(answer, references), compared),
        HALLUCINATION: (not refused, compared),
        FALSE_ABSTENTION: (refused, compared),
        EM: (exact_match(answer, references), as_in_squad),
        TOKEN_F1: (token_f1(answer, references), as_in_squad),
        CONTAINS: (contains(answer, references), compared),
        MULTIHOP_COMPAT: (bool(shared), f"shared: {', '.join(map(repr, sorted(shared))) or 'no word'}"),
    }


def _compared(form: str, forms: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(forms))
    shown = " or ".join(repr(bounded(one, _LONGEST_FORM)) for one in distinct[:_MOST_REFERENCES])
    more = f" or {len(distinct) - _MOST_REFERENCES} more" if len(distinct) > _MOST_REFERENCES else ""
    return f"{bounded(form, _LONGEST_FORM)!r} against {shown}{more}"
