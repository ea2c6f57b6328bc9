"""Runs judgements concurrently within limits; each is charged and fails separately."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

from harness.core.errors import HarnessError, ModelUnavailable
from harness.core.records import Score
from harness.evaluators.score_preconditions import CaseEvaluator, score_without_reading
from harness.evaluators.scores import failed, graded, not_applicable, scored
from harness.protocols import EvaluationRuntime, Measure, PanelFigure, ScoringInput, Sides

Name = TypeVar("Name", bound=str)


def judged_measures(
    prefix: str, paper: str, figure: PanelFigure, described: Mapping[Name, tuple[str, Sides, Mapping[str, Any]]]
) -> dict[Name, Measure]:
    """The metrics of an evaluator by name, without the prefix: each is described by its summary, what it reads and
    further fields. They are between 0 and 1, for answerable queries, unless these say otherwise.
    """
    titles = {"_no_reference": ", no reference", "_cosine": " by cosine", "_published": ", as published", "_": " "}
    found: dict[Name, Measure] = {}
    for name, (summary, reads, more) in described.items():
        title = reduce(lambda text, pair: text.replace(*pair), titles.items(), str(name))
        given: dict[str, Any] = {"title": title, "section": "Judged measures", "reads": reads, **more}
        found[name] = graded(f"{prefix}_{name}", summary=f"{summary} ({paper})", figure=figure, **given)
    return found


Judgement = tuple[float, str] | tuple[float, str, float]
"""Value and explanation; if contexts were judged, also the share of them that the judge saw, from 0 to 1."""
Judge = Callable[[ScoringInput, Measure], Awaitable[Judgement]]


class NotApplicable(Exception):
    """Raised by a judge function if there is nothing to judge; the message is the reason."""


class JudgedEvaluator(CaseEvaluator):
    """Base of evaluators that judge answers one by one: applies the preconditions of each metric, scores
    empty texts, and runs the rest concurrently within limits. Override `judge`, or `begin`.
    """

    def __init__(self, runtime: EvaluationRuntime) -> None:
        self._runtime = runtime

    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        raise NotImplementedError

    async def begin(self, _cases: Sequence[ScoringInput]) -> Judge:
        """The function that judges these cases, all of one run."""
        return self.judge

    def settled(self, case: ScoringInput, measure: Measure) -> Score | None:
        """The score that needs no judge; None if the judge must be asked."""
        return score_without_reading(case, measure)

    def call_of(self, measure: Measure) -> object:
        """Equal for metrics of a case that are served by one call; None: it needs the calls of others alone."""
        return measure

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        scores: list[Score] = []
        first: list[ScoringInput] = []
        later: list[ScoringInput] = []
        for case in cases:
            known = {measure: self.settled(case, measure) for measure in case.measures}
            scores += [score for score in known.values() if score]
            asked = [measure for measure, score in known.items() if not score]
            # One metric for each call comes first: others would wait for it, and leave the judge idle.
            by_call = {self.call_of(measure): measure for measure in reversed(asked)}
            by_call.pop(None, None)
            leading = set(by_call.values())
            first.append(replace(case, measures=tuple(one for one in asked if one in leading)))
            later.append(replace(case, measures=tuple(one for one in asked if one not in leading)))
        judge = await self.begin([*first, *later])
        return scores + await judge_each([*first, *later], self._runtime, judge)


async def judge_each(cases: Sequence[ScoringInput], runtime: EvaluationRuntime, judge: Judge) -> list[Score]:
    """judge(case, measure) for every metric of every case, `runtime.concurrency` at a time, in the given order.

    An exception fails that score: an unavailable judge, an unusable reply. Two exceptions do not: `NotApplicable`
    gives a score with that status, and any other `HarnessError` (a full disk) ends the evaluation.
    """
    pairs = [(case, measure) for case in cases for measure in case.measures]
    waiting = iter(enumerate(pairs))
    found: dict[int, Score] = {}

    async def work() -> None:
        for number, (case, measure) in waiting:
            found[number] = await _judged(case, measure, runtime, judge)
            runtime.progress(len(found), len(pairs), measure.name)

    runtime.progress(0, len(pairs), "")
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(runtime.concurrency, len(pairs))):
                group.create_task(work())
    except* HarnessError as errors:
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None
    return [found[number] for number in sorted(found)]


async def _judged(case: ScoringInput, measure: Measure, runtime: EvaluationRuntime, judge: Judge) -> Score:
    try:
        with runtime.charge():
            value, explanation, *share = await judge(case, measure)
        return scored(case, measure, value, explanation, share[0] if share else None)
    except NotApplicable as reason:
        return not_applicable(case, measure, str(reason))
    except ModelUnavailable as error:
        return failed(case, measure, str(error))
    except HarnessError:
        raise
    except Exception as error:
        return failed(case, measure, f"{type(error).__name__}: {error}")
