"""The parameters of both baselines: none."""

from harness.protocols import Params


class IndexParams(Params):
    """Nothing about the index is a choice."""


class AnswerParams(Params):
    """Nor about an answer."""
