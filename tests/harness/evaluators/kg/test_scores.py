"""The KG-based scores on graphs small enough to work out by hand, and what they refuse."""

import sys
from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np
import pytest

from harness.core.errors import MissingDependency
from harness.evaluators.kg.graphs import graph as graph_module
from harness.evaluators.kg.graphs.graph import KgGraph, SimilarEdge, TripletSide, connect
from harness.evaluators.kg.graphs.multi_hop import paths
from harness.evaluators.kg.graphs.scores import KgScores, kg_scores

Vector = Sequence[float]
EAST, NORTH, UP, DOWN = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)


def near(cosine: float) -> Vector:
    """A vector with this cosine to EAST, and 0 to UP."""
    return cosine, sqrt(1 - cosine**2), 0.0


def table(**vectors: Vector) -> Callable[[list[str]], Any]:
    return lambda labels: np.array([vectors[label] for label in labels], dtype=np.float32)


def score(inputs: Any, contexts: Any, **vectors: Vector) -> KgScores:
    return kg_scores(inputs, contexts, table(**vectors))


@pytest.mark.parametrize(
    ("cosine", "multi_hop", "direct"),
    [
        pytest.param(1.0, 1.0, 0.5, id="0.2 and 0 are within 0.5"),
        pytest.param(0.7, 1.0, 0.5, id="0.2 and 0.3 are just 0.5"),
        pytest.param(0.69, 0.0, 0.0, id="below tau there is no edge"),
    ],
)
def test_an_entity_reaches_the_context_over_a_triplet_and_a_similar_edge(
    cosine: float, multi_hop: float, direct: float
) -> None:
    found = score([("a", "is", "b")], [("x", "is", "y")], a=UP, b=near(cosine), x=EAST, y=DOWN)

    assert (found.multi_hop, found.direct, found.multi_hop_undirected) == (multi_hop, direct, multi_hop)


def test_two_triplets_are_within_reach_only_before_an_edge_of_cosine_point_nine() -> None:
    chain, context = [("a", "is", "b"), ("b", "is", "c")], [("x", "is", "y")]

    assert score(chain, context, a=UP, b=UP, c=near(0.9), x=EAST, y=DOWN).multi_hop == 1
    assert score(chain, context, a=UP, b=UP, c=near(0.89), x=EAST, y=DOWN).multi_hop == 2 / 3


def test_a_direct_match_may_cost_more_than_delta() -> None:
    embed = table(a=UP, b=near(0.7), x=EAST, y=DOWN)

    found = kg_scores([("a", "is", "b")], [("x", "is", "y")], embed, delta=0.2)

    assert (found.direct, found.multi_hop) == (0.5, 0.0)


def test_the_two_community_measures_have_different_denominators() -> None:
    """a-b is joined to x-y at both ends: one community. c-d and p-q are by themselves: two more."""
    found = score(
        [("a", "is", "b"), ("c", "is", "d")],
        [("x", "is", "y"), ("p", "is", "q")],
        **{"a": EAST, "b": NORTH, "c": UP, "d": UP, "x": EAST, "y": NORTH, "p": DOWN, "q": DOWN},
    )

    assert (found.community, found.community_spread) == (0.5, 0.0)
    assert (found.community_coverage, found.community_coverage_spread) == (1 / 3, 0.0)
    assert (found.input_entities, found.context_entities, found.similar_edges) == (4, 4, 2)


@pytest.mark.parametrize(("inputs", "contexts"), [([], [("a", "b", "c")]), ([("a", "b", "c")], []), ([], [])])
def test_a_side_without_triplets_scores_0_and_embeds_nothing(inputs: Any, contexts: Any) -> None:
    found = kg_scores(inputs, contexts, lambda labels: pytest.fail("nothing to embed"))

    values = (found.multi_hop, found.multi_hop_undirected, found.direct, found.community, found.community_coverage)
    assert values == (0.0,) * 5
    assert (found.input_entities, found.context_entities) == (2 * len(inputs), 2 * len(contexts))


def test_a_triplet_without_head_or_tail_is_dropped_and_counted_one_without_relation_is_not() -> None:
    triplets = [("a", "", "b"), ("", "is", "b"), ("a", "is", " \t\n"), ("a", "is", "b")]

    side = TripletSide.of(triplets)

    assert (len(side.triplets), side.dropped, side.labels) == (2, 2, ("a", "b"))
    assert score(triplets, triplets, a=EAST, b=UP).dropped_triplets == 4


