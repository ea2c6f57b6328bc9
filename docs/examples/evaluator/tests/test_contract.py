"""What the harness promises of every evaluator, held against this one."""

from harness.testing import EvaluatorContract


class TestGrounding(EvaluatorContract):
    """Each test of the suite is inherited."""

    name = "grounding"
