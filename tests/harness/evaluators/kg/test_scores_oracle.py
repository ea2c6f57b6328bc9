"""The fast path against the algorithms as they are written."""

from dataclasses import asdict
from itertools import pairwise
from math import sqrt
from statistics import mean

import kg_oracle as oracle
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kg_samples import Sample, connected, sample

from harness.evaluators.kg.graphs.graph import KgGraph
from harness.evaluators.kg.graphs.scores import paths, scores_of

Triplets = list[tuple[str, str, str]]
Vectors = dict[str, oracle.Vector]

LABELS = "abcdefgh"
AXES = np.eye(3)
COSINES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6)
"""Of a slanted vector with its axis: at tau .7 and delta .5 ties are common, with and without triplets."""
SLANTED = [
    c * one + sqrt(1 - c * c) * other for c in COSINES for one in AXES for other in AXES if one @ other == 0
]
PALETTE = [np.float32(vector).astype(np.float64) for vector in (*AXES, *SLANTED, -AXES[0], 0 * AXES[0])]

label = st.sampled_from([*LABELS, *LABELS, " ", "", "b ", "\ta"])
loose = st.lists(st.tuples(label, st.sampled_from(["is", "of", ""]), label), max_size=10)


@st.composite
def chains(draw: st.DrawFn) -> Triplets:
    """Entities one behind the other, pointing one way or the other."""
    names = draw(st.lists(st.sampled_from(LABELS), min_size=2, max_size=6, unique=True))
    links = [(one, "is", other) for one, other in pairwise(names)]
    return [link[::-1] if turned else link for link in links for turned in [draw(st.integers(0, 3)) == 0]]


triplets = st.one_of(loose, chains(), st.builds(lambda one, other: one + other, loose, chains()))
vectors = st.fixed_dictionaries({name: st.sampled_from(PALETTE) for name in LABELS})
taus = st.sampled_from([0.7, 0.7, 0.7, 0.9, 0.6, 0.0, -1.0, 1.0])
deltas = st.sampled_from([0.5, 0.5, 0.5, 0.3, 0.2, 0.0, 0.7, 9.0])


def as_written(inputs: Triplets, contexts: Triplets, known: Vectors, tau: float, delta: float) -> dict[str, float]:
    graph = oracle.build_graph(inputs, contexts, known, tau)
    share, spread = oracle.over_seeds(graph, oracle.community, oracle.igraph_louvain, 3)
    coverage, coverage_spread = oracle.over_seeds(graph, oracle.community_coverage, oracle.igraph_louvain, 3)
    return {
        "multi_hop": oracle.multi_hop(graph, delta),
        "multi_hop_undirected": oracle.multi_hop(graph.to_undirected(), delta),
        "direct": oracle.direct(graph),
        "community": share,
        "community_spread": spread,
        "community_coverage": coverage,
        "community_coverage_spread": coverage_spread,
    }


def quick_graph(inputs: Triplets, contexts: Triplets, known: Vectors, tau: float) -> KgGraph:
    return connected(inputs, contexts, lambda labels: [known[one] for one in labels], tau)


def known_to(made: Sample) -> Vectors:
    return {name: vector.astype(np.float64) for name, vector in made.vectors.items()}


def agrees(inputs: Triplets, contexts: Triplets, known: Vectors, tau: float, delta: float) -> None:
    found = scores_of(quick_graph(inputs, contexts, known, tau), delta, seeds=3)
    assert asdict(found) == as_written(inputs, contexts, known, tau, delta)


graphs = given(inputs=triplets, contexts=triplets, known=vectors, tau=taus, delta=deltas)
test_the_fast_path_gives_what_the_algorithms_give = settings(max_examples=100, deadline=None)(graphs(agrees))
test_it_does_so_on_500_graphs = pytest.mark.slow(settings(max_examples=500, deadline=None)(graphs(agrees)))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(inputs=triplets, contexts=triplets, known=vectors, tau=taus, delta=deltas)
def test_a_path_is_the_cheapest_in_the_whole_graph_and_every_edge_of_it_exists(
    inputs: Triplets, contexts: Triplets, known: Vectors, tau: float, delta: float
) -> None:
    graph = oracle.build_graph(inputs, contexts, known, tau)
    others = set(oracle.entities(graph, "context"))
    costs = {
        graph.nodes[one]["label"]: oracle.cheapest(graph, one, others, delta)
        for one in oracle.entities(graph, "input")
    }

    found = paths(quick_graph(inputs, contexts, known, tau), delta)

    reachable = {name: cost for name, cost in costs.items() if cost is not None and others}
    assert {one.entity: one.cost for one in found} == pytest.approx(reachable)
    for match in found:
        ends = [match.entity, *(one.tail for one in match.triplets)]
        assert [one.head for one in match.triplets] == ends[:-1]
        assert match.similar.input_entity == ends[-1]
        similar = graph.edges[f"{ends[-1]}_in", f"{match.similar.context_entity}_ctx"]
        assert match.cost == pytest.approx(0.2 * len(match.triplets) + similar["cost"])


@pytest.mark.parametrize("seed", range(3))
def test_the_fast_path_equals_the_oracle_on_graphs_of_the_usual_size(seed: int) -> None:
    made = sample(30, 120, dimensions=24, seed=seed)
    known = known_to(made)

    found = scores_of(quick_graph(made.inputs, made.contexts, known, 0.7), seeds=3)
    assert 0 < found.multi_hop < 1
    assert asdict(found) == as_written(made.inputs, made.contexts, known, 0.7, 0.5)


@pytest.mark.slow
def test_networkx_louvain_gives_the_same_scores_on_average_and_no_better_partition() -> None:
    """Two implementations visit nodes in different orders; over 10 graphs their means agree within .03."""
    differences, gains = [], []
    for seed in range(10):
        made = sample(10, 60, dimensions=24, seed=seed)
        graph = oracle.build_graph(made.inputs, made.contexts, known_to(made), 0.7)
        found = scores_of(connected(made.inputs, made.contexts, made.embed))
        theirs = [
            oracle.over_seeds(graph, score, oracle.networkx_louvain, 10)[0]
            for score in (oracle.community, oracle.community_coverage)
        ]
        differences.append(np.subtract([found.community, found.community_coverage], theirs))
        ours, others = (
            mean(nx.community.modularity(graph.to_undirected(), louvain(graph, one)) for one in range(3))
            for louvain in (oracle.igraph_louvain, oracle.networkx_louvain)
        )
        gains.append(ours - others)
    assert np.abs(np.mean(differences, axis=0)).max() < 0.03
    assert np.abs(differences).max() < 0.15
    assert mean(gains) > -0.001
