"""What a graph store keeps, finds and answers, held against Ladybug and Neo4j alike."""

import time

import numpy as np
import pytest
from graph_samples import EDGES, directions, expected, graph, passages_of, texts, unit, written
from hostile_cypher import AT_THE_BOUND, HEAVY

from harness.core.records import Document, Span
from harness.protocols import Vectors
from systems.common.chunking import Chunk
from systems.common.graph_stores.contract import AskFailed, EntityHit, GraphStore, Sources
from systems.common.headings import document_heading
from systems.cypher_agent.statement_check import read_statement

from .conftest import ALIKE, PEOPLE, Stored

# The graph


async def test_the_triplets_of_an_entity_are_those_that_start_or_end_at_it(sample: Stored) -> None:
    store, kept = sample
    found = await store.triplets_of(["openai"])
    assert found == expected(kept, ["openai"])
    assert [(item.head, item.relation, item.tail) for item in found] == [
        ("OpenAI", "PARTNER_OF", "Microsoft"),
        ("OpenAI", "PART_OF", "Silicon Valley"),
        ("Sam Altman", "LEADS", "OpenAI"),
    ]
    assert found[2].chunk_ids == ("000000-00000", "000002-00000")
    assert found[2].doc_ids == ("d0", "d2")


@pytest.mark.slow
async def test_a_random_graph_comes_back_whole_in_the_order_of_the_graph(large: Stored) -> None:
    store, kept = large
    everyone = [entity.entity_id for entity in kept.entities]
    assert await store.triplets_of(everyone) == expected(kept, everyone)
    assert await store.triplets_of(everyone[:7]) == expected(kept, everyone[:7])


async def test_entities_mentions_and_publishers_come_in_a_fixed_order_without_duplicates(sample: Stored) -> None:
    store, _ = sample
    found = await store.entities(["github", "nobody", "' OR 1=1 //", "", "openai", "github"])
    assert [(hit.entity_id, hit.name, hit.kind, hit.degree) for hit in found] == [
        ("github", "GitHub", "Person", 1),
        ("openai", "OpenAI", "Person", 3),
    ]
    assert await store.mentions_of(["github", "sam altman", "lonely", "nobody", "github"]) == {
        "github": ("000002-00000", "000003-00000"),
        "sam altman": ("000000-00000", "000002-00000"),
    }
    assert (await store.entities([]), await store.mentions_of([])) == ([], {})
    assert await store.publishers() == ["The Post", "Wire", "Zürich \n'Post'"]


async def test_sources_are_the_stored_documents_with_their_dates(sample: Stored) -> None:
    store, _ = sample
    found = await store.sources(["d4", "made up", "d1", "d4"], ["000001-00000", "000007-00000", "none"])
    assert found.published == {"d4": "2024-01-05", "d1": "2024-01-02", "d7": "2024-01-08"}
    assert found.owners == {"000001-00000": "d1", "000007-00000": "d7"}
    assert await store.sources([], []) == Sources({}, {})


# Full text


async def names(store: GraphStore, phrase: str, limit: int = 10) -> list[str]:
    return [hit.name for hit in await store.find_entities(phrase, limit)]


async def test_entities_are_found_by_any_word_of_their_names_best_first(sample: Stored) -> None:
    store, _ = sample
    assert (await names(store, "Who is Sam Altman?"))[0] == "Sam Altman"
    assert set(await names(store, "Who is Sam Altman?")) == {"Sam Altman", "Sam Smith", "Altman Street"}
    hits = await store.find_entities("sam altman", 3)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.score > 0 for hit in hits)
    assert hits[0] == EntityHit("sam altman", "Sam Altman", "Person", hits[0].score, degree=2)


async def test_equal_scores_come_by_entity_id_also_at_the_limit(sample: Stored) -> None:
    store, kept = sample
    people = [entity.name for entity in kept.entities if entity.name in PEOPLE]
    for limit in range(1, len(people) + 1):
        assert await names(store, "person", limit) == people[:limit]


