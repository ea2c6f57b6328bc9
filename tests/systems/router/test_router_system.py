"""Whom the router asks, and what it says of it."""

from pathlib import Path

from runtimes import BareRuntime

from harness.core.records import IndexStats, Prediction, Query, Step
from harness.protocols import GENERATES, NO_ROLE, Route
from systems.router.params import AnswerParams, IndexParams
from systems.router.system import SPEC, RouterSystem

COMPARES, ASKS_NAME, OF_TIME = "Is A the same as B?", "Who bought the mill?", "Has A changed since the report?"
FIRST, SECOND = Route(system="first"), Route(system="second", answer={"top_k": 3})


class Saying:
    """A system that answers with its name."""

    def __init__(self, name: str) -> None:
        self.name, self.loads, self.asked = name, 0, list[str]()

    async def index(self, _corpus: object) -> IndexStats:
        raise AssertionError("its index is the runner's affair")

    async def load(self) -> None:
        self.loads += 1

    async def answer(self, query: Query) -> Prediction:
        self.asked.append(query.text)
        return Prediction(answer=self.name, trace=(Step(name="own", content="step"),))

    def close(self) -> None:
        raise AssertionError("the runner closes routed systems, not the router")


class Replying:
    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)

    async def complete(self, *_messages: object, **_options: object) -> str:
        return self.replies.pop(0)


def opened(folder: Path, params: AnswerParams, *replies: str) -> tuple[RouterSystem, dict[str, Saying]]:
    routed = {route.key: Saying(route.system) for route in params.all_routes}
    runtime = BareRuntime(folder, routed_systems=routed, chat=Replying(*replies))
    return RouterSystem(IndexParams(), params, runtime), {one.name: one for one in routed.values()}


async def answers(router: RouterSystem, *questions: str) -> list[Prediction]:
    await router.load()
    return [await router.answer(Query(query_id=f"q{at}", text=one)) for at, one in enumerate(questions)]


POLICY = AnswerParams(routes={"comparison": FIRST, "temporal": SECOND}, otherwise=FIRST)


async def test_each_question_goes_to_the_system_of_its_type_and_others_to_the_last(tmp_path: Path) -> None:
    router, _ = opened(tmp_path, POLICY)
    said = await answers(router, COMPARES, ASKS_NAME, OF_TIME)
    assert [one.answer for one in said] == ["first", "first", "second"]


async def test_a_system_that_is_named_twice_is_loaded_once_and_closed_by_who_lent_it(tmp_path: Path) -> None:
    router, systems = opened(tmp_path, POLICY)
    await answers(router, COMPARES)
    router.close()
    assert [one.loads for one in systems.values()] == [1, 1]


async def test_the_trace_begins_with_who_was_asked_and_keeps_what_that_one_says(tmp_path: Path) -> None:
    router, _ = opened(tmp_path, POLICY)
    (said,) = await answers(router, OF_TIME)
    assert said.trace[0] == Step(name="route", content="temporal (rules) -> second top_k=3")
    assert said.trace[1] == Step(name="own", content="step")


async def test_a_model_may_tell_the_type(tmp_path: Path) -> None:
    router, _ = opened(tmp_path, POLICY.model_copy(update={"classifier": "model"}), '{"type": "temporal"}')
    (said,) = await answers(router, COMPARES)
    assert said.answer == "second"
    assert said.trace[0].content.startswith("temporal (model)")


async def test_where_the_model_names_no_type_the_question_goes_to_who_answers_all_others(tmp_path: Path) -> None:
    router, _ = opened(tmp_path, POLICY.model_copy(update={"classifier": "model"}), "hm", "I cannot say")
    (said,) = await answers(router, OF_TIME)
    assert said.answer == "first"
    assert said.trace[0].content.startswith("no type")


async def test_without_a_generator_rules_tell_the_type_and_it_is_said(tmp_path: Path) -> None:
    router, _ = opened(tmp_path, POLICY.model_copy(update={"classifier": "model"}))
    router._runtime.chat = None  # type: ignore[misc]
    (said,) = await answers(router, OF_TIME)
    assert said.trace[0].content.startswith("temporal (rules)")


def test_only_a_model_that_classifies_is_a_role_of_the_routers_own() -> None:
    assert SPEC.roles(IndexParams(), AnswerParams()).answer == NO_ROLE
    assert SPEC.roles(IndexParams(), AnswerParams(classifier="model")).answer == GENERATES
