"""Whether a Neo4j server is there and fit, and the one line that says why not."""

import socket
import time
from pathlib import Path

import pytest
from neo4j_server import Neo4jServer

from harness.core.errors import ServiceUnavailable
from systems.common.graph_index import check_store
from systems.common.graph_stores import neo4j_server as server_module
from systems.common.graph_stores import neo4j_space
from systems.common.graph_stores.neo4j_server import (
    Neo4jSettings,
    check_fit,
    check_limited,
    check_neo4j,
    connect,
    rows_of,
)
from systems.common.graph_stores.neo4j_space import Space, relationship_type
from systems.cypher_agent.params import AgentIndexParams, AnswerParams
from systems.cypher_agent.system import SPEC

PROCEDURES = {
    "apoc.create.relationship",
    "db.create.setNodeVectorProperty",
    "db.index.fulltext.queryNodes",
    "db.index.vector.queryNodes",
}


def test_a_server_is_fit_from_version_5_23_on() -> None:
    for version in ("5.23.0", "5.26.0-SNAPSHOT", "2025.04.0", "6.0"):
        check_fit("bolt://x", version, PROCEDURES)
    for version in ("5.22.9", "5.9.0", "4.4.40", "", "dev"):
        with pytest.raises(ServiceUnavailable, match=r"bolt://x is version .*, older than 5\.23: use 5\.26"):
            check_fit("bolt://x", version, PROCEDURES)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("apoc.create.relationship", r"^Neo4j at bolt://x has no APOC: .*plugins"),
        ("db.index.vector.queryNodes", r"does not offer db\.index\.vector\.queryNodes: allow"),
    ],
)
def test_a_server_without_a_procedure_says_how_to_get_it(missing: str, said: str) -> None:
    with pytest.raises(ServiceUnavailable, match=said):
        check_fit("bolt://x", "5.26.18", PROCEDURES - {missing})


LIMITED = {"db.memory.transaction.max": "256.00MiB", "db.transaction.timeout": "10m"}


@pytest.mark.parametrize(
    "found", [{}, {**LIMITED, "db.transaction.timeout": "0s"}, {**LIMITED, "db.memory.transaction.max": "0B"}]
)
def test_a_server_that_does_not_limit_statements_is_not_fit_for_those_of_a_model(
    found: dict[str, str],
) -> None:
    check_limited("bolt://x", LIMITED)
    with pytest.raises(ServiceUnavailable, match=r"^Neo4j at bolt://x .*trust_server"):
        check_limited("bolt://x", found)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["db.logs.query.transaction.threshold", "no.such.setting"])
def test_without_limits_a_model_writes_no_statements_unless_the_server_is_trusted(
    neo4j_server: Neo4jServer, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    assert SPEC.preflight is not None
    index = AgentIndexParams(store="neo4j")
    SPEC.preflight(index, AnswerParams())
    # One that is 0 on this server, or that it does not show.
    monkeypatch.setattr(server_module, "_LIMITS", (setting,))
    with pytest.raises(ServiceUnavailable):
        SPEC.preflight(index, AnswerParams())
    SPEC.preflight(index, AnswerParams(trust_server=True))


def test_settings_come_from_the_environment_and_show_no_password() -> None:
    assert Neo4jSettings.from_environment({}) == Neo4jSettings("bolt://127.0.0.1:7687", "neo4j", "")
    named = Neo4jSettings.from_environment(
        {"NEO4J_URI": "neo4j+s://x.example:7688", "NEO4J_USERNAME": "me", "NEO4J_PASSWORD": "hush"}
    )
    assert named == Neo4jSettings("neo4j+s://x.example:7688", "me", "hush")
    assert "hush" not in f"{named!r}{named}"


def test_an_address_that_is_none_or_holds_a_password_is_refused_without_showing_it() -> None:
    for uri in ("localhost", "http://127.0.0.1:7474", "bolt://", "bolt//x", "bolt+x://a"):
        with pytest.raises(ServiceUnavailable, match=r"NEO4J_URI is .*: name a server as bolt://"):
            Neo4jSettings.from_environment({"NEO4J_URI": uri})
    with pytest.raises(ServiceUnavailable) as refused:
        Neo4jSettings.from_environment({"NEO4J_URI": "bolt://neo4j:hush@127.0.0.1:7687"})
    assert str(refused.value) == (
        "NEO4J_URI contains a user or password: put them into NEO4J_USERNAME and NEO4J_PASSWORD"
    )


@pytest.mark.slow
def test_a_server_down_is_one_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"bolt://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("NEO4J_URI", uri)
    with pytest.raises(ServiceUnavailable) as refused:
        check_store("neo4j")
    assert str(refused.value) == (
        f"Neo4j at {uri} does not answer: start it (scripts/neo4j start), or set NEO4J_URI to a running one"
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "name", ["", "Rag_", "Rag_0123456789AB", "Rag_0123456789ab ", "Rag_0123456789ab`)--()", "x"]
)
def test_only_our_own_names_get_into_queries(name: str) -> None:
    with pytest.raises(ValueError, match="not a label space name"):
        Space(name)


def test_the_same_folder_on_another_machine_is_another_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spaces = set()
    for node, machine in (("a", "1"), ("b", "1"), ("b", "2"), ("b", None)):
        (tmp_path / "machine-id").unlink(missing_ok=True)
        if machine:
            (tmp_path / "machine-id").write_text(f"{machine}\n")
        monkeypatch.setattr("platform.node", lambda node=node: node)
        monkeypatch.setattr(neo4j_space, "_MACHINE_ID", tmp_path / "machine-id")
        spaces.add(Space.of(tmp_path / "store"))
    assert len(spaces) == 4


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("WORKS_FOR", "WORKS_FOR"),
        ("2ND_CEO", "2ND_CEO"),
        ("FÜR", "FÜR"),
        ("में_काम", "में_काम"),
        ("", "RELATES"),
        ("A B", "RELATES"),
        ("A`B", "RELATES"),
        ("A\x00", "RELATES"),
        ("A" * 101, "RELATES"),
    ],
)
def test_a_relation_is_the_type_of_its_edge_where_it_is_a_plain_word(relation: str, expected: str) -> None:
    assert relationship_type(relation) == expected


@pytest.mark.slow
def test_refused_passwords_are_told_apart(neo4j_server: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    with monkeypatch.context() as wrong:
        wrong.setenv("NEO4J_PASSWORD", "wrong-password")
        for _ in range(5):
            with pytest.raises(ServiceUnavailable) as refused:
                check_neo4j()
            said.append(str(refused.value))
    assert "refuses the password of neo4j: set NEO4J_PASSWORD" in said[0]
    assert "was given too many wrong passwords" in said[-1]
    assert "wrong-password" not in "".join(said)
    deadline = time.monotonic() + 20
    while True:
        try:
            check_neo4j()
            break
        except ServiceUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.5)
    monkeypatch.delenv("NEO4J_PASSWORD")
    with pytest.raises(ServiceUnavailable, match="wants a password of neo4j: set NEO4J_PASSWORD"):
        check_neo4j()


@pytest.mark.slow
def test_a_question_cannot_write(neo4j_server: Neo4jServer) -> None:
    driver = connect(Neo4jSettings.from_environment())
    try:
        with pytest.raises(Exception, match="Writing in read access mode not allowed"):
            rows_of(driver, "CREATE (n:Nobody) RETURN n")
    finally:
        driver.close()
