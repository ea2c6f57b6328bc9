"""Why an answer is wrong: one cause for each, from what was recorded. No model call."""

from harness.evaluators.failure_analysis.evaluator import SPEC

__all__ = ["SPEC"]
