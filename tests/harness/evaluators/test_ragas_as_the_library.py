"""The metrics beside ragas' own evaluate(): the same replies to the same prompts, the same values."""

import asyncio
import importlib
import json
import math
from types import ModuleType
from typing import Any, get_args

import pytest
from judges import ScriptedJudge, WordEmbedder

from harness.evaluators.ragas_rows import RagasMetric, RagasRow
from harness.models.fake_model import example_of

pytestmark = pytest.mark.slow

METRICS: tuple[RagasMetric, ...] = tuple(name for name in get_args(RagasMetric) if name != "coverage")
ROWS = [
    RagasRow(
        question=f"Who founded Acme in the Year {number}?",
        answer=f"Ann{number} and Bob founded Acme.",
        contexts=tuple(f"Context {rank} of RagasRow {number}" for rank in range(1 + number % 4)),
        reference=f"Bob{number} founded Acme{' and left' * (number % 2)}.",
    )
    for number in range(20)
]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """scripts/bench/ragas_evaluate.py, which calls ragas.evaluate()."""
    importlib.import_module("harness.evaluators.ragas_adapter")
    return importlib.import_module("ragas_evaluate")


def any_reply(prompt: str) -> str:
    """What some judge could say to this prompt: always the same, and valid where JSON is asked for."""
    if "JSON Schema:" not in prompt:
        ratings = ("0", "1", "2", "[1]", "Score: 2.", "none", "0 out of 2", "between 1 and 2")
        return ratings[sum(map(ord, prompt)) % len(ratings)]
    schema, _ = json.JSONDecoder().raw_decode(prompt.split("JSON Schema:\n", 1)[1])
    # Its words are those of the input, so that questions asked back have some in common with the question.
    reply = example_of(_with_verdicts(schema), prompt.rpartition("input: ")[2])
    if "TP" in reply:
        # Each statement of the answer is in one of the two lists.
        reply["TP"], reply["FP"] = reply["TP"][:1], reply["FP"][1:]
    return json.dumps(reply)


def _with_verdicts(schema: Any) -> Any:
    if isinstance(schema, dict):
        bounds = {"minimum": 0, "maximum": 1} if schema.get("type") == "integer" else {}
        return {key: _with_verdicts(value) for key, value in schema.items()} | bounds
    return [_with_verdicts(item) for item in schema] if isinstance(schema, list) else schema


async def by_us(judge: ScriptedJudge, name: RagasMetric, row: RagasRow) -> float:
    from harness.evaluators.ragas_adapter import Ragas, UnusableReply

    ragas = Ragas(judge, WordEmbedder(), strictness=1, constrained=False)
    try:
        return (await ragas.score(name, row))[0]
    except UnusableReply:
        return math.nan


def by_ragas(
    script: ModuleType, judge: ScriptedJudge, rows: list[RagasRow], finish: str = "stop"
) -> dict[str, list[float]]:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):  # type: ignore[misc]
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
            reply = AIMessage(content=judge.reply_to(str(messages[0].content)))
            return ChatResult(
                generations=[ChatGeneration(message=reply, generation_info={"finish_reason": finish})]
            )

    class Words(Embeddings):  # type: ignore[misc]
        words = WordEmbedder()

        def embed_query(self, text: str) -> list[float]:
            return [float(one) for one in self.words.vector(text)]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    with pytest.warns(DeprecationWarning):
        found: dict[str, list[float]] = script.through_ragas(rows, METRICS, Scripted(), Words())
    return found


def test_values_are_those_of_ragas_evaluate(script: ModuleType) -> None:
    judge = ScriptedJudge({"": any_reply})
    theirs = by_ragas(script, judge, ROWS)
    for name in METRICS:
        ours = [asyncio.run(by_us(judge, name, row)) for row in ROWS]
        pairs = [(a, b) for a, b in zip(ours, theirs[name], strict=True) if not math.isnan(a)]
        assert [a for a, _ in pairs] == pytest.approx([b for _, b in pairs], abs=1e-9), name
        # Only a rating that can be read in two ways is failed here and scored there.
        assert len(pairs) == len(ROWS) or name == "context_relevance"
        assert len({round(a, 6) for a, _ in pairs}) > 1, name


@pytest.mark.parametrize("reply", ["I cannot say.", '{"statements": []}', '{"classifications": []}', "[1, 2"])
async def test_where_ragas_evaluate_gives_nan_so_do_we_and_say_why(script: ModuleType, reply: str) -> None:
    judge = ScriptedJudge({"": reply})
    theirs = await asyncio.to_thread(by_ragas, script, judge, ROWS[:1], "length" if reply == "[1, 2" else "stop")
    for name in METRICS:
        if math.isnan(theirs[name][0]):
            assert math.isnan(await by_us(judge, name, ROWS[0])), name


def test_a_reply_that_was_cut_off_is_nan_there_and_failed_here(script: ModuleType) -> None:
    def cut(prompt: str) -> str:
        whole = any_reply(prompt)
        return whole[: len(whole) * 2 // 3] if whole.startswith("{") else whole

    judge = ScriptedJudge({"": cut})
    theirs = by_ragas(script, judge, ROWS[:3], finish="length")
    for name in METRICS[:-1]:
        assert all(map(math.isnan, theirs[name])), name
        assert all(math.isnan(asyncio.run(by_us(judge, name, row))) for row in ROWS[:3]), name


def test_the_prompts_are_those_of_ragas(script: ModuleType) -> None:
    seen: list[str] = []

    def reply(prompt: str) -> str:
        seen.append(prompt)
        return any_reply(prompt)

    judge = ScriptedJudge({"": reply})
    by_ragas(script, judge, ROWS[3:4])
    theirs, seen = seen, []
    for name in METRICS:
        asyncio.run(by_us(judge, name, ROWS[3]))
    assert set(seen) == set(theirs)
