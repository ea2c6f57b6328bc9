"""An evaluator that keeps the contract, and many that each break one clause."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

from pydantic import ConfigDict

from harness.core.records import Reference, Score
from harness.evaluators.judge_calls import judge_each
from harness.evaluators.score_preconditions import why_not
from harness.evaluators.scores import not_applicable, scored
from harness.protocols import (
    EvaluationRuntime,
    EvaluatorRole,
    EvaluatorSpec,
    Measure,
    Message,
    Params,
    RunFacts,
    ScoringInput,
    Sides,
)

_HELD: list[TextIO] = []
_READS: Sides = frozenset({"answer", "contexts", "reference"})
_LENGTH = Measure("Length", "characters of the answer", failure_value=0.0, reads=_READS, range=(0.0, 1.0))
_GRADE = Measure("Grade", "whether a judge has a word for it", failure_value=0.0, reads=_READS, binary=True)


class Whole:
    """The length of an answer, and whether a judge replies."""

    version = "1"
    params: type[Params] = Params
    roles: frozenset[EvaluatorRole] = frozenset({"judge"})
    changes: dict[str, object] = {}  # noqa: RUF012

    def __init__(self, _params: Params, runtime: EvaluationRuntime) -> None:
        self.runtime = runtime

    @classmethod
    def measures(cls, _params: Params) -> tuple[Measure, ...]:
        # Names are unique among all evaluators.
        names = {_LENGTH: f"length_{cls.__name__}", _GRADE: f"grade_{cls.__name__}"}
        length, grade = (replace(measure, name=name) for measure, name in names.items())
        return replace(length, **cls.changes), grade  # type: ignore[arg-type]

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        return why_not(measure, reference, run)

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        length = self.measures(Params())[0]
        lengths = [self.length(case, length) for case in cases if length in case.measures]
        judged = [replace(case, measures=tuple(one for one in case.measures if one != length)) for case in cases]
        return lengths + await judge_each(judged, self.runtime, self.grade)

    def length(self, case: ScoringInput, measure: Measure) -> Score:
        return scored(case, measure, min(len(case.prediction.answer or ""), 50) / 50)

    async def grade(self, case: ScoringInput, _measure: Measure) -> tuple[float, str]:
        prompt = f"Say a word of this: {case.prediction.answer}{self.more()}"
        return float(bool(await self.runtime.judge.complete([Message("user", prompt)]))), ""

    def more(self) -> str:
        return ""

    def close(self) -> None:
        """Nothing is open."""


class NoVersion(Whole):
    version = ""


class Loose(Params):
    model_config = ConfigDict(extra="allow")


class LooseParams(Whole):
    params = Loose


class FailsWell(Whole):
    changes = {"failure_value": 1.0}  # noqa: RUF012


class TakenName(Whole):
    changes = {"name": "accuracy"}  # noqa: RUF012


class NobodysTwin(Whole):
    changes = {"twin_of": "nobodys"}  # noqa: RUF012


class LeavesOut(Whole):
    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        return [score for score in await super().evaluate(cases) if not score.query_id.endswith("odd")]


class TooLong(Whole):
    def length(self, case: ScoringInput, measure: Measure) -> Score:
        return scored(case, measure, len(case.prediction.answer or "") / 50)


class NeverAValue(Whole):
    def length(self, case: ScoringInput, measure: Measure) -> Score:
        return not_applicable(case, measure, "it is not for me to say")


class ByPlace(Whole):
    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        self.place = {case.query.query_id: 1 / place for place, case in enumerate(cases, start=1)}
        return await super().evaluate(cases)

    def length(self, case: ScoringInput, measure: Measure) -> Score:
        return scored(case, measure, self.place[case.query.query_id])


class NeedsOne(Whole):
    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        _ = cases[0]
        return await super().evaluate(cases)


class ByAnswers(Whole):
    seen = 0

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        return "enough is seen" if self.seen else super().not_applicable(reference, measure, run)

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        self.seen += len(cases)
        return await super().evaluate(cases)


class AlwaysApplies(Whole):
    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        return ""


class HoldsFiles(Whole):
    def __init__(self, params: Params, runtime: EvaluationRuntime) -> None:
        super().__init__(params, runtime)
        _HELD.append(open(__file__))  # noqa: PTH123, SIM115


class NamesTooMany(Whole):
    roles = frozenset({"judge", "judge_embedder"})


class AsksAnew(Whole):
    def more(self) -> str:
        return os.urandom(8).hex()


class Guesses(Whole):
    async def grade(self, case: ScoringInput, measure: Measure) -> tuple[float, str]:
        try:
            return await super().grade(case, measure)
        except Exception:
            return 0.0, ""


BREAKS: dict[type[Whole], tuple[str, ...]] = {
    Whole: (),
    NoVersion: ("test_it_presents_itself",),
    LooseParams: ("test_its_parameters_have_defaults_and_refuse_what_they_do_not_know",),
    FailsWell: ("test_every_measure_describes_itself",),
    TakenName: ("test_a_measure_has_a_name_that_no_other_has",),
    NobodysTwin: ("test_a_measure_that_another_names_exists",),
    LeavesOut: ("test_each_measure_of_each_case_has_one_score",),
    TooLong: ("test_a_score_is_a_value_that_can_be_or_says_why_there_is_none",),
    NeverAValue: ("test_every_measure_has_a_value_somewhere",),
    ByPlace: ("test_the_same_records_have_the_same_scores_in_any_order",),
    NeedsOne: ("test_no_case_is_no_score",),
    ByAnswers: ("test_what_applies_is_decided_by_the_gold_side_alone",),
    AlwaysApplies: ("test_a_measure_applies_where_it_says_so",),
    HoldsFiles: ("test_closing_releases_what_was_opened",),
    NamesTooMany: ("test_it_asks_the_models_that_its_spec_names",),
    AsksAnew: ("test_what_was_judged_once_is_not_paid_again",),
    Guesses: ("test_a_judge_that_fails_gives_no_value",),
}
for _kind in BREAKS:
    globals()[f"{_kind.__name__}_SPEC"] = EvaluatorSpec(
        name=_kind.__name__,
        version=_kind.version,
        summary="the length of an answer, and a judge's word",
        params=_kind.params,
        measures=_kind.measures,
        build=_kind,
        roles=_kind.roles,
    )
