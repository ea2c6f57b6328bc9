"""Checks before anything is paid."""

from harness.core.errors import ConfigError
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_search.params import check_search
from systems.evidence.params import AnswerParams


def check(index: GraphIndexParams, answer: AnswerParams) -> None:
    """See `SystemSpec.preflight`."""
    check_search(index, answer)
    if answer.evidence == "graph" and not index.statements:
        raise ConfigError(
            "evidence matches steps to the sentences of the graph, but index.statements=false stores none",
            "leave index.statements out",
        )
