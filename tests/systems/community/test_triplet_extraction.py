from harness.core.records import Document, Triplet
from harness.extraction.types import FoundEntity, TextGraph
from systems.common.chunking import ChunkParams, iter_chunks
from systems.common.extraction.graph_assembly import assemble
from systems.common.graph_types import KnowledgeGraph
from systems.community.triplet_extraction import Edge, Node, SourcedTriplet, edges_of, nodes_of

CHUNKS = list(iter_chunks([Document(doc_id=str(n), text=f"Text {n}.") for n in range(7)], ChunkParams()))


def graph(*found: TextGraph) -> KnowledgeGraph:
    return assemble(CHUNKS[: len(found)], found)


def stating(*triplets: tuple[str, str, str]) -> TextGraph:
    return TextGraph(triplets=tuple(Triplet(*triplet) for triplet in triplets))


def test_a_node_is_described_by_what_is_stated_of_it_most_often_first() -> None:
    built, owns = ("Tidewright", "Built", "Gull Sound"), ("Tidewright", "is owner-of", "Brennick Yard")
    nodes = nodes_of(
        graph(stating(owns, built), stating(built), TextGraph(entities=(FoundEntity("Oake", "Person"),)))
    )
    first, second, third = (chunk.chunk_id for chunk in CHUNKS[:3])
    built_it = SourcedTriplet(Triplet(*built)._replace(relation="built"))
    owns_it = SourcedTriplet(Triplet(*owns)._replace(relation="is owner of"))
    assert nodes == [
        Node("Brennick Yard", "", (owns_it,), (first,)),
        Node("Gull Sound", "", (built_it,), (first, second)),
        Node("Oake", "Person", (), (third,)),
        Node("Tidewright", "", (built_it, owns_it), (first, second)),
    ]


def test_an_edge_gathers_both_directions_and_counts_each_chunk_once() -> None:
    found = [stating(("Zed", "pays", "Abe"), ("Abe", "owes", "Zed")), stating(("abe", "owes", "Zed"))]
    assert edges_of(graph(*found)) == [
        Edge(
            "Abe",
            "Zed",
            (SourcedTriplet(Triplet("Abe", "owes", "Zed")), SourcedTriplet(Triplet("Zed", "pays", "Abe"))),
            (CHUNKS[0].chunk_id, CHUNKS[1].chunk_id),
        )
    ]


def test_a_statement_names_each_document_that_states_it_once_and_no_more_than_three() -> None:
    dates = [("Post", "2024-03-01T09"), ("Post", "2024-03-01T10"), ("", ""), ("Daily\n", ""), ("", "2024-04-01")]
    told = [
        Document(doc_id=str(n), text=f"Text {n}.", title=f"T{n}", metadata={"source": one, "published_at": date})
        for n, (one, date) in enumerate(dates)
    ]
    chunks = list(iter_chunks(told, ChunkParams()))
    (edge,) = edges_of(assemble(chunks, [stating(("Abe", "owes", "Zed"))] * len(chunks)))
    (statement,) = edge.stated
    assert statement.origins == ("Post, 2024-03-01", "T2", "Daily", "2024-04-01")
    assert statement.text == "Abe owes Zed (Post, 2024-03-01; T2; Daily; 1 more)"