async def test_words_match_whatever_their_case_accents_and_punctuation(sample: Stored) -> None:
    asked = {phrase: name for name, phrases in ALIKE.items() for phrase in phrases}
    assert {phrase: await names(sample[0], phrase) for phrase in asked} == {
        phrase: [name] for phrase, name in asked.items()
    }


HOSTILE = """
" ' \\ * a* alt~ sam^9 ( ) [a|TO|z] {a|TO|z} name:sam words:* *:* + -sam ! && || /.*/ ? AND OR|NOT NEAR(sam|altman)
"sam"|OR|"* sam|AND x:y:z \x00 sam\x00 {name:'x'} ');|DROP|TABLE|entities;-- $words \ud7ff\ue000\ufffd
"""


async def test_search_syntax_in_a_phrase_is_text(store: GraphStore) -> None:
    await written(store, graph(texts(4), EDGES))
    phrases = [phrase.replace("|", " ") for phrase in HOSTILE.split()]
    for phrase in (*phrases, "word " * 3000, "w" * 100_000, " ".join(map(str, range(3000)))):
        assert await names(store, phrase) == (["Sam Altman"] if "sam" in phrase else []), phrase


# Passages


async def numbers(store: GraphStore, vector: Vectors, k: int, among: list[str] | None = None) -> list[int]:
    found = await store.nearest_chunks(vector, k, among)
    return [int(context.doc_ids[0].removeprefix("d")) for context in found]


@pytest.mark.slow
async def test_the_nearest_of_all_or_some_chunks_are_those_that_brute_force_finds(store: GraphStore) -> None:
    rows, queries, kept = directions(1500, 32), directions(15, 32, seed=6), graph(texts(1500))
    await store.write(kept, rows)
    for query in queries:
        exact = np.argsort(-(rows @ query), kind="stable").tolist()
        for k in (1, 10, 100):
            assert await numbers(store, query, k) == exact[:k]
    query, exact = queries[0], np.argsort(-(rows @ queries[0]), kind="stable").tolist()
    scores = [context.score or 0.0 for context in await store.nearest_chunks(query, 20)]
    assert np.allclose(scores, (rows @ query)[exact[:20]], atol=1e-6)
    # The farthest, and every seventh: no search of all chunks would find the former.
    for places in (exact[-40:], exact[::7], exact[:3]):
        among = [kept.chunks[place].chunk_id for place in sorted(places)]
        assert await numbers(store, query, 10, [*among, among[0]]) == places[:10]
    assert await store.nearest_chunks(query, 10, []) == []


async def test_equal_cosines_come_in_corpus_order_also_at_the_cut(store: GraphStore) -> None:
    same, far = unit(np.ones((1, 16))), unit(np.eye(16))
    rows = np.concatenate([far[:8], same.repeat(50, 0), far[8:]])
    kept = graph(texts(len(rows)))
    await store.write(kept, rows)
    for k in (1, 5, 49, 50):
        assert await numbers(store, same[0], k) == list(range(8, 8 + k))
    among = [kept.chunks[place].chunk_id for place in (29, 14, 17, 13, 11, 18)]
    assert await numbers(store, same[0], 3, among) == [11, 13, 14]


async def test_chunks_come_in_the_order_asked_for_as_often_as_asked_for(sample: Stored) -> None:
    store, kept = sample
    wanted = [3, 0, 3, 4]
    found = await store.chunks([kept.chunks[place].chunk_id for place in wanted])
    assert found == [passages_of(kept)[place] for place in wanted]
    assert await store.chunks([]) == []
    with pytest.raises(KeyError):
        await store.chunks(["000099-00000"])


ODD_TEXTS = {
    "NUL": "a\x00b" * 10,
    "lines": "a\r\nb\r\u2028c\u2029\n\n",
    "quotes": '""" \'\' \\" \\\' \\n \\0 ` ,;[a,b]{"c": 1}\n"',
    "null": "NULL",
    "astral": "\U0001f600 e\u0301 \u202eltr \ufeff \ue000 \uffff",
    "controls": "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "Cypher": "'}) DETACH DELETE n //",
    "long": 'words, "quoted"\n' * 65_536,
}