def test_a_cosine_of_tau_counts_in_single_precision() -> None:
    """Each of many dimensions is rounded to float32, which moves the cosine to either side of tau."""
    draw, edges = np.random.default_rng(0), []
    for _ in range(50):
        one, other = np.linalg.qr(draw.normal(size=(384, 2)))[0].T
        vectors = {"a": one, "x": 0.7 * one + sqrt(1 - 0.49) * other}
        found = kg_scores(
            [("a", "is", "a")],
            [("x", "is", "x")],
            lambda labels, known=vectors: np.array([known[label] for label in labels], np.float32),  # type: ignore[misc]
        )
        edges.append(found.similar_edges)

    assert edges == [1] * 50


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_a_vector_that_is_no_vector_is_refused_by_its_label(wrong: float) -> None:
    with pytest.raises(ValueError, match="'bad one'"):
        score(
            [("a", "is", "bad one")], [("c", "is", "d")], **{"a": EAST, "bad one": (0, wrong, 0), "c": UP, "d": UP}
        )


@pytest.mark.parametrize("rows", [np.ones((3, 2)), np.ones(4), np.ones((4, 0)), np.ones((4, 2, 2)), np.ones(())])
def test_an_array_of_another_shape_is_refused(rows: Any) -> None:
    with pytest.raises(ValueError, match=r"'a'.*shape|shape.*'a'"):
        kg_scores([("a", "is", "b")], [("c", "is", "d")], lambda labels: rows)


def test_vectors_of_different_lengths_are_refused_by_label() -> None:
    sides = TripletSide.of([("a", "is", "b")]), TripletSide.of([("c", "is", "d")])

    with pytest.raises(ValueError, match=r"'b' has the shape \(2,\)"):
        connect(*sides, {"a": [1], "b": [1, 2], "c": [1], "d": [1]})
    with pytest.raises(ValueError, match="input vectors have 1 dimensions, context vectors 2"):
        connect(*sides, {"a": [1], "b": [1], "c": [1, 2], "d": [1, 2]})
    with pytest.raises(ValueError, match="not 2 parts"):
        TripletSide.of([("a", "b")])


@pytest.mark.parametrize(
    "wrong", [{"tau": 1.1}, {"tau": float("nan")}, {"delta": -0.1}, {"delta": float("nan")}, {"seeds": 0}]
)
@pytest.mark.parametrize("triplets", [[], [("a", "is", "b")]])
def test_parameters_that_cannot_be_are_refused_whatever_the_triplets(wrong: Any, triplets: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        kg_scores(triplets, triplets, lambda labels: np.eye(len(labels)), **wrong)


def test_more_similar_edges_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_module, "MOST_PAIRS", 100)
    many = [(f"e{one}", "is", f"e{one + 1}") for one in range(20)]

    with pytest.raises(ValueError, match="more than 100 pairs of entities reach tau"):
        kg_scores(many, many, lambda labels: np.ones((len(labels), 3)))


def test_pairs_are_the_same_however_many_rows_fit_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(50, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    whole = graph_module.similar_pairs(rows, rows[:30], 0.7)

    monkeypatch.setattr(graph_module, "_BLOCK", 100)

    for one, other in zip(graph_module.similar_pairs(rows, rows[:30], 0.7), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_igraph_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)

    with pytest.raises(MissingDependency, match=r"pip install 'rag-bench-harness\[evaluator-kg\]'"):
        score([("a", "is", "b")], [("a", "is", "b")], a=EAST, b=UP)


FAR, NEAR = (0.0, 0.0, 1.0), (0.9, sqrt(0.19), 0.0)


@pytest.fixture
def graph() -> KgGraph:
    """a -> b -> c, where c is like x and, less so, like y; z is like nothing."""
    vectors = {"a": FAR, "b": FAR, "c": (1.0, 0.0, 0.0), "x": NEAR, "y": (0.8, 0.6, 0.0), "z": (0.0, 0.0, -1.0)}
    inputs = TripletSide.of([("a", "knows", "b"), ("b", "met", "c")])
    return connect(inputs, TripletSide.of([("x", "saw", "y"), ("y", "saw", "z")]), vectors)


def test_a_path_names_its_triplets_its_similar_edge_and_its_cost(graph: KgGraph) -> None:
    far, middle, end = paths(graph)

    assert far.path == ("a", "knows", "b", "met", "c", "x")
    assert (far.triplets, far.similar, far.cost) == (
        (("a", "knows", "b"), ("b", "met", "c")),
        SimilarEdge("c", "x", 0.9),
        0.5,
    )
    assert (middle.path, middle.cost) == (("b", "met", "c", "x"), 0.3)
    assert (end.path, end.triplets, end.cost) == (("c", "x"), (), 0.1)


def test_of_two_equally_cheap_paths_the_one_with_fewer_triplets_is_named() -> None:
    vectors = {
        "a": (0.7, sqrt(0.51), 0.0),
        "b": (0.9, -sqrt(0.19), 0.0),
        "x": (1.0, 0.0, 0.0),
        "y": (0.0, 0.0, 1.0),
    }

    (match, _) = paths(connect(TripletSide.of([("a", "is", "b")]), TripletSide.of([("x", "is", "y")]), vectors))

    assert (match.path, match.cost) == (("a", "x"), 0.3)
