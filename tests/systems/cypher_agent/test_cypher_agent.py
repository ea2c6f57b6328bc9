"""cypher-agent: the model's statement, a repair, passages, or a plain no."""

from pathlib import Path
from typing import Any

import pytest
from kg_corpus import CORPUS, scripted
from runtimes import Asked, BareRuntime, Chat

from harness.core.records import Document, Prediction, Query
from harness.llm_utils.answer_contract import ABSTENTION
from systems.common.graph_index import GraphIndexParams
from systems.cypher_agent.empty_result_reasons import never_true
from systems.cypher_agent.params import AnswerParams
from systems.cypher_agent.system import CypherAgentSystem

RUNS = (
    "MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE toLower(b.name) CONTAINS 'tidewright' "
    "RETURN a.name, r.relation, b.name, r.chunk_ids"
)
EMPTY = "MATCH (a:Entity {name: 'Nobody'}) RETURN a.name, a.entity_id AS chunk_id"
NOBODY = "MATCH (c:Chunk) WHERE c.text CONTAINS 'Nobody' RETURN c.chunk_id"


class Model:
    """Extracts kg's triplets, writes these statements one after another, and answers."""

    def __init__(self, *statements: str) -> None:
        self.left, self.prompts = list(statements), list[str]()

    def __call__(self, asked: Asked) -> str:
        if asked.json_schema is not None:
            return scripted(asked)
        if "Cypher" in asked.messages[0].content:
            self.prompts.append(asked.text)
            return self.left.pop(0)
        return "Ingrid Solvane"


async def ask(
    folder: Path, model: Model | None, corpus: list[Document] | None = None, **answer: Any
) -> tuple[Prediction, list[str]]:
    """The prediction, and the stages of answering."""
    runtime = BareRuntime(folder, Chat(Model()))
    index = CypherAgentSystem(GraphIndexParams(), AnswerParams(), runtime)
    await index.index(CORPUS if corpus is None else corpus)
    index.close()
    runtime.chat = Chat(model) if model else None
    runtime.stages.clear()
    system = CypherAgentSystem(GraphIndexParams(), AnswerParams.model_validate(answer), runtime)
    try:
        await system.load()
        return await system.answer(Query(query_id="q", text="Who runs Tidewright Power?")), runtime.stages
    finally:
        system.close()


def told(prediction: Prediction, name: str) -> list[str]:
    return [step.content for step in prediction.trace if step.name == name]


async def test_rows_of_the_graph_are_its_contexts_and_name_their_documents(tmp_path: Path) -> None:
    prediction, stages = await ask(tmp_path, Model(RUNS))
    (row,) = prediction.contexts
    assert (
        row.text == "a.name: Ingrid Solvane; r.relation: RUNS; b.name: Tidewright Power; r.chunk_ids: 000000-00000"
    )
    assert row.doc_ids == ("d0",)
    assert prediction.answer == "Ingrid Solvane"
    assert told(prediction, "way") == ["cypher"]
    assert told(prediction, "sources") == ["d0"]
    assert told(prediction, "cypher") == [f"{RUNS}\n-> 1 rows"]
    assert "retrieve" not in stages


async def test_a_date_that_is_no_iso_moment_is_named_whole(tmp_path: Path) -> None:
    dated = [
        document.model_copy(update={"metadata": {"published_at": "November 12, 2023"}}) for document in CORPUS
    ]
    prediction, _ = await ask(tmp_path, Model(RUNS), dated)
    assert told(prediction, "sources") == ["d0 (November 12, 2023)"]


async def test_sources_are_named_with_the_day_they_were_published_whichever_way_they_were_found(
    tmp_path: Path,
) -> None:
    dated = [
        document.model_copy(update={"metadata": {"published_at": f"2024-03-0{day}T08:00:00+00:00"}})
        for day, document in enumerate(CORPUS, start=1)
    ]
    prediction, stages = await ask(tmp_path / "rows", Model(RUNS), dated)
    assert told(prediction, "sources") == ["d0 (2024-03-01)"]
    assert "sources" in stages
    prediction, _ = await ask(tmp_path / "passages", Model(EMPTY, EMPTY), dated)
    days = {document.doc_id: document.metadata["published_at"][:10] for document in dated}
    found = [doc_id for context in prediction.contexts for doc_id in context.doc_ids]
    assert told(prediction, "sources")[0].split("; ") == [f"{one} ({days[one]})" for one in dict.fromkeys(found)]


