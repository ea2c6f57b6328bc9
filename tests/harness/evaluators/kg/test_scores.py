"""The KG-based scores on graphs small enough to work out by hand, and what they refuse."""

import sys
from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np
import pytest
from kg_samples import connected

from harness.core.errors import MissingDependency
from harness.evaluators.kg.graphs import graph as graph_module
from harness.evaluators.kg.graphs.graph import SimilarEdge, TripletSide
from harness.evaluators.kg.graphs.scores import DELTA, KgScores, paths, scores_of

Vector = Sequence[float]
EAST, NORTH, UP, DOWN = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)


def near(cosine: float) -> Vector:
    """A vector with this cosine to EAST, and 0 to UP."""
    return cosine, sqrt(1 - cosine**2), 0.0


def table(**vectors: Any) -> Callable[[list[str]], Any]:
    return lambda labels: np.array([vectors[label] for label in labels])


def score(inputs: Any, contexts: Any, *, delta: float = DELTA, **vectors: Any) -> KgScores:
    return scores_of(connected(inputs, contexts, table(**vectors)), delta)


CHAIN, CONTEXT = [("a", "is", "b"), ("b", "is", "c")], [("x", "is", "y")]


@pytest.mark.parametrize(
    ("cosine", "delta", "multi_hop", "direct"),
    [
        pytest.param(1.0, 0.5, 1.0, 0.5, id="0.2 and 0 are within 0.5"),
        pytest.param(0.7, 0.5, 1.0, 0.5, id="0.2 and 0.3 are just 0.5"),
        pytest.param(0.7, 0.2, 0.0, 0.5, id="a direct match may cost more than delta"),
        pytest.param(0.69, 0.5, 0.0, 0.0, id="below tau there is no edge"),
    ],
)
def test_an_entity_reaches_the_context_over_a_triplet_and_a_similar_edge(
    cosine: float, delta: float, multi_hop: float, direct: float
) -> None:
    found = score(CHAIN[:1], CONTEXT, delta=delta, a=UP, b=near(cosine), x=EAST, y=DOWN)
    assert (found.multi_hop, found.direct, found.multi_hop_undirected) == (multi_hop, direct, multi_hop)


def test_two_triplets_are_within_reach_only_before_an_edge_of_cosine_point_nine() -> None:
    reached = [score(CHAIN, CONTEXT, a=UP, b=UP, c=near(cosine), x=EAST, y=DOWN) for cosine in (0.9, 0.89)]
    assert [one.multi_hop for one in reached] == [1, 2 / 3]


def test_the_two_community_measures_have_different_denominators() -> None:
    """a-b is joined to x-y at both ends: one community. c-d and p-q are by themselves: two more."""
    vectors = {"a": EAST, "b": NORTH, "c": UP, "d": UP, "x": EAST, "y": NORTH, "p": DOWN, "q": DOWN}
    embed = table(**vectors)
    inputs, contexts = [("a", "is", "b"), ("c", "is", "d")], [("x", "is", "y"), ("p", "is", "q")]
    found = scores_of(connected(inputs, contexts, embed))
    assert (found.community, found.community_spread) == (0.5, 0.0)
    assert (found.community_coverage, found.community_coverage_spread) == (1 / 3, 0.0)


@pytest.mark.parametrize(("inputs", "contexts"), [([], [("a", "b", "c")]), ([("a", "b", "c")], []), ([], [])])
def test_a_text_without_triplets_scores_0_and_embeds_nothing(inputs: Any, contexts: Any) -> None:
    found = scores_of(connected(inputs, contexts, lambda labels: pytest.fail("nothing to embed")))
    assert list(found.values.values()) == [0.0] * 5


def test_a_triplet_without_head_or_tail_is_dropped_and_one_without_relation_is_not() -> None:
    side = TripletSide.of([("a", "", "b"), ("", "is", "b"), ("a", "is", " \t\n"), ("a", "is", "b")])
    assert (len(side.triplets), side.labels) == (2, ("a", "b"))


def test_a_cosine_of_tau_counts_in_single_precision() -> None:
    """Each of many dimensions is rounded to float32, which moves the cosine to either side of tau."""
    draw, edges = np.random.default_rng(0), []
    for _ in range(50):
        one, other = np.linalg.qr(draw.normal(size=(384, 2)))[0].T
        embed = table(a=np.float32(one), x=np.float32(0.7 * one + sqrt(1 - 0.49) * other))
        edges.append(len(connected([("a", "is", "a")], [("x", "is", "x")], embed).similar_edges()))
    assert edges == [1] * 50


@pytest.mark.parametrize("wrong", [float("nan"), -float("inf")])
def test_a_vector_of_no_numbers_is_refused_with_its_label(wrong: float) -> None:
    with pytest.raises(ValueError, match="'bad one'"):
        connected(
            [("a", "is", "bad one")], CONTEXT, table(**{"a": EAST, "bad one": (0, wrong, 0), "x": UP, "y": UP})
        )


def test_more_similar_edges_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_module, "MOST_PAIRS", 100)
    many = [(f"e{one}", "is", f"e{one + 1}") for one in range(20)]
    with pytest.raises(ValueError, match="more than 100 pairs of entities reach tau"):
        connected(many, many, lambda labels: np.ones((len(labels), 3)))


def test_pairs_are_the_same_however_many_rows_fit_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, contexts = ([(f"{side}{one}", "is", f"{side}{one + 1}") for one in range(40)] for side in "ab")

    def embed(labels: list[str]) -> Any:
        return np.random.default_rng(0).normal(size=(len(labels), 4))

    whole = connected(inputs, contexts, embed).similar_edges()
    monkeypatch.setattr(graph_module, "_BLOCK", 100)
    assert connected(inputs, contexts, embed).similar_edges() == whole


def test_without_igraph_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(MissingDependency, match=r"pip install 'rag-bench-harness\[evaluator-kg\]'"):
        score(CHAIN[:1], CHAIN[:1], a=EAST, b=UP)


def test_a_path_names_its_triplets_its_similar_edge_and_its_cost() -> None:
    """c is like x and, less so, like y; z is like nothing."""
    embed = table(a=UP, b=UP, c=EAST, x=near(0.9), y=(0.8, 0.6, 0.0), z=DOWN)
    far, middle, end = paths(connected(CHAIN, [("x", "saw", "y"), ("y", "saw", "z")], embed))
    assert (far.entity, far.triplets, far.cost) == ("a", tuple(CHAIN), 0.5)
    assert (middle.entity, middle.triplets, middle.cost) == ("b", tuple(CHAIN[1:]), 0.3)
    assert (end.entity, end.triplets, end.cost) == ("c", (), 0.1)
    assert far.similar == middle.similar == end.similar == SimilarEdge("c", "x", 0.9)


def test_of_two_equally_cheap_paths_the_one_with_fewer_triplets_is_named() -> None:
    embed = table(a=near(0.7), b=(0.9, -sqrt(0.19), 0.0), x=EAST, y=UP)
    match, _ = paths(connected(CHAIN[:1], CONTEXT, embed))
    assert (match.triplets, match.similar.context_entity, match.cost) == ((), "x", 0.3)