@pytest.mark.slow
async def test_texts_come_back_to_the_letter_where_their_span_says(store: GraphStore) -> None:
    chunks = {}
    for number, text in enumerate(ODD_TEXTS.values()):
        short = text[:50]
        metadata = {"source": short, "url": short}
        source = Document(doc_id=f"id {short}", text=f"<<{text}>>", title=short, metadata=metadata)
        span = Span(doc_id=source.doc_id, start=2, end=2 + len(text))
        chunks[source.doc_id] = Chunk(f"{number:06d}-00000", text, span, source)
    kept = graph([*chunks.values()])
    await written(store, kept)
    ids = [chunk.chunk_id for chunk in kept.chunks]
    for found in (await store.chunks(ids), await store.nearest_chunks(directions(1)[0], len(ids))):
        assert {context.doc_ids for context in found} == {(doc_id,) for doc_id in chunks}
        for context in found:
            chunk = chunks[context.doc_ids[0]]
            assert context.span == chunk.span
            assert context.text == f"{document_heading(chunk.document)}\n{chunk.text}"


# Statements of a model


async def rows(store: GraphStore, text: str) -> list[list[object]]:
    return await store.ask(read_statement(text, 20), 30.0)


@pytest.mark.parametrize(
    ("statement", "answer"),
    [
        (
            "MATCH (a:Entity)-[r:RELATES]->(b) WHERE toLower(a.name) = 'sam altman' "
            "RETURN a.name, r.relation, b.name, r.chunk_ids ORDER BY b.name",
            [
                ["Sam Altman", "MENTIONS", "Microsoft", ["000000-00000"]],
                ["Sam Altman", "LEADS", "OpenAI", ["000000-00000", "000002-00000"]],
            ],
        ),
        (
            "MATCH (c:Chunk)-[:MENTIONS]->(e:Entity {name: 'GitHub'}), (c)-[:PART_OF]->(d:Document) "
            "RETURN d.doc_id, d.published_at ORDER BY d.doc_id",
            [["d2", "2024-01-03"], ["d3", "2024-01-04"]],
        ),
        ("MATCH (a)-[:PART_OF]->(b) WHERE b.name = 'Silicon Valley' RETURN a.name, a.chunk_id", []),
        ("MATCH (d:Document) WHERE d.published_at >= '2024-01-08' RETURN count(DISTINCT d.doc_id) AS n", [[2]]),
        (
            "MATCH (a)--(b) WHERE a.name = 'GitHub' RETURN b.chunk_id ORDER BY b.chunk_id",
            [["000002-00000"], ["000003-00000"], [None]],
        ),
    ],
)
async def test_both_stores_answer_alike_whatever_they_call_things_inside(
    sample: Stored, statement: str, answer: list[list[object]]
) -> None:
    """The sample has relations between entities that are called MENTIONS and PART_OF."""
    assert await rows(sample[0], statement) == answer


async def test_what_a_database_refuses_is_one_line_and_the_next_statement_is_answered(sample: Stored) -> None:
    with pytest.raises(AskFailed) as failure:
        await rows(sample[0], "MATCH (a:Entity) WITH a.name AS n RETURN a.doc_id")
    assert "\n" not in str(failure.value)
    assert await rows(sample[0], "MATCH (d:Document) RETURN d.doc_id ORDER BY d.doc_id LIMIT 1") == [["d0"]]


@pytest.mark.slow
async def test_the_largest_statements_end_in_time_and_the_next_is_answered_at_once(large: Stored) -> None:
    store, _ = large
    before, failures = await store.size(), list[str]()
    for text in (*HEAVY, *AT_THE_BOUND):
        statement, began = read_statement(text, 20), time.monotonic()
        try:
            await store.ask(statement, 0.3)
        except AskFailed as failure:
            failures.append(str(failure))
        assert time.monotonic() - began < 30
    assert failures
    began = time.monotonic()
    assert await rows(store, "MATCH (d:Document) RETURN count(d.doc_id) AS n") == [[300]]
    assert time.monotonic() - began < 10
    assert await store.size() == before
