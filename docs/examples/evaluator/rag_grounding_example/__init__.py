"""Does an answer say what stands in its contexts? Words and numbers are looked up; no model is asked."""

import re
from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from harness.core.records import Reference, Score
from harness.evaluators.score_preconditions import score_without_reading, why_not
from harness.evaluators.scores import not_applicable, scored
from harness.protocols import (
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    Panel,
    PanelFigure,
    Params,
    RunFacts,
    ScoringInput,
)

_FIGURE = PanelFigure("grounding_figure", "Answers and their contexts", "Words and numbers found in a context")
WORDS = Measure(
    name="grounding_words",
    summary="share of an answer's words that stand in one of its contexts",
    title="grounded words",
    section="Grounding",
    reads=frozenset({"answer", "contexts"}),
    failure_value=0.0,
    range=(0.0, 1.0),
    panel=Panel(_FIGURE),
)
NUMBERS = replace(
    WORDS,
    name="grounding_numbers",
    summary="share of answers whose numbers all stand in one of their contexts, of those that name any",
    title="grounded numbers",
    unit="%",
    binary=True,
)


class GroundingParams(Params):
    """What `per_evaluator` may set."""

    min_letters: int = Field(4, ge=1)
    """Shorter words are left out: they stand in every text."""


class Grounding:
    """See `harness.protocols.Evaluator`."""

    def __init__(self, params: GroundingParams, _runtime: EvaluationRuntime) -> None:
        self._word = re.compile(rf"[^\W\d]{{{params.min_letters},}}")

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        """Nobody generates, or no context is known: what the measure reads says it."""
        return why_not(measure, reference, run)

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        """Every measure of every case."""
        return [self._score(case, measure) for case in cases for measure in case.measures]

    def close(self) -> None:
        """Nothing is open."""

    def _score(self, case: ScoringInput, measure: Measure) -> Score:
        if (score := score_without_reading(case, measure)) is not None:
            return score  # The answer is empty or abstains, or nothing was retrieved.
        pattern = self._word if measure.name == WORDS.name else re.compile(r"\d+")
        seen = {found for context in case.prediction.contexts for found in pattern.findall(context.text.lower())}
        said = pattern.findall((case.prediction.answer or "").lower())
        if not said:
            return not_applicable(case, measure, "the answer has none to look up")
        missing = [one for one in said if one not in seen]
        value = 1 - len(missing) / len(said)
        why = f"in no context: {', '.join(sorted(set(missing)))}" if missing else "all stand in a context"
        return scored(case, measure, value == 1 if measure.binary else value, why)


SPEC = EvaluatorSpec(
    name="grounding",
    version="1",
    summary="do the words and numbers of an answer stand in its contexts (no model call)",
    params=GroundingParams,
    measures=lambda _params: (WORDS, NUMBERS),
    build=Grounding,
)
