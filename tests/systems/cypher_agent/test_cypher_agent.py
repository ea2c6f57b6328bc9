"""cypher-agent: the model's statement, a repair, passages, or a plain no; a schema of one's own; its own agent."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from asking import asked, indexed, told
from kg_corpus import CORPUS, scripted
from runtimes import Asked, BareRuntime, Chat

from harness.core.errors import ConfigError
from harness.core.records import Document, Prediction
from harness.llm_utils.answer_contract import ABSTENTION
from harness.llm_utils.structured_output import Unreadable
from systems.cypher_agent.graph_query import never_true
from systems.cypher_agent.params import AgentIndexParams, AnswerParams
from systems.cypher_agent.react import decision_in
from systems.cypher_agent.schema_file import read_schema
from systems.cypher_agent.system import SPEC

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


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kg's corpus, indexed."""
    folder = tmp_path_factory.mktemp("stored")
    asyncio.run(indexed(SPEC, BareRuntime(folder, Chat(Model())), CORPUS))
    return folder


async def ask(stored: Path, model: Model, **answer: Any) -> tuple[Prediction, list[str]]:
    """The prediction, and the stages of answering."""
    runtime = BareRuntime(stored, Chat(model))
    return await asked(SPEC, runtime, "Who runs Tidewright Power?", **answer), runtime.stages


async def ask_of(
    folder: Path, corpus: list[Document], model: Model, **answer: Any
) -> tuple[Prediction, list[str]]:
    """The same over another corpus."""
    await indexed(SPEC, BareRuntime(folder, Chat(Model())), corpus)
    return await ask(folder, model, **answer)


async def test_rows_of_the_graph_are_its_contexts_and_name_their_documents(stored: Path) -> None:
    prediction, stages = await ask(stored, Model(RUNS))
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


async def test_sources_are_named_with_their_day_whichever_way_they_were_found(
    tmp_path: Path,
) -> None:
    dated = [
        document.model_copy(update={"metadata": {"published_at": f"2024-03-0{day}T08:00:00+00:00"}})
        for day, document in enumerate(CORPUS, start=1)
    ]
    prediction, stages = await ask_of(tmp_path, dated, Model(RUNS))
    assert told(prediction, "sources") == ["d0 (2024-03-01)"]
    assert "sources" in stages
    prediction, _ = await ask(tmp_path, Model(EMPTY, EMPTY))
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
async def test_a_statement_that_gave_nothing_is_repaired_once(stored: Path, first: str, trouble: str) -> None:
    model = Model(first, RUNS)
    prediction, _ = await ask(stored, model)
    assert told(prediction, "way") == ["repair"]
    assert len(told(prediction, "cypher")) == 2
    assert trouble in model.prompts[1]
    assert first in model.prompts[1]


async def test_where_the_graph_gives_nothing_passages_are_searched(stored: Path) -> None:
    prediction, stages = await ask(stored, Model(NOBODY, NOBODY), top_k=2)
    assert told(prediction, "way") == ["fallback"]
    assert [context.kind for context in prediction.contexts] == ["passage", "passage"]
    assert prediction.retrieved
    assert stages.count("repair_cypher") == 1
    assert prediction.answer == "Ingrid Solvane"


async def test_without_a_passage_it_says_that_nothing_was_found_and_asks_nobody(tmp_path: Path) -> None:
    prediction, stages = await ask_of(tmp_path, [Document(doc_id="d", text="")], Model(NOBODY), repairs=0)
    assert prediction.answer == ABSTENTION
    assert told(prediction, "way") == ["not found"]
    assert "generate" not in stages


async def test_what_a_statement_only_calls_a_document_is_no_source(stored: Path) -> None:
    made_up = "MATCH (d:Document) RETURN CASE WHEN d.doc_id = 'd0' THEN 'the Pope' ELSE 'x' END AS doc_id"
    prediction, _ = await ask(stored, Model(made_up), repairs=0)
    assert told(prediction, "way") == ["fallback"]


async def test_rows_and_their_length_are_bounded(stored: Path) -> None:
    everything = "MATCH (c:Chunk) RETURN c.text, c.chunk_id ORDER BY c.chunk_id"
    prediction, _ = await ask(stored, Model(everything), rows=2, row_characters=10)
    assert [context.text for context in prediction.contexts] == ["c.text: In", "c.text: On"]


