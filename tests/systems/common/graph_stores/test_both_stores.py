"""What a graph store keeps and finds, held against Ladybug and Neo4j alike."""

from typing import TYPE_CHECKING

import numpy as np
import pytest
from graph_samples import (
    EDGES,
    chunks_of,
    directions,
    expected,
    graph,
    passages_of,
    random_graph,
    texts,
    unit,
    written,
)

from harness.core.records import Document, Span
from systems.common.chunking import Chunk
from systems.common.graph_stores.contract import EntityHit, GraphStore
from systems.common.headings import document_heading

if TYPE_CHECKING:
    from harness.protocols import Vectors

# --- the graph


async def test_the_triplets_of_an_entity_are_those_that_start_or_end_at_it(store: GraphStore) -> None:
    kept = graph(texts(4), EDGES)
    await written(store, kept)
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
async def test_a_random_graph_comes_back_whole_in_the_order_of_the_graph(store: GraphStore) -> None:
    kept = random_graph(texts(50), entities=200, relations=2000)
    await written(store, kept)
    everyone = [entity.entity_id for entity in kept.entities]
    assert await store.triplets_of(everyone) == expected(kept, everyone)
    assert await store.triplets_of(everyone[:7]) == expected(kept, everyone[:7])


# --- entities by id, who mentions them, who published


async def test_entities_come_by_their_ids_in_the_order_asked_for_each_once(store: GraphStore) -> None:
    await written(store, graph(texts(4), EDGES))
    found = await store.entities(["github", "nobody", "' OR 1=1 //", "", "openai", "github"])
    assert [(hit.entity_id, hit.name, hit.kind, hit.degree) for hit in found] == [
        ("github", "GitHub", "Person", 1),
        ("openai", "OpenAI", "Person", 3),
    ]
    assert await store.entities([]) == []


async def test_who_mentions_an_entity_is_told_in_the_order_of_the_corpus(store: GraphStore) -> None:
    await written(store, graph(texts(4), EDGES, ["Lonely"]))
    found = await store.mentions_of(["github", "sam altman", "lonely", "nobody", "github"])
    assert found == {
        "github": ("000002-00000", "000003-00000"),
        "sam altman": ("000000-00000", "000002-00000"),
    }
    assert await store.mentions_of([]) == {}


async def test_publishers_are_told_once_and_only_where_documents_name_them(store: GraphStore) -> None:
    sources = ["Wire", "Post", "", "Wire", "Zürich \n'Post'"]
    documents = [
        Document(doc_id=f"d{place}", text="x", metadata={"source": source} if source else {})
        for place, source in enumerate(sources)
    ]
    await written(store, graph(chunks_of(documents)))
    assert await store.publishers() == ["Post", "Wire", "Zürich \n'Post'"]


# --- full text


async def names(store: GraphStore, phrase: str, limit: int = 10) -> list[str]:
    return [hit.name for hit in await store.find_entities(phrase, limit)]


async def test_entities_are_found_by_any_word_of_their_names_best_first(store: GraphStore) -> None:
    await written(store, graph(texts(4), EDGES, ["Sam Smith", "Samsung", "Altman Street"]))
    assert (await names(store, "Who is Sam Altman?"))[0] == "Sam Altman"
    assert set(await names(store, "Who is Sam Altman?")) == {"Sam Altman", "Sam Smith", "Altman Street"}
    hits = await store.find_entities("sam altman", 3)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.score > 0 for hit in hits)
    assert hits[0] == EntityHit("sam altman", "Sam Altman", "Person", hits[0].score, degree=2)


async def test_equal_scores_come_by_entity_id_also_at_the_limit(store: GraphStore) -> None:
    people = [f"Person {letter}" for letter in ("z", "y", "\u00e9", "\u4e2d", "\U00020000", "\uffdc", "b", "B2")]
    kept = graph(texts(1), names=people)
    await written(store, kept)
    for limit in range(1, len(people) + 1):
        assert await names(store, "person", limit) == [entity.name for entity in kept.entities][:limit]


