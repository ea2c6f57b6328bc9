"""F1 of the words that answer and reference share beyond the question and function words; no model call.

    shared = words that both contain, each as often as in both
    precision = shared / words of the answer
    recall = shared / words of the reference

A long answer repeats its question, and half of any text is function words: both overlap with every reference,
right or wrong. Words are runs of letters in lower case, with apostrophes inside, and numbers; in scripts without
spaces each character is a word. Citations are ignored. The function words are English. The metric does not see
negation. Among the metrics without a model call, it agrees best with people who compared long answers
(docs/validity.md).

If every word of a reference is in the question ("Who is older, Ann or Bob?" "Ann"), the question's words count
too. Of several references the best counts. Not applicable: no reference, a null query, a right answer that is a
bare yes or no or has no content word, an answer that abstains. An empty answer scores 0.
"""

import re
from collections import Counter
from typing import NamedTuple

from harness.core.records import Score
from harness.core.scripts import LETTER, UNSPACED, folded
from harness.evaluators.answer_normalisation import without_citations
from harness.evaluators.score_preconditions import CaseEvaluator, score_without_reading, stated_answers
from harness.evaluators.scores import graded, not_applicable, scored
from harness.protocols import EvaluatorSpec, Measure, Panel, PanelFigure, Params, ScoringInput

_WORD = re.compile(rf"[{UNSPACED}]|{LETTER}+(?:'{LETTER}+)?|\d+(?:[.,]\d+)*")
_SAID_ANYWHERE = """
a an the of to in and or is are was were be been being for on at by with from as that this it its they their he
his she her which who whom will would can could may might should do does did no not but if so than then there
these those such have has had into about over also more most other some any all each
"""
_FUNCTION_WORDS = frozenset(_SAID_ANYWHERE.split())
_FIGURE = PanelFigure(
    "novel_tokens", "Words beyond the question", "Words of answer and reference beyond the question"
)


class SharedWords(NamedTuple):
    """Precision and recall of the shared words, 0 to 1."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def shared_novel_tokens(question: str, answer: str, reference: str) -> SharedWords | None:
    """The shared novel words of answer and reference; None if the reference has no content word."""
    asked, said = set(content_words(question)), content_words(reference)
    if not said:
        return None
    if asked.issuperset(said):
        asked = set()
    wanted = Counter(word for word in said if word not in asked)
    found = Counter(word for word in content_words(answer) if word not in asked)
    shared = (found & wanted).total()
    return SharedWords(shared / found.total() if found else 0.0, shared / wanted.total())


def content_words(text: str) -> list[str]:
    """The words that count, in lower case and in order: without function words, citations and punctuation."""
    plain = folded(without_citations(text)).replace("\u2019", "'").casefold()
    return [word for word in _WORD.findall(plain) if word not in _FUNCTION_WORDS]


def _measure(part: str, title: str) -> Measure:
    return graded(
        f"novel_token_{part}",
        f"{title} of new words",
        f"{title} of the content words of answer and reference that are not in the question",
        _FIGURE,
        section="Words beyond the question",
        reads=frozenset({"question", "answer", "reference"}),
        queries="worded",
        panel=Panel(_FIGURE, title),
    )


F1, PRECISION, RECALL = _measure("f1", "F1"), _measure("precision", "precision"), _measure("recall", "recall")
MEASURES = (F1, PRECISION, RECALL)


class NovelTokensEvaluator(CaseEvaluator):
    def scores(self, case: ScoringInput) -> list[Score]:
        return [score_without_reading(case, measure) or _score(case, measure) for measure in case.measures]


def _score(case: ScoringInput, measure: Measure) -> Score:
    answer = case.prediction.answer or ""
    found = [shared_novel_tokens(case.query.text, answer, one) for one in stated_answers(case.reference)]
    known = [one for one in found if one]
    if not known:
        return not_applicable(case, measure, "the reference has no content word")
    best = max(known, key=lambda one: one.f1)
    value = {F1: best.f1, PRECISION: best.precision, RECALL: best.recall}[measure]
    return scored(case, measure, value, f"precision {best.precision:.2f}, recall {best.recall:.2f}")


SPEC = EvaluatorSpec(
    name="novel_tokens",
    version="4",
    summary="F1 of the words that answer and reference share beyond the question (no model call)",
    params=Params,
    measures=lambda _params: MEASURES,
    build=NovelTokensEvaluator,
)
