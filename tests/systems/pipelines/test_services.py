"""Services in the formats of other products, by the shipped configs, against fakes of their documented replies."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import REPOSITORY, CommandLineHere
from damaging import WorkersHere
from runtimes import BareRuntime
from serving import json_reply

from harness.config.load import read_yaml
from harness.core.errors import HarnessError
from harness.core.records import OWN_MODELS, Document, Prediction, Query, Usage
from harness.models.fake_faults import Reply
from harness.registry import SYSTEMS
from harness.store import RunDir
from systems.pipelines.http import ServiceFailed
from systems.pipelines.replies import WrongShape

from .conftest import Service

CONFIGS = REPOSITORY / "configs" / "services"
KEY, SEARCH_KEY = "key-of-the-service-1234", "key-of-the-search-5678"
QUESTION = 'Who runs the "bakery", {query_id}?'
TEXTS = ["Marta Lind runs the bakery.", "The ferry leaves at 07:15."]
FILES = ["bakery.md", "ferry.md"]
SCORES = [0.98, 0.4]


def chat(message: dict[str, Any], **beside: Any) -> dict[str, Any]:
    """A reply in the format of OpenAI's chat completions."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}],
        "usage": {"prompt_tokens": 1033, "completion_tokens": 128, "total_tokens": 1161},
        **beside,
    }


def dify() -> dict[str, Any]:
    named = zip(TEXTS, FILES, SCORES, strict=True)
    return {
        "event": "message",
        "mode": "chat",
        "answer": "<think>The bakery.</think>Marta Lind",
        "metadata": {
            "usage": {"prompt_tokens": 1033, "completion_tokens": 128, "total_price": "0.00128"},
            "retriever_resources": [
                {"position": 1, "dataset_name": "d", "document_name": file, "score": score, "content": text}
                for text, file, score in named
            ],
        },
    }


def open_webui() -> dict[str, Any]:
    source = {
        "source": {"type": "collection", "id": "c", "name": "Village"},
        "document": TEXTS,
        "metadata": [{"name": FILES[0], "source": "s", "file_id": "f"}, {"source": FILES[1]}],
        "distances": SCORES,
    }
    return chat({"content": "Marta Lind"}, sources=[source])


def ragflow() -> dict[str, Any]:
    named = zip(TEXTS, FILES, SCORES, strict=True)
    return chat(
        {
            "content": "Marta Lind",
            "reference": [
                {"id": "4b", "content": text, "document_id": "4bdd", "document_name": file, "similarity": score}
                for text, file, score in named
            ],
        }
    )


def azure() -> dict[str, Any]:
    citations = [
        {"content": TEXTS[0], "title": "x", "url": None, "filepath": FILES[0], "chunk_id": "0"},
        {"content": TEXTS[1], "title": "The Ferry", "url": None, "filepath": None, "chunk_id": "0"},
    ]
    return chat({"content": "Marta Lind", "context": {"citations": citations, "intent": '["bakery"]'}})


def openai_citations() -> dict[str, Any]:
    titles = ["The bakery", "The ferry"]
    cited = [{"content": t, "title": n, "score": s} for t, n, s in zip(TEXTS, titles, SCORES, strict=True)]
    return chat({"content": "Marta Lind"}, citations=cited)


REPLIES: dict[str, Callable[[], dict[str, Any]]] = {
    "dify": dify,
    "ragflow": ragflow,
    "open_webui": open_webui,
    "azure_on_your_data": azure,
    "openai_citations": openai_citations,
}
NOT_STATED = {"open_webui", "azure_on_your_data"}


