"""The parameters of both brackets."""

from harness.protocols import Params
from systems.parts.prompts.answers import AnswerStyle


class IndexParams(Params):
    """None: nothing about the index is a choice."""


class AnswerParams(Params):
    """What a change of may reuse the index."""

    style: AnswerStyle = "short"
    """`short`: a word or name, as the thesis asks; `sentence`: for data sets with free-text references."""
