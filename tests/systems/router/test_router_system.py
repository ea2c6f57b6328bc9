"""Whom the router asks, and what it says of it."""

from pathlib import Path
from typing import Any

import pytest
from runtimes import BareRuntime

from harness.config import load_config
from harness.core.errors import ConfigError
from harness.core.records import IndexStats, Prediction, Query, Step
from harness.protocols import GENERATES, NO_ROLE, Route
from harness.protocols import Params as IndexParams
from harness.runner.executing.execute import RunContext, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.store import IndexDir, RunDir
from systems.router.system import SPEC, AnswerParams, RouterSystem

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


async def test_each_question_goes_to_the_system_of_its_type_which_is_loaded_once(tmp_path: Path) -> None:
    router, systems = opened(tmp_path, POLICY)
    said = await answers(router, COMPARES, ASKS_NAME, OF_TIME)
    router.close()
    assert [one.answer for one in said] == ["first", "first", "second"]
    assert [one.loads for one in systems.values()] == [1, 1]
    assert said[2].trace[0] == Step(name="route", content="temporal (rules) -> second top_k=3")
    assert said[2].trace[1] == Step(name="own", content="step")


@pytest.mark.parametrize(
    ("replies", "answer", "route"),
    [
        (('{"type": "temporal"}',), "second", "temporal (model)"),
        (("hm", "I cannot say"), "first", "no type"),
    ],
)
async def test_models_may_tell_the_type(tmp_path: Path, replies: tuple[str, ...], answer: str, route: str) -> None:
    router, _ = opened(tmp_path, POLICY.model_copy(update={"classifier": "model"}), *replies)
    (said,) = await answers(router, COMPARES)
    assert said.answer == answer
    assert said.trace[0].content.startswith(route)


async def test_without_a_generator_rules_tell_the_type_and_it_is_said(tmp_path: Path) -> None:
    router, _ = opened(tmp_path, POLICY.model_copy(update={"classifier": "model"}))
    router._runtime.chat = None  # type: ignore[misc]
    (said,) = await answers(router, OF_TIME)
    assert said.trace[0].content.startswith("temporal (rules)")


def test_only_a_model_that_classifies_is_a_role_of_the_routers_own() -> None:
    assert SPEC.roles(IndexParams(), AnswerParams()).answer == NO_ROLE
    assert SPEC.roles(IndexParams(), AnswerParams(classifier="model")).answer == GENERATES


# A router as the runner runs it: whose indexes it answers from, and what that costs.


SMALL, LARGE = {"chunk_size": 400}, {"chunk_size": 800}
RUN_POLICY = {
    "routes": {"comparison": {"system": "naive", "index": SMALL, "answer": {"top_k": 2}}},
    "otherwise": {"system": "naive", "index": LARGE},
}


def cells(systems: list[str], router: dict[str, Any], **naive: Any) -> list[Cell]:
    raw = {
        "systems": systems,
        "dataset": {"name": "demo", "sample": {"per_type": 1, "seed": 42}},
        "models": {"generator": {"provider": "none"}, "embedder": {"provider": "fake"}},
        "per_system": {"router": {"answer": router}, "naive": naive},
    }
    return plan_cells(load_config(raw))


def run(cell: Cell, results: Path) -> RunDir:
    done = run_cell(cell, RunContext(results, Reporter(quiet=True)))
    assert done.status == "done", done.reason
    return done.run


@pytest.mark.slow
@pytest.mark.usefixtures("workers_here")
def test_it_answers_from_the_indexes_of_those_it_asks_which_are_built_once_and_paid_by_who_built_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    results = tmp_path / "results"
    naive, router = cells(["naive", "router"], RUN_POLICY, index=SMALL)
    first, routed = run(naive, results), run(router, results)
    built = {one.index_id: IndexDir(results, one.index_id).record() for one in router.routed}
    assert naive.index_id in built
    assert {one.built_by for one in built.values() if one} == {first.run_id, routed.run_id}
    index = routed.index()
    assert index is not None
    assert index.cost.usage["embedder"].input_tokens == sum(
        one.cost.usage["embedder"].input_tokens for one in built.values() if one
    )
    assert list(index.cost.replayed_from) == [first.run_id]
    records = routed.records().values()
    assert {record.status for record in records} == {"ok"}
    assert {record.prediction.trace[0].name for record in records if record.prediction} == {"route"}


def test_what_the_systems_it_asks_would_answer_with_is_part_of_what_a_run_is() -> None:
    (one,) = cells(["router"], RUN_POLICY)
    third = {"system": "naive", "index": LARGE, "answer": {"top_k": 3}}
    (other,) = cells(["router"], {**RUN_POLICY, "otherwise": third})
    (elsewhere,) = cells(["router"], {**RUN_POLICY, "otherwise": {**third, "index": {"chunk_size": 900}}})
    assert len({one.run_id, other.run_id, elsewhere.run_id}) == 3
    assert one.index_id == other.index_id != elsewhere.index_id
    assert [system["index"]["chunk_size"] for system in one.identity["system"]["routed"]] == [400, 800]


def test_it_needs_the_models_of_those_it_asks_and_no_other() -> None:
    words = {"system": "naive", "index": {"vectors": False}, "answer": {"search": "bm25"}}
    (cell,) = cells(["router"], {"otherwise": words})
    assert cell.roles.index == frozenset()
    assert "embedder" not in cell.models


@pytest.mark.parametrize(
    ("route", "said"),
    [
        ({"system": "naiv"}, "naive"),
        ({"system": "router"}, "routes queries itself"),
        ({"system": "gold"}, "sees the gold evidence"),
        ({"system": "http://127.0.0.1:9/ask"}, "its own models and index"),
        ({"system": "naive", "answer": {"topk": 3}}, "top_k"),
    ],
)
def test_a_route_that_leads_nowhere_is_one_line_before_anything_is_paid(route: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        cells(["router"], {"otherwise": route})
