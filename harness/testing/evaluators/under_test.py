"""The evaluator under test, its cases and scores, each created once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.core.records import Score
from harness.protocols import Measure, ScoringInput
from harness.registry import EVALUATORS
from harness.testing.evaluators.cases import AnsweredQuery, answers_to_score, cases_of
from harness.testing.evaluators.fake_judge_evaluation import ChosenEvaluator


@dataclass(frozen=True)
class FirstEvaluation:
    """The scores of all answers, computed for the first time."""

    cases: list[ScoringInput]
    scores: list[Score]
    roles_called: set[str]


class EvaluatorUnderTest:
    """The evaluator and the fixtures that its tests share."""

    name: ClassVar[str] = ""
    """The name under which it is registered."""
    params: ClassVar[Mapping[str, Any]] = {}
    """Parameters that differ from the defaults."""
    judge_script: ClassVar[Mapping[str, Any]] = {}
    """Replies of the fake judge (`models.judge.options` of the provider fake); empty: JSON that matches the schema
    of a request, or a word of the prompt.
    """

    @pytest.fixture(scope="class")
    @classmethod
    def evaluator(cls) -> ChosenEvaluator:
        """The evaluator with its parameters, if its requirements are installed."""
        assert cls.name, f"{cls.__name__} must name the evaluator to test: name = '...'"
        spec = EVALUATORS.load(cls.name)
        params = spec.params.model_validate(dict(cls.params))
        if spec.preflight:
            spec.preflight(params)
        return ChosenEvaluator(spec, params, dict(cls.judge_script))

    @pytest.fixture(scope="class")
    @classmethod
    def measures(cls, evaluator: ChosenEvaluator) -> tuple[Measure, ...]:
        """Its metrics with these parameters."""
        return evaluator.spec.measures(evaluator.params)

    @pytest.fixture(scope="class")
    @classmethod
    def answered(cls) -> list[AnsweredQuery]:
        """The cases to score."""
        return answers_to_score()

    @pytest.fixture(scope="class")
    @classmethod
    def journal(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """The folder with the journal of `first`."""
        return tmp_path_factory.mktemp("journal")

    @pytest.fixture(scope="class")
    @classmethod
    def first(
        cls,
        evaluator: ChosenEvaluator,
        measures: tuple[Measure, ...],
        answered: list[AnsweredQuery],
        journal: Path,
    ) -> FirstEvaluation:
        """The scores of all cases, computed once."""
        with evaluator.opened(journal) as evaluation:
            cases = cases_of(answered, evaluation.evaluator, measures)
            scores = asyncio.run(evaluation.scores(cases))
            return FirstEvaluation(cases, scores, evaluation.roles_called)