@pytest.mark.parametrize(
    ("compared", "is_never_true"),
    [
        ("toLower(d.source) = 'The Gull'", True),
        ("tolower( d.source )  STARTS WITH 'Mira\\'s'", True),
        ("toLower(d.source) IN ['the heron', 'The Gull']", True),
        ("d.source = 'The Gull'", False),
        ("toLower(d.source) IN ['the gull'] AND d.title = 'Strike'", False),
        ("d.text CONTAINS 'toLower(x) = the'", False),
    ],
)
def test_small_letters_are_never_like_capitals(compared: str, is_never_true: bool) -> None:
    assert bool(never_true(f"MATCH (d:Document) WHERE {compared} RETURN d.doc_id")) is is_never_true


MAILS = [
    Document(
        doc_id=f"{number}.eml",
        text=text,
        title=subject,
        metadata={"from": sender, "to": to, "date": f"2031-04-0{number} 09:00+00:00"},
    )
    for number, (sender, to, subject, text) in enumerate(
        (
            ("Ann Bo <Ann@x.example>", "Cy <cy@x.example>, di@x.example", "Pump test", "The pump test failed."),
            ("cy@x.example", "Ann Bo <ann@x.example>", "RE: Fwd: Pump  test", "Then we repeat it."),
            ("", "", "", "A note without a header."),
        ),
        start=1,
    )
]
SENT = (
    "MATCH (s:Person)-[:SENT]->(e:Email)-[:PART_OF]->(c:Conversation) WHERE toLower(e.content) CONTAINS 'repeat' "
    "RETURN s.name, e.email_id, c.conversation_id, c.subject"
)


class Agent:
    """Replies with these texts, one after another."""

    def __init__(self, *replies: str) -> None:
        self.left = list(replies)

    def __call__(self, asked: Asked) -> str:
        return self.left.pop(0)


