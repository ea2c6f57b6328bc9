"""What must be there before anything is paid."""

from harness.errors import ConfigError
from systems.evidence.params import AnswerParams
from systems.parts.graph_index import GraphIndexParams
from systems.parts.graph_search.params import check_search


def check(index: GraphIndexParams, answer: AnswerParams) -> None:
    """See `SystemSpec.preflight`."""
    check_search(index, answer)
    if not index.statements:
        raise ConfigError(
            "evidence matches steps to the sentences of the graph, and index.statements=false keeps none",
            "leave index.statements out",
        )
