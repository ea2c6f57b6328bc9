"""The picture of one comparison: what it holds, and its bytes; and GraphML, read back by NetworkX."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx
import numpy as np
import pytest
from judges import WordEmbedder
from kg_samples import connected

from harness.display.plotting import PALETTE
from harness.evaluators.kg.graphs.drawing import choose, draw_query_graph, graphml
from harness.evaluators.kg.graphs.graph import KgGraph
from harness.evaluators.kg.graphs.scores import paths

Triplets = list[tuple[str, str, str]]
PATH, MISSED = PALETTE[0].lower(), PALETTE[5].lower()


def graph_of(inputs: Triplets, contexts: Triplets, same: Mapping[str, str] | None = None) -> KgGraph:
    """All labels have a cosine of 0, except those that are the `same`."""

    def embed(labels: list[str]) -> list[Any]:
        rows = dict(zip(labels, np.eye(len(labels)), strict=True))
        return [rows[(same or {}).get(label, label)] for label in labels]

    return connected(inputs, contexts, embed)


def chain(name: str, length: int) -> Triplets:
    return [(f"{name}{place:03d}", "then", f"{name}{place + 1:03d}") for place in range(length)]


def draw(graph: KgGraph, folder: Path, title: str = "a title") -> Path:
    return draw_query_graph(graph, paths(graph), title, folder, "graph")


def test_paths_are_blue_and_missed_entities_are_crossed_and_vermilion(tmp_path: Path) -> None:
    found = graph_of([("Ann", "leads", "Acme"), ("Tom", "knows", "Eve")], [("Acme", "makes", "soup")])
    svg = draw(found, tmp_path).read_text()

    # Boxes of Ann, Acme and, on the other side, Acme; two arrows of a line and a head each; the SIMILAR edge.
    assert svg.count(f"stroke: {PATH}") == 3 + 4 + 1
    assert svg.count(f"stroke: {MISSED}") == 2
    assert svg.count("stroke-dasharray") == 1 + 2
    # The two Acmes, and those around them that share their community; not Tom and Eve.
    assert 2 <= svg.count("fill: #e3eefb") <= 4


def test_in_a_large_graph_paths_are_drawn_first_and_then_their_neighbours() -> None:
    graph = graph_of(chain("a", 300), [*chain("b", 300), ("hub", "joins", "b250")], {"b250": "a200"})
    matches = paths(graph)
    shown = choose(graph, matches)

    reached = {graph.inputs.labels.index(match.entity) for match in matches}
    assert reached == {graph.inputs.labels.index(f"a{place}") for place in (198, 199, 200)}
    assert set(shown.inputs[:3]) == reached
    assert len(shown.inputs) == 24
    assert {graph.contexts.labels[place] for place in shown.contexts} == {"b249", "b250", "b251", "hub"}
    assert {graph.inputs.triplets[place].head for place in shown.input_triplets} >= {"a198", "a199"}
    assert shown.left_out == 301 + 302 + 300 + 301 - sum(len(column) for column in shown[:4])


@pytest.mark.slow
def test_a_picture_of_a_large_graph_stays_a_page(tmp_path: Path) -> None:
    small = draw(graph_of(chain("a", 3), chain("a", 3)), tmp_path / "small").stat().st_size
    large = draw(graph_of(chain("a", 400), chain("a", 400)), tmp_path / "large").stat().st_size
    assert large < 10 * small


@pytest.mark.slow
@pytest.mark.parametrize(
    "label", ["$\\frac{$ and $x^2$ <b>&amp;", "Ac\x00me\x1b[31m 東京", "half \ud83d" + "x" * 5000]
)
def test_a_hostile_label_is_drawn_as_text(label: str, tmp_path: Path) -> None:
    picture = draw(graph_of([(label, label, "b")], [("b", label, label)]), tmp_path, title=label)

    ElementTree.parse(picture)


def worded_graph_of(inputs: Triplets, contexts: Triplets) -> KgGraph:
    words = WordEmbedder()
    return connected(inputs, contexts, lambda labels: [words.vector(label) for label in labels])


def read_back(graph: KgGraph) -> Any:
    return networkx.read_graphml(io.StringIO(graphml(graph, paths(graph))))


def shown(whole: Any, edge: tuple[str, str]) -> tuple[str, str]:
    return whole.nodes[edge[0]]["label"], whole.nodes[edge[1]]["label"]


def test_the_whole_graph_comes_back_with_its_path() -> None:
    graph = worded_graph_of(
        [("Ann Smith", "leads", "Acme"), ("Tom", "knows", "Eve")], [("Acme Corp", "makes", "soup")]
    )
    whole = read_back(graph)

    nodes = {(data["label"], data["type"], data["group"]) for _, data in whole.nodes(data=True)}
    assert nodes == {
        *((label, "entity", "input") for label in ("Ann Smith", "Acme", "Tom", "Eve")),
        *((label, "relation", "input") for label in ("leads", "knows")),
        *((label, "entity", "context") for label in ("Acme Corp", "soup")),
        ("makes", "relation", "context"),
    }
    edges = {shown(whole, edge): data for *edge, data in whole.edges(data=True)}
    assert {ends for ends, data in edges.items() if data["kind"] == "STATES"} == {
        *(("Ann Smith", "leads"), ("leads", "Acme"), ("Tom", "knows"), ("knows", "Eve")),
        *(("Acme Corp", "makes"), ("makes", "soup")),
    }
    similar = edges["Acme", "Acme Corp"]
    assert (similar["kind"], similar["on_path"]) == ("SIMILAR", True)
    assert similar["weight"] == pytest.approx(0.5**0.5)
    assert similar["cost"] == pytest.approx(1 - 0.5**0.5)
    assert (edges["leads", "Acme"]["weight"], edges["leads", "Acme"]["cost"]) == (0.9, 0.1)
    assert {ends for ends, data in edges.items() if data["on_path"]} == {
        *(("Ann Smith", "leads"), ("leads", "Acme"), ("Acme", "Acme Corp")),
    }
    on_path = {data["label"] for _, data in whole.nodes(data=True) if data["on_path"]}
    assert on_path == {"Ann Smith", "leads", "Acme", "Acme Corp"}
    matched = {data["label"]: data["matched"] for _, data in whole.nodes(data=True) if "matched" in data}
    assert matched == {"Ann Smith": True, "Acme": True, "Tom": False, "Eve": False}


@pytest.mark.parametrize(
    ("label", "back"),
    [
        ("Ac\x00me\x1b[31m\ufffe", "Ac me [31m"),
        ("half \ud83d an emoji", "half an emoji"),
        ("</data><node id='x'/> & \"quotes\"", "</data><node id='x'/> & \"quotes\""),
        ("$x^2$ 東京 🙂", "$x^2$ 東京 🙂"),
    ],
)
def test_a_hostile_label_is_text_in_a_document_that_parses(label: str, back: str) -> None:
    whole = read_back(worded_graph_of([(label, label, "b")], [("c", "d", "e")]))

    labels = sorted(data["label"] for _, data in whole.nodes(data=True) if data["group"] == "input")
    assert labels == sorted([back, back, "b"])


def test_a_graph_gives_one_document_with_unique_ids() -> None:
    inputs: Triplets = [(f"a{n}", "then", f"a{n + 1}") for n in range(20)]
    documents = {
        graphml(graph, paths(graph))
        for graph in (worded_graph_of(inputs, inputs), worded_graph_of(inputs[::-1], inputs))
    }
    assert len(documents) == 1
    root = ElementTree.fromstring(documents.pop())
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
