"""The parameters of a run: routes from question types to systems, and the classifier of types."""

from collections.abc import Mapping, Sequence
from typing import Literal

from harness.llm_utils.query_classifier import QueryType
from harness.protocols import GENERATES, NO_ROLE, Params, Role, Route


class IndexParams(Params):
    """None: the routed systems have the indexes."""


class AnswerParams(Params):
    """The policy. `rag-harness route RUN RUN --policy FILE` writes one."""

    routes: Mapping[QueryType, Route] = {}
    """The system for questions of a type, with its parameters."""
    otherwise: Route = Route(system="naive")
    """The system for all other questions."""
    classifier: Literal["rules", "model"] = "rules"
    """The classifier of types: rules over the question's words, or one short call of the generator."""

    @property
    def all_routes(self) -> Sequence[Route]:
        """All routed systems."""
        return [*self.routes.values(), self.otherwise]

    @property
    def own_roles(self) -> frozenset[Role]:
        """The models of the classifier; routed systems have their own."""
        return GENERATES if self.classifier == "model" else NO_ROLE
