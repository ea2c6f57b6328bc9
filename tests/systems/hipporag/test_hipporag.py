"""hipporag over kg's corpus, whose graph is two paths: Ingrid Solvane - Tidewright Power - Gull Sound - Port
Aldery, and Ondrevik - Coastal Line - Norrand Rail.
"""

from pathlib import Path
from typing import Any

import asking
import igraph
import numpy as np
import pytest
from kg_corpus import CORPUS, scripted
from runtimes import Asked, BareRuntime, Chat

from harness.core.errors import ConfigError
from harness.core.records import Prediction
from systems.hipporag.entity_graph import EntityGraph, synonyms
from systems.hipporag.system import SPEC


@pytest.fixture
async def runtime(tmp_path: Path) -> BareRuntime:
    runtime = BareRuntime(tmp_path, Chat(scripted))
    await asking.indexed(SPEC, runtime, CORPUS)
    return runtime


async def ask(runtime: BareRuntime, question: str, **answer: Any) -> Prediction:
    return await asking.asked(SPEC, runtime, question, **answer)


def ranked(prediction: Prediction) -> dict[str, float | None]:
    return {context.doc_ids[0]: context.score for context in prediction.contexts}


async def test_passages_rank_by_the_probabilities_of_their_entities(runtime: BareRuntime) -> None:
    """By hand, with damping 1/2 on the path a - b - c - d from a: a = 1/2 + b/4, b = a/2 + c/4, c = b/4 + d/2 and
    d = c/4, so a, b, c, d = 26, 14, 4, 1 of 45. d0 mentions a, b and c, d2 mentions c and d; d1 is not reached.
    """
    prediction = await ask(runtime, "Where does Ingrid Solvane work?")
    assert ranked(prediction) == {"d0": pytest.approx(44 / 45), "d2": pytest.approx(5 / 45)}
    assert prediction.trace[1].content == "Ingrid Solvane -> Ingrid Solvane (cosine 1.00, passages: 1)"
    assert prediction.trace[2].content.startswith("Ingrid Solvane 0.578; Tidewright Power 0.311")


async def test_an_entity_of_fewer_passages_weighs_more(runtime: BareRuntime) -> None:
    """By hand: Gull Sound is in two passages and Solvane in one, so the walk starts there in 1 and 2 of 3 cases.
    From c alone a, b, c, d = 2, 8, 28, 7 of 45, so d2 = 2/3 * 5/45 + 1/3 * 35/45, d0 = 2/3 * 44/45 + 1/3 * 38/45.
    """
    prediction = await ask(runtime, "What have Ingrid Solvane and 'Gull Sound' in common?")
    assert ranked(prediction) == {"d0": pytest.approx(14 / 15), "d2": pytest.approx(1 / 3)}


async def test_a_smaller_damping_stays_nearer_to_the_question(runtime: BareRuntime) -> None:
    near, far = [ranked(await ask(runtime, "Who is Ingrid Solvane?", damping=value)) for value in (0.1, 0.9)]
    assert (far["d2"] or 0) > 20 * (near["d2"] or 1)


def test_the_walk_is_that_of_igraph() -> None:
    draw = np.random.default_rng(7)
    edges = np.column_stack([*draw.integers(0, 40, (2, 60)), draw.random(60)])
    edges = edges[edges[:, 0] != edges[:, 1]]  # Some entities have several edges, some none.
    graph = EntityGraph(
        [""] * 45, [], np.zeros((45, 1), dtype=np.float32), edges, np.zeros((0, 2), dtype=np.int64)
    )
    seeds, weights = {3: 0.2, 7: 1.0, 44: 0.5}, {"weight": edges[:, 2].tolist()}
    reset = [seeds.get(number, 0.0) for number in range(45)]
    theirs = igraph.Graph(45, edges[:, :2].astype(int).tolist(), edge_attrs=weights)
    for damping in (0.5, 0.95):
        expected = theirs.personalized_pagerank(directed=False, damping=damping, reset=reset, weights="weight")
        assert graph.walk(seeds, damping) == pytest.approx(expected, abs=1e-7)


def test_names_are_synonyms_from_the_threshold_on() -> None:
    vectors = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]], dtype=np.float32)
    found = {(first, second): round(cosine, 6) for first, second, cosine in synonyms(vectors, 0.8)}
    assert found == {(0, 1): 0.8, (1, 2): 0.96}


@pytest.mark.parametrize("question", ["who builds turbines?", "who in 'The Post' builds turbines with Qvarnby?"])
async def test_a_question_without_an_entity_is_searched(runtime: BareRuntime, question: str) -> None:
    """Neither who published an article nor a name that is like none in the graph starts a walk."""
    prediction = await ask(runtime, question)
    assert {"d0", "d1", "d2"} == set(ranked(prediction))
    assert [step.name for step in prediction.trace] == ["names", "search"]


async def test_the_model_may_list_the_names(runtime: BareRuntime) -> None:
    def lists(asked: Asked) -> str:
        return '{"names": ["Norrand Rail"]}' if asked.json_schema else "an answer"

    runtime.chat = Chat(lists)
    prediction = await ask(runtime, "who runs the railway on the coast?", names_by="model")
    assert (prediction.answer, list(ranked(prediction))) == ("an answer", ["d1"])


async def test_names_by_a_model_need_a_generator(runtime: BareRuntime) -> None:
    runtime.chat = None
    with pytest.raises(ConfigError, match="needs a generator"):
        await ask(runtime, "Who is Ingrid Solvane?", names_by="model")