ALIKE = {
    "Café Müller": ("cafe", "MULLER", "Cafe\u0301"),
    "O'Brien & Sons": ("brien", "O\u2019Brien"),
    "AT&T": ("at&t", "AT"),
    "U.S. Steel": ("U.S.", "steel."),
    "Straße": ("STRASSE",),
    "Владимир Зеленский": ("зеленский",),
    "नरेन्द्र मोदी": ("मोदी",),
    "腾讯": ("腾讯",),
    "\ufb01rst \u2167": ("FIRST", "viii"),
    "C++": ("c#",),
    "and or not near": ("NOT", "AND OR"),
    "3.14": ("14",),
    "snake_case": ("case",),
}


async def test_words_match_whatever_their_case_accents_and_punctuation(store: GraphStore) -> None:
    await written(store, graph(texts(1), names=[*ALIKE, "nobody else"]))
    asked = {phrase: name for name, phrases in ALIKE.items() for phrase in phrases}
    assert {phrase: await names(store, phrase) for phrase in asked} == {
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


# --- passages


async def numbers(store: GraphStore, vector: "Vectors", k: int) -> list[int]:
    return [int(context.doc_ids[0].removeprefix("d")) for context in await store.nearest_chunks(vector, k)]


@pytest.mark.slow
async def test_the_nearest_chunks_are_those_that_brute_force_finds(store: GraphStore) -> None:
    rows, queries = directions(1500, 32), directions(15, 32, seed=6)
    await store.write(graph(texts(1500)), rows)
    for query in queries:
        for k in (1, 10, 100):
            exact = np.argsort(-(rows @ query), kind="stable")[:k].tolist()
            assert await numbers(store, query, k) == exact
    scores = [context.score or 0.0 for context in await store.nearest_chunks(queries[0], 20)]
    assert np.allclose(scores, np.sort(rows @ queries[0])[::-1][:20], atol=1e-6)


async def test_equal_cosines_come_in_corpus_order_also_at_the_cut(store: GraphStore) -> None:
    same, far = unit(np.ones((1, 16))), unit(np.eye(16))
    rows = np.concatenate([far[:8], same.repeat(50, 0), far[8:]])
    await store.write(graph(texts(len(rows))), rows)
    for k in (1, 5, 49, 50):
        assert await numbers(store, same[0], k) == list(range(8, 8 + k))


@pytest.mark.slow
async def test_the_nearest_of_some_chunks_are_those_that_brute_force_finds_however_far_down_they_are(
    store: GraphStore,
) -> None:
    rows, query = directions(1500, 32), directions(1, 32, seed=6)[0]
    kept = graph(texts(1500))
    await store.write(kept, rows)
    exact = np.argsort(-(rows @ query), kind="stable").tolist()
    # The farthest, and every seventh: no search of all chunks would come upon the former.
    for places in (exact[-40:], exact[::7], exact[:3]):
        among = [kept.chunks[place].chunk_id for place in sorted(places)]
        found = await store.nearest_chunks(query, 10, [*among, among[0]])
        assert [int(each.doc_ids[0].removeprefix("d")) for each in found] == places[:10]
        assert np.allclose([each.score or 0.0 for each in found], (rows @ query)[places[:10]], atol=1e-6)
    assert await store.nearest_chunks(query, 10, []) == []


async def test_of_some_chunks_with_equal_cosines_the_first_of_the_corpus_come(store: GraphStore) -> None:
    kept = graph(texts(30))
    await store.write(kept, unit(np.ones((1, 16))).repeat(30, 0))
    among = [kept.chunks[place].chunk_id for place in (29, 4, 17, 3, 11, 8)]
    found = await store.nearest_chunks(unit(np.ones((1, 16)))[0], 3, among)
    assert [each.doc_ids[0] for each in found] == ["d3", "d4", "d8"]


async def test_chunks_come_in_the_order_asked_for_as_often_as_asked_for(store: GraphStore) -> None:
    kept = graph(texts(5))
    await written(store, kept)
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
        source = Document(
            doc_id=f"id {text[:50]}",
            text=f"<<{text}>>",
            title=text[:50],
            metadata={"source": text[:50], "url": text[:50]},
        )
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
