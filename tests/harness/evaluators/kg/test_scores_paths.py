"""The paths behind multi_hop, as a reader of the graph sees them."""

from math import sqrt

import pytest

from harness.evaluators.kg.graphs import KgGraph, SimilarEdge, TripletSide, connect, paths

FAR, NEAR = (0.0, 0.0, 1.0), (0.9, sqrt(0.19), 0.0)


@pytest.fixture
def graph() -> KgGraph:
    """a -> b -> c, where c is like x and, less so, like y; z is like nothing."""
    vectors = {"a": FAR, "b": FAR, "c": (1.0, 0.0, 0.0), "x": NEAR, "y": (0.8, 0.6, 0.0), "z": (0.0, 0.0, -1.0)}
    inputs = TripletSide.of([("a", "knows", "b"), ("b", "met", "c")])
    return connect(inputs, TripletSide.of([("x", "saw", "y"), ("y", "saw", "z")]), vectors)


def test_every_similar_edge_is_listed(graph: KgGraph) -> None:
    assert graph.similar_edges() == [SimilarEdge("c", "x", 0.9), SimilarEdge("c", "y", 0.8)]


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


def test_what_lies_beyond_delta_has_no_path(graph: KgGraph) -> None:
    assert [match.entity for match in paths(graph, delta=0.3)] == ["b", "c"]
    assert paths(graph, delta=0.05) == []


def test_of_two_equally_cheap_paths_the_one_with_fewer_triplets_is_named() -> None:
    vectors = {
        "a": (0.7, sqrt(0.51), 0.0),
        "b": (0.9, -sqrt(0.19), 0.0),
        "x": (1.0, 0.0, 0.0),
        "y": (0.0, 0.0, 1.0),
    }

    (match, _) = paths(connect(TripletSide.of([("a", "is", "b")]), TripletSide.of([("x", "is", "y")]), vectors))

    assert (match.path, match.cost) == (("a", "x"), 0.3)


def test_a_graph_without_a_side_has_no_path() -> None:
    assert paths(connect(TripletSide.of([]), TripletSide.of([("x", "is", "y")]), {})) == []
