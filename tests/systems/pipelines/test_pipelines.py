"""Functions, chains, engines and services of others, asked as systems."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asking
import pytest
from runtimes import BareRuntime

from harness.core.errors import ConfigError, HarnessError
from harness.core.records import Document, Prediction, Usage
from harness.models.fake_faults import Reply
from harness.protocols import SystemSpec
from harness.registry import SYSTEMS
from systems.pipelines.http import ServiceFailed
from systems.pipelines.replies import WrongShape

from .conftest import Service

Module = Callable[[str], str]
CORPUS = [Document(doc_id="tea", text="Tea is at four."), Document(doc_id="bread", text="Bread is at five.")]


async def asked(spec: SystemSpec, runtime: BareRuntime, **answer: Any) -> Prediction:
    """What the system answers, indexed and loaded as by two processes."""
    await asking.indexed(spec, runtime, CORPUS)
    return await asking.asked(spec, runtime, "When is tea?", **answer)


def answered(name: str, folder: Path, **answer: Any) -> tuple[Prediction, BareRuntime]:
    (folder / "index").mkdir(exist_ok=True)
    runtime = BareRuntime(folder / "index")
    return asyncio.run(asked(SYSTEMS.load(name), runtime, **answer)), runtime


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """module(code) -> its name; in the folder of the command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def written(code: str) -> str:
        name = f"mine_{abs(hash(code))}"
        (tmp_path / f"{name}.py").write_text(code)
        return name

    return written


@pytest.mark.parametrize(
    "code",
    [
        "def f(question): return 'four'",
        "def f(text): return {'answer': 'four'}",
        "async def f(question, query_id, answer_style): return 'four' if answer_style == 'short' else query_id",
        "def f(documents): return lambda q: 'four' if documents[0]['doc_id'] == 'tea' else ''",
        "class f:\n  def __init__(self, folder): self.ok = folder.is_dir()\n"
        "  def __call__(self, question): return 'four' * self.ok",
        "def f(question, base_url): return 'four' if '/own/' in base_url else ''",
    ],
)
def test_a_function_is_asked_by_what_it_takes(module: Module, tmp_path: Path, code: str) -> None:
    assert answered(f"python:{module(code)}:f", tmp_path)[0].answer == "four"


def test_what_is_not_metered_is_unknown_before_it_is_reported(module: Module, tmp_path: Path) -> None:
    code = "def f(question): return {'answer': 'a', 'usage': {'input_tokens': 9, 'output_tokens': 1}}"
    _, runtime = answered(f"python:{module(code)}:f", tmp_path)
    # The index; the question before it is asked, should it fail; what it said.
    assert runtime.own == [None, None, Usage(input_tokens=9, output_tokens=1)]


@pytest.mark.parametrize(
    ("contexts", "ids", "trace", "warning"),
    [
        (
            "[{'text': 't', 'doc_id': d} for d in ('tea', 'gin')]",
            [("tea",), ("gin",)],
            [("not in the corpus", "gin")],
            "such as 'gin': each counts as a wrong one",
        ),
        ("['t']", [()], [], "measures by document do not apply"),
    ],
)
def test_contexts_of_unknown_documents_or_of_none_are_reported(
    module: Module, tmp_path: Path, contexts: str, ids: Any, trace: Any, warning: str
) -> None:
    code = f"def f(question): return {{'answer': 'a', 'contexts': {contexts}}}"
    prediction, runtime = answered(f"python:{module(code)}:f", tmp_path)
    assert [context.doc_ids for context in prediction.contexts] == ids
    assert [(step.name, step.content) for step in prediction.trace] == trace
    assert warning in runtime.warned[0]


