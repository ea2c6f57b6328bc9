"""GraphML, read back by NetworkX."""

import io
from typing import Any
from xml.etree import ElementTree

import networkx
import pytest
from judges import WordEmbedder

from harness.evaluators.kg.graphs import KgGraph, TripletSide, connect, distinct_labels, paths
from harness.evaluators.kg.graphs.drawing import graphml

Triplets = list[tuple[str, str, str]]


def graph_of(inputs: Triplets, contexts: Triplets) -> KgGraph:
    sides, words = (TripletSide.of(inputs), TripletSide.of(contexts)), WordEmbedder()
    return connect(*sides, {label: words.vector(label) for label in distinct_labels(*sides)})


def read_back(graph: KgGraph) -> Any:
    return networkx.read_graphml(io.StringIO(graphml(graph, paths(graph))))


def shown(whole: Any, edge: tuple[str, str]) -> tuple[str, str]:
    return whole.nodes[edge[0]]["label"], whole.nodes[edge[1]]["label"]


def test_the_whole_graph_comes_back_with_its_path() -> None:
    graph = graph_of([("Ann Smith", "leads", "Acme"), ("Tom", "knows", "Eve")], [("Acme Corp", "makes", "soup")])
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
    whole = read_back(graph_of([(label, label, "b")], [("c", "d", "e")]))

    labels = sorted(data["label"] for _, data in whole.nodes(data=True) if data["group"] == "input")
    assert labels == sorted([back, back, "b"])


def test_the_same_graph_gives_the_same_document_whose_ids_are_unique() -> None:
    inputs: Triplets = [(f"a{n}", "then", f"a{n + 1}") for n in range(20)]
    documents = {
        graphml(graph, paths(graph)) for graph in (graph_of(inputs, inputs), graph_of(inputs[::-1], inputs))
    }

    assert len(documents) == 1
    root = ElementTree.fromstring(documents.pop())
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
