"""The cause of each wrong answer, from the records of a run; no model call."""

from harness.evaluators.failure_analysis.evaluator import SPEC

__all__ = ["SPEC"]