@pytest.fixture
def village(tmp_path: Path) -> CommandLineHere:
    """The command line beside two documents and two questions, with the keys of the services."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bakery.md").write_text(f"# The bakery\n\n{TEXTS[0]}\n")
    (docs / "ferry.md").write_text(f"# The ferry\n\n{TEXTS[1]}\n")
    gold = {"answer": "Marta Lind", "evidence": [{"document": FILES[0], "quote": TEXTS[0]}]}
    rows = [{"question": QUESTION, **gold}, {"question": "Who bakes?", **gold}]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    names = ("DIFY_API_KEY", "RAGFLOW_API_KEY", "OPEN_WEBUI_API_KEY", "AZURE_OPENAI_API_KEY", "SERVICE_API_KEY")
    keys = {**dict.fromkeys(names, KEY), "AZURE_SEARCH_KEY": SEARCH_KEY}
    return CommandLineHere(tmp_path, {**keys, "RAG_HARNESS_CACHE": str(tmp_path / "cache")})


def run(village: CommandLineHere, config: str, *words: str) -> RunDir:
    """The one run that the command makes."""
    places = ("--docs", "docs", "--questions", "q.jsonl", "--json", "--quiet")
    with WorkersHere():
        done = village.call("run", "-c", f"configs/services/{config}.yaml", *places, *words)
    assert done.returncode == 0, done.stderr
    (made,) = json.loads(done.stdout)["runs"]
    return RunDir(Path(made["path"]))


@pytest.mark.slow
@pytest.mark.parametrize("config", REPLIES)
def test_a_shipped_config_reads_its_documented_format(
    village: CommandLineHere, service: Service, config: str
) -> None:
    service.says(REPLIES[config]())
    own = str(read_yaml(CONFIGS / f"{config}.yaml")["systems"][0])
    path = "/" + own.split("://", 1)[1].split("/", 1)[1]
    made = run(village, config, "-s", service.at(path))
    records = {record.query_id: record for record in made.iter_records()}
    assert {record.status for record in records.values()} == {"ok"}
    for record in records.values():
        prediction = record.prediction
        assert prediction is not None
        assert prediction.answer == "Marta Lind"
        scores = [None, None] if config in NOT_STATED else SCORES
        found = [(context.text, context.doc_ids, context.score) for context in prediction.contexts]
        assert found == [(t, (f,), s) for t, f, s in zip(TEXTS, FILES, scores, strict=True)]
        usage = record.cost.usage[OWN_MODELS]
        assert (usage.input_tokens, usage.output_tokens, usage.unmetered_calls) == (1033, 128, 1)
    bodies = [json.dumps(asked.body) for asked in service.asked]
    assert [json.dumps(QUESTION) in body for body in bodies].count(True) == 1
    sent = service.asked[0]
    keyed = sent.headers.get("api-key", sent.headers.get("authorization", "").removeprefix("Bearer "))
    assert (keyed, sent.path) == (KEY, path)
    if config == "azure_on_your_data":
        assert sent.query == {"api-version": ["2024-05-01-preview"]}
        assert sent.body["data_sources"][0]["parameters"]["authentication"]["key"] == SEARCH_KEY
    scored = {score.measure: score.value for score in made.scores()}
    assert (scored["Recall"], scored["fact_Recall@10"]) == (1.0, 1.0)
    written = [path for path in village.folder.rglob("*") if path.is_file()]
    assert not [str(path) for path in written for key in (KEY, SEARCH_KEY) if key.encode() in path.read_bytes()]


CORPUS = [
    Document(doc_id="bakery.md", text=TEXTS[0], title="The bakery"),
    Document(doc_id="a/ferry.md", text=TEXTS[1], title="Ferry"),
    Document(doc_id="b/ferry.md", text=TEXTS[1], title="Timetable of the ferry"),
]
PATHS = {
    "answer": "choices[0].message.content",
    "contexts": {"items": "citations", "text": "content", "document": "title", "score": "score"},
    "usage": {"input_tokens": "usage.prompt_tokens", "output_tokens": "usage.completion_tokens"},
}


def answered(
    service: Service, folder: Path, n: int = 1, *, has_answers: bool = False, **answer: Any
) -> tuple[Prediction, BareRuntime]:
    """The last of `n` answers by a system with these parameters."""
    spec = SYSTEMS.load(service.at())
    folder = folder / "index"
    folder.mkdir(parents=True)
    runtime = BareRuntime(folder, has_answers=has_answers)
    given = {"request": {"q": "{query}"}, "reply": PATHS, **answer}

    async def asked() -> Prediction:
        params = spec.index_params(), spec.answer_params(**given)
        await spec.build(*params, runtime).index(CORPUS)
        system = spec.build(*params, runtime)
        await system.load()
        return [await system.answer(Query(query_id="q", text=QUESTION)) for _ in range(n)][-1]

    return asyncio.run(asked()), runtime


@pytest.mark.parametrize(
    ("contexts", "reply", "found"),
    [
        ("cited", {"cited": ["t", ""]}, [("t", ()), ("", ())]),
        (
            {"items": "cited", "document": "@"},
            {"cited": ["https://x/bakery.md", "Ferry"]},
            [("", ("bakery.md",)), ("", ("a/ferry.md",))],
        ),
        ({"items": "cited[]", "text": "t"}, {"cited": [[{"t": "a"}], [{"t": None}]]}, [("a", ()), ("", ())]),
        (
            {"items": "cited", "text": "t", "document": "d"},
            {"cited": [{"t": ["a", "b"], "d": "bakery"}]},
            [("a", ("bakery.md",)), ("b", ("bakery.md",))],
        ),
        (
            {"items": "cited", "text": "t", "document": "d"},
            {"cited": [{"t": "a"}, {"t": "b", "d": 7}]},
            [("a", ()), ("b", ("7",))],
        ),
    ],
)
def test_contexts_are_read_wherever_a_path_finds_them(
    service: Service, tmp_path: Path, contexts: Any, reply: dict[str, Any], found: list[Any]
) -> None:
    service.says({"a": "x", **reply})
    asked = {"q": "{query}", "filter": {"key": "author", "value": "{query_id}{answer_style}"}}
    prediction, _ = answered(service, tmp_path, request=asked, reply={"answer": "a", "contexts": contexts})
    assert service.asked[0].body == {"q": QUESTION, "filter": {"key": "author", "value": "qshort"}}
    assert [(context.text, context.doc_ids) for context in prediction.contexts] == found


def test_a_question_with_quotes_is_sent_whole_within_a_text_that_is_json(service: Service, tmp_path: Path) -> None:
    service.says(chat({"content": "x"}, citations=[]))
    answered(service, tmp_path, request={"body": '{"inputs": ["{query}"]}'}, reply={"answer": PATHS["answer"]})
    assert json.loads(service.asked[0].body["body"]) == {"inputs": [QUESTION]}


@pytest.mark.parametrize(
    ("reply", "has_contexts", "usage"),
    [
        (chat({"content": "x"}, citations=[]), True, Usage(input_tokens=1033, output_tokens=128)),
        (chat({"content": "x"}, citations=None), False, Usage(input_tokens=1033, output_tokens=128)),
        (chat({"content": "x"}, citations=[], usage=None), True, None),
        (chat({"content": "x"}, citations=[], usage={"prompt_tokens": 0, "completion_tokens": 0}), True, None),
        (chat({"content": "x"}, citations=[], usage={"prompt_tokens": "7"}), True, Usage(input_tokens=7)),
    ],
)
def test_what_a_service_does_not_state_is_unknown_and_what_it_did_not_find_is_nothing(
    service: Service, tmp_path: Path, reply: dict[str, Any], has_contexts: bool, usage: Usage | None
) -> None:
    service.says(reply)
    prediction, runtime = answered(service, tmp_path, has_answers=True)
    assert (prediction.contexts, prediction.has_contexts, runtime.own[-1]) == ((), has_contexts, usage)


ERROR = {"code": "provider_quota_exceeded", "message": "The quota is used up", "status": 400}


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        (json_reply(ERROR), ["answer", "choices[0].message.content", "status", "The quota is used up"]),
        (json_reply(chat({"content": "x"})), ["contexts.items", "'citations'", "choices[0].message.role"]),
        (json_reply(chat({"content": "x"}, citations=[{"quote": "t"}])), ["contexts.text", "quote"]),
        (json_reply({"choices": [{"message": {"content": "x"}}], "citations": []}), ["usage.input_tokens"]),
        (Reply(200, b"<html>Sign in</html>", {"content-type": "text/html"}), ["text/html", "Sign in"]),
        (
            Reply(200, b'data: {"answer": "x"}', {"content-type": "text/event-stream; charset=utf-8"}),
            ["text/event-stream", "stream: false"],
        ),
    ],
)
def test_a_path_that_finds_nothing_in_the_first_reply_stops_the_run(
    service: Service, tmp_path: Path, reply: Reply, named: list[str]
) -> None:
    service.replies(reply)
    with pytest.raises(HarnessError) as stopped:
        answered(service, tmp_path)
    assert [word for word in named if word not in str(stopped.value)] == []
    assert len(str(stopped.value)) < 1200
    assert len(service.asked) == 1


def test_a_later_error_or_a_null_answer_fails_its_query_alone(service: Service, tmp_path: Path) -> None:
    service.says(openai_citations(), ERROR)
    with pytest.raises(WrongShape, match="The quota is used up"):
        answered(service, tmp_path / "later", n=2)
    service.says(chat({"content": None}, citations=[]))
    with pytest.raises(WrongShape, match="'answer' is null"):
        answered(service, tmp_path / "filtered")


def test_a_busy_service_is_asked_again_and_its_limit_is_no_latency(service: Service, tmp_path: Path) -> None:
    busy = [Reply(status, b"", {"retry-after": "0"}) for status in (429, 503, 524)]
    service.replies(*busy, json_reply(openai_citations()))
    prediction, runtime = answered(service, tmp_path)
    assert (prediction.answer, len(service.asked), runtime.stages) == ("Marta Lind", 4, ["throttled"])
    service.replies(Reply(500, b"a bug"))
    with pytest.raises(ServiceFailed):
        answered(service, tmp_path / "index")
    assert len(service.asked) == 5


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("answer.request={q: '{question}'}", "{question}"),
        ("answer.request={q: hello}", "{query}"),
        ("answer.request={q: '{query}', stream: true}", "stream: false"),
        ("answer.request={query: '{query}', response_mode: streaming}", "blocking"),
        ("answer.request={q: '{query}', auth: {key: sk-secret-word-123}}", "${ITS_NAME}"),
        ("answer.request={q: '{query}', auth: '${not a name}'}", "environment variable"),
        ("answer.headers={Authorization: Bearer sk-secret-word-123}", "${ITS_NAME}"),
        ("answer.headers={api-key: sk-secret-word-123}", "${ITS_NAME}"),
        ("answer.url_parameters={code: '${SOME_KEY}'}", "headers"),
        ("answer.reply={answer: 'choices[0'}", "JMESPath"),
        ("answer.reply={contexts: citations}", "answer.reply.answer"),
    ],
)
def test_a_wrong_template_is_one_line(
    village: CommandLineHere, service: Service, setting: str, named: str
) -> None:
    line = village.refused("plan", "-s", service.at(), "--set", setting)
    assert named in line
    assert "secret-word" not in line


def test_a_missing_key_is_one_line_before_anything_is_asked(village: CommandLineHere, service: Service) -> None:
    setting = 'answer.headers={x-api-key: "Bearer ${A_MISSING_KEY}"}'
    assert "A_MISSING_KEY" in village.refused("run", "-s", service.at(), "--set", setting)
    assert service.asked == []


@pytest.mark.slow
def test_citations_without_texts_are_measured_by_document(village: CommandLineHere, service: Service) -> None:
    service.says(
        chat({"content": "Marta Lind"}, citations=["https://x/docs/ferry.md", "https://x/docs/bakery.md"])
    )
    contexts = ["--set", 'answer.reply.contexts={items: citations, document: "@"}']
    made = run(village, "openai_citations", "-s", service.at(), *contexts)
    values = {(score.measure, score.value, score.status) for score in made.scores()}
    assert {("Hit@1", 0.0, "scored"), ("Recall", 1.0, "scored")} <= values
    assert {("fact_Recall@10", None, "not_applicable"), ("fact_Recall@4000c", None, "not_applicable")} <= values
