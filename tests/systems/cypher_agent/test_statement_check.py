"""Which statements may be run, and what becomes of them."""

import time

import pytest
from hostile_cypher import (
    AT_THE_BOUND,
    BOMBS,
    HARMLESS,
    HEAVY,
    PROCEDURES,
    READS_FILES,
    REFUSED,
    SENDS_REQUESTS,
    WRITES,
)

from systems.common.graph_stores.contract import ReadStatement, StatementPiece
from systems.cypher_agent.graph_query import statement_in
from systems.cypher_agent.statement_check import Refused, read_statement


def spelled(piece: StatementPiece) -> str:
    return f":{piece.value}" if piece.value and piece.kind != "edge" else ""


def text_of(statement: ReadStatement) -> str:
    return statement.spelled(spelled)[0]


@pytest.mark.parametrize("statement", (*REFUSED, *BOMBS))
def test_whatever_is_not_a_question_about_the_graph_is_refused(statement: str) -> None:
    before = time.monotonic()
    with pytest.raises(Refused) as refusal:
        read_statement(statement, 20)
    said = str(refusal.value)
    assert said
    assert "\n" not in said
    assert len(said) < 400
    assert time.monotonic() - before < 20


@pytest.mark.parametrize(
    "disguise",
    [
        "/* MATCH (d:Document) RETURN d.doc_id */ {}",
        "MATCH (d:Document) RETURN d.doc_id; {}",
        "MATCH (d:Document) RETURN d.doc_id UNION {}",
        "MATCH (d:Document) WITH d.doc_id AS doc_id {}",
    ],
)
def test_a_harmful_statement_is_refused_in_any_disguise(disguise: str) -> None:
    for statement in (*WRITES, *READS_FILES, *SENDS_REQUESTS, *PROCEDURES):
        for text in (statement, statement.lower()):
            with pytest.raises(Refused):
                read_statement(disguise.format(text), 20)


def test_a_node_that_a_pattern_names_again_is_no_other_node() -> None:
    again = "MATCH (c:Chunk), " + ", ".join("(c)-[:MENTIONS]->(e:Entity)" for _ in range(8)) + " RETURN c.doc_id"
    assert text_of(read_statement(again, 20))
    with pytest.raises(Refused):
        read_statement(again.replace("(c)-", "(:Chunk)-"), 20)


def test_a_node_without_a_label_is_of_this_graph_wherever_a_pattern_names_it_first() -> None:
    def marked(statement: str) -> str:
        read = read_statement(statement, 20)
        return read.spelled(lambda piece: "!" if piece.kind == "any_node" else "")[0]

    assert marked("MATCH (a), (b:Chunk), (b), (a) RETURN a.doc_id").count("!") == 1
    assert marked("MATCH (a:Chunk) WITH a.doc_id AS i MATCH (a) RETURN a.doc_id, i").count("!") == 1
    assert marked("MATCH (a), (), () RETURN a.doc_id").count("!") == 3


def test_texts_become_parameters_and_the_rest_is_written_anew() -> None:
    statement = read_statement(
        "match (c:Chunk)-[:PART_OF]->(d : Document) // a comment\n"
        "WHERE d.source = 'The \\'Post\\'' /* another */ AND d.url = \"https://x.y/(z\" RETURN d.doc_id AS id, "
        "c.end",
        20,
    )
    text, parameters = statement.spelled(spelled)
    assert text == (
        "MATCH ( c :Chunk ) - [ _6 :PART_OF  ] -> ( d :Document ) WHERE d . `source` = $text0 AND "
        "d . `url` = $text1 RETURN d . `doc_id` AS id, c . `end` LIMIT 20"
    )
    assert parameters == {"text0": "The 'Post'", "text1": "https://x.y/(z"}
    assert [(column.name, column.source) for column in statement.columns] == [("id", "doc_id"), ("c.end", "")]


@pytest.mark.parametrize(("asked", "rows"), [("", 20), (" LIMIT 5", 5), (" LIMIT 100000", 20)])
def test_no_statement_gives_more_rows_than_it_may(asked: str, rows: int) -> None:
    text = text_of(read_statement(f"MATCH (d:Document) RETURN d.doc_id{asked}", 20))
    assert text.endswith(f" LIMIT {rows}")
    assert text.count("LIMIT") == 1


@pytest.mark.parametrize(
    "statement",
    [
        *AT_THE_BOUND,
        *HEAVY,
        *HARMLESS,
        "MATCH (e:Entity)<-[m:MENTIONS]-(c) WITH e, count(m) AS n, collect(DISTINCT c.chunk_id) AS ids "
        "WHERE n >= 2 RETURN e.name, n, ids ORDER BY n DESC, e.name",
        "MATCH (a)--(b) WHERE a.name = 'x' RETURN b.chunk_id SKIP 3",
        "OPTIONAL MATCH (d:Document {source: 'x'}) RETURN d.doc_id;",
        "MATCH (c:Chunk) RETURN CASE WHEN c.start = 0 THEN 'a' ELSE 'b' END AS said, c.chunk_id",
        "MATCH (a:Entity)-[r:RELATES {relation: 'OWNS'}]->(b) RETURN a.name, b.name, r.chunk_ids",
    ],
)
def test_what_asks_about_the_graph_is_allowed_though_it_looks_harmful_or_is_as_large_as_may_be(
    statement: str,
) -> None:
    assert text_of(read_statement(statement, 20))


def test_a_statement_that_does_not_say_where_its_rows_come_from_is_sent_back() -> None:
    with pytest.raises(Refused, match="add doc_id or chunk_id"):
        read_statement("MATCH (e:Entity) RETURN e.name", 20)


@pytest.mark.parametrize(
    ("reply", "statement"),
    [
        ("MATCH (n) RETURN n.doc_id", "MATCH (n) RETURN n.doc_id"),
        ("```cypher\nMATCH (n)\nRETURN n.doc_id\n```", "MATCH (n)\nRETURN n.doc_id"),
        ("Here it is: OPTIONAL MATCH (n) RETURN n.doc_id", "OPTIONAL MATCH (n) RETURN n.doc_id"),
        ("I cannot.", "I cannot."),
    ],
)
def test_a_statement_is_found_in_a_reply(reply: str, statement: str) -> None:
    assert statement_in(reply) == statement
