"""Assigns exactly one cause to each wrong answer, from the stored records, corpus and index.

An answer is wrong if it equals no reference after normalisation, as in `answer`'s accuracy. Only queries with a
short reference are analysed, because a long one can be worded in many ways. A right answer has no cause, whatever
was retrieved. A wrong answer gets the first cause that applies:

1. the query failed;
2. the query is unanswerable, and the system answered;
3. it may be right in other words (`is_near`): a unit is missing, or the reference stands in a longer answer;
4. a piece of its evidence is missing from the contexts (see `pieces`): it is not in the corpus, or no stored
   passage contains it; otherwise, if other pieces are in the contexts, only part of it was retrieved; otherwise it
   is not in the recorded ranking, or it ranks below the passages that the generator saw;
5. all evidence is in the contexts, and the answer abstains or is wrong.

A cause that the records do not determine is `not known`: it is never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import Field

from harness.core.records import Reference, Score
from harness.core.scripts import word_count
from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import abstains
from harness.evaluators.failure_analysis import evidence_tracing as causes
from harness.evaluators.failure_analysis.evidence_tracing import Piece, pieces_of, worst
from harness.evaluators.gold_ranks import FactFinder
from harness.evaluators.run_scoring import NO_CONTEXTS
from harness.evaluators.score_preconditions import CaseEvaluator, is_null, stated_answers, why_not
from harness.evaluators.scores import labelled, scored
from harness.evaluators.token_overlap import is_near
from harness.protocols import (
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    Panel,
    PanelFigure,
    Params,
    RunFacts,
    ScoreLabel,
    ScoringInput,
)

_SECTION = "Causes of failures"
WRONG = Measure(
    name="wrong_answers",
    summary="share of answers that are wrong; each has one cause",
    failure_value=1.0,
    title="wrong answers",
    section=_SECTION,
    unit="%",
    reads=frozenset({"answer", "reference"}),
    higher_is_better=False,
    binary=True,
    labels=causes.OF_ANSWERS,
    failure_label=causes.FAILED.name,
    panel=Panel(PanelFigure("why_wrong", "Why answers are wrong", "Each wrong answer by its one cause")),
)
MISSED = replace(
    WRONG,
    name="missed_evidence",
    summary="share of queries without all evidence in the contexts, as far as known; each has one cause",
    title="incomplete evidence in the contexts",
    reads=frozenset({"contexts", "reference"}),
    queries="answerable",
    labels=causes.OF_EVIDENCE,
    panel=Panel(
        PanelFigure(
            "why_missed",
            "Why evidence is missing",
            "Each query whose evidence is not all in the contexts, by its cause",
        )
    ),
)
Cause = tuple[ScoreLabel, str]
"""The label, with an explanation."""


class FailureAnalysisParams(Params):
    longest_answer: int = Field(10, ge=1)
    """Words. Queries with only longer references are left out: their right answers have many wordings."""
    longest_fact: int = Field(1000, ge=1)
    """Characters. A longer fact is a passage or a whole document, and evidence is then traced by document."""


class FailureAnalysisEvaluator(CaseEvaluator):
    def __init__(self, params: FailureAnalysisParams, _runtime: EvaluationRuntime) -> None:
        self._params, self._finder = params, FactFinder()

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        """No generator or no short reference; for the evidence metric, no evidence or no contexts in the run."""
        if measure == MISSED:
            if not run.has_contexts:
                return NO_CONTEXTS
            if not reference.evidence or is_null(reference):
                return "the reference names no evidence"
            # Without the passage it is unknown whether the relevant part of the document was retrieved.
            return "" if any(item.fact.strip() for item in reference.evidence) else "the evidence states no fact"
        if reason := why_not(measure, reference, run):
            return reason
        shortest = min(map(word_count, stated_answers(reference)))
        longest = self._params.longest_answer
        if is_null(reference) or shortest <= longest:
            return ""
        return f"the reference has {shortest:,} words: more than {longest:,} can be worded in many ways"

    def scores(self, case: ScoringInput) -> Iterator[Score]:
        missed = self._missed(case)
        for measure in case.measures:
            found = missed if measure == MISSED else self._wrong(case, missed)
            if found is None:
                yield scored(case, measure, 0.0)
            else:
                yield labelled(case, measure, found[0].name, found[1])

    def _wrong(self, case: ScoringInput, missed: Cause | None) -> Cause | None:
        answer, references = case.prediction.answer or "", stated_answers(case.reference)
        if is_right(answer, references):
            return None
        if is_null(case.reference):
            return causes.ANSWERED_NOTHING, ""
        if not abstains(answer) and any(is_near(answer, reference) for reference in references):
            return causes.WORDED_OTHERWISE, ""
        if missed is not None:
            return missed
        if abstains(answer):
            return causes.REFUSED, "all of the evidence is in the contexts"
        return causes.ANSWERED_WRONG, "" if answer.strip() else "the answer is empty"

    def _missed(self, case: ScoringInput) -> Cause | None:
        """The cause of missing evidence; None if all is in the contexts."""
        prediction = case.prediction
        pieces = pieces_of(case, self._params.longest_fact, self._finder)
        if not pieces:
            return causes.NOT_KNOWN, "the reference names no evidence"
        if not prediction.has_contexts and prediction.retrieved is None:
            return causes.NOT_KNOWN, "no contexts were recorded"
        return _cause(pieces)


def _cause(pieces: Sequence[Piece]) -> Cause | None:
    states = Counter(piece.state for piece in pieces)
    missing = [piece for piece in pieces if piece.state == "missing"]
    unsaid = next((piece.said for piece in pieces if piece.state == "unsaid"), "")
    counts = f"{states['shown']} of {len(pieces)} in the contexts"
    if not missing:
        return (causes.NOT_KNOWN, f"{counts}; {unsaid}") if unsaid else None
    reasons = Counter(piece.said for piece in missing).items()
    told = f"{counts}; missing: {', '.join(f'{n} x {said}' if n > 1 else said for said, n in reasons)}"
    label = worst(missing)
    if label in {causes.NOT_IN_CORPUS, causes.CUT}:
        return label, told
    if states["shown"]:
        return causes.ONLY_PART, told
    return (causes.NOT_KNOWN, f"{told}; {unsaid}") if unsaid else (label, told)


SPEC = EvaluatorSpec(
    name="failure_analysis",
    version="9",
    summary="cause of each wrong answer: corpus, chunking, rank, context or generator (no model call)",
    params=FailureAnalysisParams,
    measures=lambda _params: (WRONG, MISSED),
    build=FailureAnalysisEvaluator,
)
