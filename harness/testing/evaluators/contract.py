"""All clauses."""

from __future__ import annotations

from harness.testing.evaluators.presentation import EvaluatorPresentation
from harness.testing.evaluators.scoring_checks import EvaluatorJudging, EvaluatorScoring


class EvaluatorContract(EvaluatorPresentation, EvaluatorScoring, EvaluatorJudging):
    """What every evaluator keeps: inherit from it, under a name that begins with `Test`, and say which.

    ```python
    class TestOverlap(EvaluatorContract):
        name = "overlap"
    ```
    Its judge and its embedder are the fake's.
    """
