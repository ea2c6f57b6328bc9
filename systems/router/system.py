"""Router: classifies a question and sends it to the system of its policy."""

from collections.abc import Mapping, Sequence
from typing import Literal

from harness.core.records import Document, Expected, IndexStats, Prediction, Query, Step, Work
from harness.llm_utils.query_classifier import QueryType, type_by_model, type_by_rules, type_question
from harness.llm_utils.structured_output import Unreadable
from harness.protocols import GENERATES, NO_ROLE, Params, Role, Route, Runtime, System, SystemSpec, Workload
from systems.common.expected_calls import expected_question, typical_question


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
        return [*self.routes.values(), self.otherwise]

    @property
    def own_roles(self) -> frozenset[Role]:
        return GENERATES if self.classifier == "model" else NO_ROLE


def expect(_index: Params, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`: a short classification call, or none."""
    if answer.classifier == "rules":
        return Expected(index=Work(), query=Work())
    call = expected_question(type_question(typical_question(workload.queries)))
    return Expected(index=Work(), query=Work(calls=(call,)), notes=("the first reply always names a type",))


class RouterSystem:
    def __init__(self, _index: Params, answer: AnswerParams, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime
        self._systems: dict[str, System] = {}

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Nothing: the runner builds the indexes of the routed systems."""
        return IndexStats(documents=len(corpus))

    async def load(self) -> None:
        for route in self._params.all_routes:
            if route.key not in self._systems:
                system = self._runtime.routed(route)
                await system.load()
                self._systems[route.key] = system

    async def answer(self, query: Query) -> Prediction:
        """Classify, then let one system answer; the answer is its prediction, with a step that names it."""
        told, how = await self._type_of(query.text)
        route = self._params.routes.get(told, self._params.otherwise) if told else self._params.otherwise
        if route.key not in self._systems:
            raise RuntimeError("answer() was called before load()")
        prediction = await self._systems[route.key].answer(query)
        step = Step(name="route", content=f"{told or 'no type'} ({how}) -> {route.display_name}")
        return prediction.model_copy(update={"trace": (step, *prediction.trace)})

    def close(self) -> None:
        """The runner closes the systems."""

    async def _type_of(self, question: str) -> tuple[QueryType | None, str]:
        """The type and how it was determined; None if the model's reply is invalid."""
        with self._runtime.stage("classify"):
            if self._params.classifier == "rules":
                return type_by_rules(question), "rules"
            chat = self._runtime.chat
            if chat is None:
                self._runtime.warn("without a generator, rules classify the questions")
                return type_by_rules(question), "rules"
            try:
                return await type_by_model(chat, question), "model"
            except Unreadable as error:
                return None, str(error)


SPEC = SystemSpec(
    name="router",
    version="1",
    summary="classify a question, and send it to the system that the policy names for its type",
    also_called=("adaptive", "adaptive-rag", "routing"),
    index_params=Params,
    answer_params=AnswerParams,
    build=RouterSystem,
    index_roles=NO_ROLE,
    answer_roles=lambda _, answer: answer.own_roles,
    expect=expect,
    routes=lambda answer: answer.all_routes,
)