def test_a_pipeline_that_takes_no_documents_has_an_index_that_nobody_saw(module: Module, tmp_path: Path) -> None:
    spec = SYSTEMS.load(f"python:{module('def f(question): return question')}:f")
    stats = asyncio.run(asking.indexed(spec, BareRuntime(tmp_path), CORPUS))
    assert stats.is_elsewhere
    assert "what that took is not known" in stats.notes[0]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("f = 5", "is a int: name a function of a question"),
        ("def f(documents): return 5", "f() gave a int: return a function of a question"),
        ("import sys; sys.exit(3)\ndef f(q): ...", "cannot be imported (PipelineEnded: it called sys.exit(3))"),
        ("import no_such_thing\ndef f(q): ...", "cannot be imported (ModuleNotFoundError"),
    ],
)
def test_what_is_no_pipeline_is_one_line_before_asking(
    module: Module, tmp_path: Path, code: str, line: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        answered(f"python:{module(code)}:f", tmp_path)
    assert line in str(refused.value)


def test_no_answer_is_a_failure_unless_the_run_only_retrieves(module: Module, tmp_path: Path) -> None:
    name = f"python:{module('def f(question): return dict(answer=None, contexts=[question])')}:f"
    with pytest.raises(WrongShape, match="'answer' is null"):
        answered(name, tmp_path)
    runtime = BareRuntime(tmp_path / "index", chat=None, retrieves_only=True)
    prediction = asyncio.run(asked(SYSTEMS.load(name), runtime))
    assert (prediction.answer, prediction.contexts[0].text) == (None, "When is tea?")


CHAIN = """
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
def make(documents):
    return RunnableLambda(lambda asked: {"answer": asked["input"], "context": documents})
used = dict(input_tokens=3, output_tokens=1, total_tokens=4)
text = RunnableLambda(lambda asked: AIMessage(asked, usage_metadata=used))
retriever = RunnableLambda(lambda asked: [Document(page_content="t", metadata={"source": "tea"})])
agent = RunnableLambda(lambda asked: {"messages": [AIMessage("a"), AIMessage(asked)]})
wrong = RunnableLambda(lambda asked: 5)
"""


@pytest.mark.slow  # LangChain takes seconds to import.
def test_a_chain_gives_an_answer_with_the_documents_that_it_was_given(module: Module, tmp_path: Path) -> None:
    prediction, runtime = answered(f"langchain:{module(CHAIN)}:make", tmp_path, input="input")
    assert prediction.answer == "When is tea?"
    assert [(one.text, one.doc_ids) for one in prediction.contexts] == [
        ("Tea is at four.", ("tea",)),
        ("Bread is at five.", ("bread",)),
    ]
    assert (prediction.trace, runtime.warned) == ((), [])


@pytest.mark.slow
def test_a_chain_may_say_a_message_or_end_with_one(module: Module, tmp_path: Path) -> None:
    name = module(CHAIN)
    prediction, runtime = answered(f"langchain:{name}:text", tmp_path)
    assert (prediction.answer, runtime.own[-1]) == (
        "When is tea?",
        Usage(calls=1, input_tokens=3, output_tokens=1),
    )
    assert answered(f"langchain:{name}:agent", tmp_path)[0].answer == "When is tea?"
    with pytest.raises(WrongShape, match="'answer' must be a text or null, not a number"):
        answered(f"langchain:{name}:wrong", tmp_path)


def test_a_service_gets_the_question_and_the_key_and_nothing_of_the_gold_side(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEA_KEY", "the-key-of-the-tea")
    assert answered(service.at(), tmp_path, api_key_env="TEA_KEY")[0].answer == "four"
    body = {"question": "When is tea?", "query_id": "q", "answer_style": "short"}
    (sent,) = service.asked
    assert (sent.body, sent.headers["authorization"]) == (body, "Bearer the-key-of-the-tea")


def test_a_service_that_is_lent_models_gets_the_questions_own_url(service: Service, tmp_path: Path) -> None:
    answered(service.at(), tmp_path, lends=["generator"])
    assert service.asked[0].body["models"]["base_url"].endswith("/own/v1")


@pytest.mark.parametrize(
    ("reply", "kind", "line"),
    [
        (Reply(500, b"<h1>Oh\nno</h1>"), ServiceFailed, "HTTP 500: '<h1>Oh no</h1>'"),
        (Reply(200, b"<p>", {"content-type": "text/html"}), WrongShape, "the reply is no JSON (text/html): '<p>'"),
        (Reply(200, b'{"answer": NaN}'), WrongShape, "'answer' must be a text or null, not a number"),
        (Reply(200, b"[" * 200_000), WrongShape, "the reply is no JSON"),
        (
            Reply(307, b"", {"location": "http://a.example/?key=1"}),
            HarnessError,
            "to http://a.example (307)",
        ),
        (Reply(401, b""), HarnessError, "asks for another key (401): set answer.api_key_env"),
        (Reply(404, b""), HarnessError, "takes no question (404): check the path"),
    ],
)
def test_what_a_service_does_not_answer_is_told(
    service: Service, tmp_path: Path, reply: Reply, kind: type[Exception], line: str
) -> None:
    service.replies(reply)
    with pytest.raises(kind) as told:
        answered(service.at(), tmp_path)
    assert line in str(told.value)
    assert len(service.asked) == 1


def test_a_service_that_is_not_there_is_one_line_before_anything_is_paid() -> None:
    spec = SYSTEMS.load("http://127.0.0.1:1/ask")
    assert spec.preflight is not None
    with pytest.raises(HarnessError, match=r"cannot reach http://127.0.0.1:1/ask \(.*\): start it, or correct"):
        spec.preflight(spec.index_params(), spec.answer_params())


def test_elsewhere_a_proxy_is_used(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As a proxy, the service sees the whole URL.
    monkeypatch.setenv("HTTP_PROXY", service.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "")
    assert answered("http://rag.corp.invalid/ask", tmp_path)[0].answer == "four"
    service.replies(Reply(407, b""))
    with pytest.raises(HarnessError, match=r"HTTP_PROXY=http://USER:PASSWORD"):
        answered("http://rag.corp.invalid/ask", tmp_path)


def test_two_spellings_of_a_url_are_one_system() -> None:
    names = [SYSTEMS.load(name).name for name in ("http://h:8/ask", "http:http://h:8/ask")]
    assert names == ["http://h:8/ask"] * 2
    assert SYSTEMS.load("https://h/ask").name == SYSTEMS.load("http:https://h/ask").name == "https://h/ask"


@pytest.mark.parametrize(
    "url", ["http://me:secret-word@h/ask", "http://h/ask?key=secret-word", "http://h/sk-secret-word-123/ask"]
)
def test_a_url_that_holds_a_key_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        SYSTEMS.load(url)
    assert "answer.api_key_env" in str(refused.value)
    assert "secret-word" not in str(refused.value)
