"""The parameters of a run: which system answers which type of question, and how types are recognised."""

from collections.abc import Mapping, Sequence
from typing import Literal

from harness.llm_utils.query_classifier import QueryType
from harness.protocols import GENERATES, NO_ROLE, Params, Role, Route


class IndexParams(Params):
    """Nothing: indexes are those of the systems that answer."""


class AnswerParams(Params):
    """The policy. `rag-harness route --policy` writes one."""

    routes: Mapping[QueryType, Route] = {}
    """The system that answers questions of a type, with its parameters."""
    otherwise: Route = Route(system="naive")
    """Who answers all others."""
    classifier: Literal["rules", "model"] = "rules"
    """Who tells the type: rules that read the question's words, or one short call of the generator."""

    @property
    def all_routes(self) -> Sequence[Route]:
        """All systems that may be asked."""
        return [*self.routes.values(), self.otherwise]

    @property
    def own_roles(self) -> frozenset[Role]:
        """What classifying calls; those who answer call theirs."""
        return GENERATES if self.classifier == "model" else NO_ROLE