@pytest.mark.parametrize(
    ("first", "trouble"),
    [
        ("MATCH (n) DELETE n", "a clause that writes is not allowed"),
        ("MATCH (n:Person) RETURN n.name", "there is no label 'Person'"),
        ("I do not know.", "syntax error"),
        (NOBODY, "it found nothing"),
        ("MATCH (a:Entity) WITH a.name AS n RETURN n, a.doc_id", ""),
        (
            "MATCH (d:Document) WHERE toLower(d.source) IN ['the gull', 'The Heron'] RETURN d.doc_id",
            "it found nothing: what toLower gives is never like 'The Heron': write 'the heron'",
        ),
    ],
)
async def test_a_statement_that_gave_nothing_is_repaired_once_with_the_reason_shown(
    tmp_path: Path, first: str, trouble: str
) -> None:
    model = Model(first, RUNS)
    prediction, _ = await ask(tmp_path, model)
    assert told(prediction, "way") == ["repair"]
    assert len(told(prediction, "cypher")) == 2
    assert trouble in model.prompts[1]
    assert first in model.prompts[1]


async def test_where_the_graph_gives_nothing_passages_are_searched(tmp_path: Path) -> None:
    prediction, stages = await ask(tmp_path, Model(NOBODY, NOBODY), top_k=2)
    assert told(prediction, "way") == ["fallback"]
    assert [context.kind for context in prediction.contexts] == ["passage", "passage"]
    assert prediction.retrieved
    assert stages.count("repair_cypher") == 1
    assert prediction.answer == "Ingrid Solvane"


async def test_without_a_passage_it_says_that_nothing_was_found_and_asks_nobody(tmp_path: Path) -> None:
    prediction, stages = await ask(tmp_path, Model(NOBODY), corpus=[Document(doc_id="d", text="")], repairs=0)
    assert prediction.answer == ABSTENTION
    assert told(prediction, "way") == ["not found"]
    assert "generate" not in stages


async def test_what_a_statement_only_calls_a_document_is_no_source(tmp_path: Path) -> None:
    made_up = "MATCH (d:Document) RETURN CASE WHEN d.doc_id = 'd0' THEN 'the Pope' ELSE 'x' END AS doc_id"
    prediction, _ = await ask(tmp_path, Model(made_up), repairs=0)
    assert told(prediction, "way") == ["fallback"]


async def test_rows_and_their_length_are_bounded(tmp_path: Path) -> None:
    everything = "MATCH (c:Chunk) RETURN c.text, c.chunk_id ORDER BY c.chunk_id"
    prediction, _ = await ask(tmp_path, Model(everything), rows=2, row_characters=10)
    assert [context.text for context in prediction.contexts] == ["c.text: In", "c.text: On"]


@pytest.mark.parametrize(
    "compared",
    [
        "toLower(d.source) = 'The Gull'",
        'tolower( d.source )  CONTAINS "The Gull"',
        "toLower(d.source) STARTS WITH 'Mira\\'s'",
        "toLower(d.source) IN ['the heron', 'The Gull']",
    ],
)
def test_small_letters_are_never_like_capitals(compared: str) -> None:
    assert "what toLower gives is never like" in never_true(f"MATCH (d:Document) WHERE {compared} RETURN d.doc_id")


@pytest.mark.parametrize(
    "compared",
    [
        "d.source = 'The Gull'",
        "toLower(d.source) = 'the gull'",
        "toLower(d.source) IN ['the gull'] AND d.title = 'Strike'",
        "d.text CONTAINS 'toLower(x) = the'",
        "",
    ],
)
def test_of_what_may_be_true_nothing_is_said(compared: str) -> None:
    assert never_true(f"MATCH (d:Document) WHERE {compared} RETURN d.doc_id") == ""