EMAILS = {"schema": "emails.yaml"}


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MAILS, indexed with that schema."""
    folder = tmp_path_factory.mktemp("mails")
    asyncio.run(indexed(SPEC, BareRuntime(folder, Chat()), MAILS, EMAILS))
    return folder


async def ask_mails(mails: Path, chat: Chat, **answer: Any) -> Prediction:
    return await asked(SPEC, BareRuntime(mails, chat), "Who wants to repeat the pump test?", EMAILS, **answer)


async def test_a_schema_of_ones_own_makes_people_and_conversations_of_mails(mails: Path) -> None:
    chat = Chat(Agent(SENT, "Cy"))
    prediction = await ask_mails(mails, chat)
    (row,) = prediction.contexts
    assert row.text == ("s.name: Cy; e.email_id: 2.eml; c.conversation_id: pump test; c.subject: Pump test")
    assert row.doc_ids == ("2.eml",)
    assert (prediction.answer, told(prediction, "sources")) == ("Cy", ["2.eml (2031-04-02)"])
    assert "(:Person)-[:RECEIVED]->(:Email)" in chat.calls[0].messages[0].content
    assert "Chunk" not in chat.calls[0].text


@pytest.mark.parametrize(
    "statement",
    ["MATCH (d:Document) RETURN d.doc_id", "MATCH (p:Person) RETURN p.name", "MATCH (e:Email) DELETE e"],
)
async def test_statements_of_another_schema_or_without_source_find_passages(mails: Path, statement: str) -> None:
    prediction = await ask_mails(mails, Chat(Agent(statement, "Cy")), repairs=0)
    assert told(prediction, "way") == ["fallback"]
    assert prediction.contexts[0].kind == "passage"


def thought(tool: str, said: str) -> str:
    return f"Thought: Do I need a tool? Yes\nAction: {tool}\nAction Input: {said}\nObservation: (made up)"


FINAL = "Thought: Do I need a tool? No\nFinal Answer: Cy wrote it (2.eml)."


async def test_as_published_the_agent_asks_the_graph_then_searches_then_answers(mails: Path) -> None:
    chat = Chat(Agent(thought("graph", "who?"), SENT.replace("repeat", "x"), thought("search", "repeat"), FINAL))
    prediction = await ask_mails(mails, chat, agent="react", repairs=0)
    decide, statement, again, last = chat.calls
    assert [[message.role for message in asked.messages] for asked in (decide, again, last)] == [
        ["system", "user"]
    ] * 3
    assert statement.messages[-1].content == "Question: who?"
    assert decide.messages[-1].content == "Question: Who wants to repeat the pump test?"
    assert "Observation: it found nothing" in again.text
    assert "made up" not in last.text
    assert "Then we repeat it." in last.text.rpartition("Observation:")[2]
    assert prediction.answer == "Cy wrote it (2.eml)."
    assert {doc_id for one in prediction.contexts for doc_id in one.doc_ids} >= {"2.eml"}
    assert told(prediction, "agent") == ["graph: who?", "search: repeat", "answers"]


async def test_a_greeting_goes_to_general_chat_and_reads_nothing(mails: Path) -> None:
    chat = Chat(Agent(thought("chat", "Hello"), "Hello! Ask me about the mails."))
    prediction = await ask_mails(mails, chat, agent="react")
    assert (prediction.answer, prediction.contexts) == ("Hello! Ask me about the mails.", ())
    assert len(chat.calls) == 2


async def test_an_agent_that_never_answers_is_stopped_and_the_shared_prompt_answers(mails: Path) -> None:
    chat = Chat(Agent("Well, well.", thought("search", "repeat"), thought("search", "repeat"), "Cy"))
    prediction = await ask_mails(mails, chat, agent="react", rounds=3)
    assert (prediction.answer, len(chat.calls)) == ("Cy", 4)
    empty = Chat(Agent("Well.", thought("graph", "who?"), SENT.replace("repeat", "x")))
    silent = await ask_mails(mails, empty, agent="react", rounds=2, repairs=0)
    assert (silent.answer, silent.contexts) == (ABSTENTION, ())
    with pytest.raises(Unreadable, match="Well"):
        await ask_mails(mails, Chat(lambda _: "Well."), agent="react", rounds=2)


@pytest.mark.parametrize(
    ("reply", "meant"),
    [
        ("**Final Answer:** Ann.\nShe did.", (None, "Ann.\nShe did.")),
        ("Action: Search\nAction Input: 'x'", ("search", "'x'")),
        ("Action: dance\nAction Input: x", None),
        ("Action: None\nAction Input: None\nFinal Answer: 42", (None, "42")),
        ("Final Answer:", None),
        ("", None),
    ],
)
def test_a_decision_is_read_from_whatever_the_model_puts_around_it(reply: str, meant: object) -> None:
    assert decision_in(reply) == meant


NODES = "about: x\ndocument: Email\nnodes: {Email: {key: id}, Person: {key: who}}\n"
SENDS = "relationships: {SENT: {from: Person, to: Email, fields: [from]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [*a]", "cycle"),
        (NODES.replace("document: Email", "document: Mail"), "did you mean 'Email'"),
        (f"{NODES}{SENDS.replace('Person', 'Persn')}}}}}", "did you mean 'Person'"),
        (f"{NODES}{SENDS.replace('to: Email', 'to: Person')}}}}}", "joins Person to Person"),
        (f"{NODES}{SENDS}, values: dates}}}}", "values"),
        (NODES.replace("key: id", "key: 'id) DROP'"), "pattern"),
        (f"{NODES}examples: [{{question: q, statement: 'MATCH (n:Mail) RETURN n.id'}}]", "no label 'Mail'"),
        (NODES.replace("Person:", "EMAIL:"), "ignores case"),
        (NODES.replace("key: id", "key: id, properties: {ID: title}"), "ignores case"),
        ("nodes: {", "no YAML"),
        ("[" * 50, "nested"),
        ("x" * 70_000, "longer"),
        ("", "valid"),
    ],
)
def test_an_unusable_schema_is_one_line_before_anything_is_paid(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=said) as error:
        read_schema(str(file))
    assert "\n" not in str(error.value.what)
    assert SPEC.preflight is not None
    with pytest.raises(ConfigError):
        SPEC.preflight(AgentIndexParams(schema=str(file)), AnswerParams())


def test_a_schema_is_stored_in_ladybug_alone_and_a_missing_file_names_the_shipped_ones() -> None:
    assert SPEC.preflight is not None
    with pytest.raises(ConfigError, match="ladybug"):
        SPEC.preflight(AgentIndexParams(schema="emails.yaml", store="neo4j"), AnswerParams())
    with pytest.raises(ConfigError, match=r"mails\.yaml"):
        read_schema("mails.yaml")
    assert SPEC.weights(AgentIndexParams(schema="emails.yaml")).keys() == {"schema"}
    assert "schema" not in AgentIndexParams().model_dump()


async def test_a_schema_of_fields_that_no_document_has_is_refused_before_the_build(
    tmp_path: Path,
) -> None:
    articles = [mail.model_copy(update={"metadata": {"author": "Cy"}}) for mail in MAILS]
    with pytest.raises(ConfigError, match="from") as error:
        await indexed(SPEC, BareRuntime(tmp_path, Chat()), articles, EMAILS)
    assert "author" in str(error.value)
