"""All clauses."""

from __future__ import annotations

from harness.testing.evaluators.presentation import Presentation
from harness.testing.evaluators.scoring import Judging, Scoring


class EvaluatorContract(Presentation, Scoring, Judging):
    """What every evaluator keeps: inherit from it, under a name that begins with `Test`, and say which.

    ```python
    class TestOverlap(EvaluatorContract):
        name = "overlap"
    ```
    Its judge and its embedder are the fake's.
    """
