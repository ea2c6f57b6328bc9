"""The parameters of both baselines: none."""

from harness.protocols import Params


class IndexParams(Params):
    """No index parameters."""


class AnswerParams(Params):
    """No answer parameters."""
