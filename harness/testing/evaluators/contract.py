"""The contract suite for evaluators."""

from __future__ import annotations

from harness.testing.evaluators.measures import EvaluatorPresentation
from harness.testing.evaluators.scoring_checks import EvaluatorJudging, EvaluatorScoring


class EvaluatorContract(EvaluatorPresentation, EvaluatorScoring, EvaluatorJudging):
    """The contract of every evaluator. Subclass it with a name that begins with `Test`, and set `name`.

    ```python
    class TestOverlap(EvaluatorContract):
        name = "overlap"
    ```
    Judge and embedder are fakes.
    """
