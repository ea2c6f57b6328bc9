"""The metrics of `harness.evaluators.ragas`: the package's prompts, parsing and formulas, one judgement at a time.

Imports ragas, which takes seconds. Its telemetry is off only if RAGAS_DO_NOT_TRACK is set before.
"""

import asyncio
import json
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.exceptions import OutputParserException
from langchain_core.outputs import Generation, LLMResult
from langchain_core.prompt_values import PromptValue
from pydantic import BaseModel
from ragas import _analytics
from ragas.dataset_schema import SingleTurnSample
from ragas.exceptions import RagasOutputParserException
from ragas.llms.base import BaseRagasLLM
from ragas.metrics._answer_correctness import AnswerCorrectness
from ragas.metrics._answer_relevance import ResponseRelevanceInput, ResponseRelevancy
from ragas.metrics._answer_similarity import AnswerSimilarity
from ragas.metrics._context_precision import (
    LLMContextPrecisionWithoutReference,
    LLMContextPrecisionWithReference,
    Verification,
)
from ragas.metrics._context_recall import LLMContextRecall
from ragas.metrics._factual_correctness import FactualCorrectness
from ragas.metrics._faithfulness import Faithfulness
from ragas.metrics._nv_metrics import ContextRelevance
from ragas.run_config import RunConfig

from harness.evaluators.ragas_rows import RagasMetric, RagasRow
from harness.evaluators.scores import bounded
from harness.protocols import ChatModel, Embedder, Message

# Even with telemetry off, every event would read or write an id in the user's home.
_analytics.user_data_dir = lambda **_: os.devnull
# Its log messages on failures are the reasons of failed scores.
logging.getLogger("ragas").setLevel(logging.CRITICAL)

_ONE_BY_ONE: frozenset[RagasMetric] = frozenset({"context_precision", "context_precision_no_reference"})
"""Metrics with a verdict on each context; the others judge all contexts together, or none."""
_QUOTED = 80
"""Characters of a reply quoted in an explanation."""
_SCHEMA_FOLLOWS = "specified in JSON Schema:\n"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_RATING_SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": [0, 1, 2]}},
    "required": ["score"],
    "additionalProperties": False,
}


class UnusableReply(ValueError):
    """The judge replied, but the reply cannot be scored."""


# The type checker does not follow ragas, so the base is Any.
class JudgeLLM(BaseRagasLLM):  # type: ignore[misc]
    """The judge during one judgement: one call at a time, each choice in a separate call, no retries.

    Our client handles retries and limits. The temperature is the judge's; a value from ragas is ignored.
    """

    def __init__(self, judge: ChatModel, *, constrained: bool) -> None:
        super().__init__(run_config=RunConfig(max_retries=1))
        self._judge = judge
        self._constrained = constrained
        self._turn = asyncio.Lock()
        self._over = False
        self.last_reply = ""

    async def ask(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """The judge's reply, constrained to `schema` if replies are constrained."""
        async with self._turn:
            if self._over:
                raise RuntimeError("the judgement is over")
            self.last_reply = await self._judge.complete(
                [Message("user", prompt)], json_schema=schema if self._constrained else None
            )
            return self.last_reply

    async def end(self) -> None:
        """Wait for the current call and allow no other, so that a failed judgement pays for nothing more."""
        async with self._turn:
            self._over = True

    async def agenerate_text(self, prompt: PromptValue, n: int = 1, *_: Any, **__: Any) -> LLMResult:
        text = prompt.to_string()
        replies = [await self.ask(text, binary_schema(_schema_in(text))) for _ in range(n)]
        if any(map(is_cut_off, replies)):
            raise UnusableReply("the JSON in the judge's reply is truncated, perhaps by max_tokens")
        return LLMResult(generations=[[Generation(text=reply) for reply in replies]])

    def generate_text(self, *_: Any, **__: Any) -> LLMResult:
        raise NotImplementedError("the judge is called asynchronously")

    def is_finished(self, response: LLMResult) -> bool:  # noqa: ARG002 - ragas names it
        """Always true: a truncated reply has raised."""
        return True


def is_cut_off(reply: str) -> bool:
    """Whether the first JSON value in the reply is truncated."""
    starts = [at for at in (reply.find("{"), reply.find("[")) if at >= 0]
    if not starts:
        return False
    value = reply[min(starts) :].rstrip()
    try:
        json.JSONDecoder(strict=False).raw_decode(value)
    except json.JSONDecodeError as error:
        return error.pos >= len(value) or error.msg.startswith("Unterminated string")
    return False


def binary_schema(schema: Any) -> Any:
    """The schema as servers enforce it: no additional keys, and every integer (all are verdicts) is 0 or 1."""
    if isinstance(schema, list):
        return [binary_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: binary_schema(value) for key, value in schema.items()}
    if schema.get("type") == "object":
        strict["additionalProperties"] = False
    if schema.get("type") == "integer":
        strict["enum"] = [0, 1]
    return strict


def _schema_in(prompt: str) -> Any:
    """The schema that ragas writes into each of its prompts, before any untrusted text."""
    _, _, behind = prompt.partition(_SCHEMA_FOLLOWS)
    schema, _ = json.JSONDecoder().raw_decode(behind)
    return schema


class _SameStatements(Faithfulness):  # type: ignore[misc]
    """Lists the statements of an answer once, for all windows of the contexts."""

    _made: Any = None

    async def _create_statements(self, row: dict[str, Any], callbacks: Any) -> Any:
        self._made = self._made or await super()._create_statements(row, callbacks)
        return self._made

    async def _create_verdicts(self, row: dict[str, Any], statements: list[str], callbacks: Any) -> Any:
        verdicts = await super()._create_verdicts(row, statements, callbacks)
        _check_count(statements, verdicts.statements)
        return verdicts


class _EveryClaim(FactualCorrectness):  # type: ignore[misc]
    """Needs a verdict on each claim."""

    async def verify_claims(self, premise: str, hypothesis_list: list[str], callbacks: Any) -> Any:
        verdicts = await super().verify_claims(premise, hypothesis_list, callbacks)
        _check_count(hypothesis_list, verdicts)
        return verdicts


_FROM_THE_LIBRARY: dict[RagasMetric, Callable[[], Any]] = {
    "context_precision_no_reference": LLMContextPrecisionWithoutReference,
    "context_precision": LLMContextPrecisionWithReference,
    "context_recall": LLMContextRecall,
    "faithfulness": _SameStatements,
    "factual_correctness": _EveryClaim,
}


@dataclass(frozen=True)
class Ragas:
    judge: ChatModel
    embedder: Embedder | None
    """For response relevancy and answer correctness."""
    strictness: int
    constrained: bool

    async def score(self, name: RagasMetric, row: RagasRow) -> tuple[float, str]:
        """The value and the judge's reply. Raises UnusableReply, and the errors of the model's client."""
        # A new metric and model each time, because ragas stores settings of a call in both.
        llm = JudgeLLM(self.judge, constrained=self.constrained)
        plans: dict[RagasMetric, Callable[[RagasRow, JudgeLLM], Awaitable[tuple[float, str]]]] = {
            "response_relevancy": self._response_relevancy,
            "context_relevance": _context_relevance,
            "answer_correctness": self._answer_correctness,
            "coverage": _coverage,
        }
        try:
            if plan := plans.get(name):
                return await plan(row, llm)
            metric = _FROM_THE_LIBRARY[name]()
            return await (_one_by_one if name in _ONE_BY_ONE else _together)(metric, row, llm)
        except (RagasOutputParserException, OutputParserException) as error:
            raise UnusableReply(f"the judge's reply cannot be parsed: {_quoted(llm.last_reply)}") from error
        finally:
            await llm.end()

    async def _response_relevancy(self, row: RagasRow, llm: JudgeLLM) -> tuple[float, str]:
        # ragas embeds synchronously in the middle of its own method, so its steps are called one by one.
        metric = ResponseRelevancy(strictness=self.strictness)
        prompt, given = metric.question_generation, ResponseRelevanceInput(response=row.answer)
        answers = await prompt.generate_multiple(
            data=given, llm=llm, n=metric.strictness, callbacks=CallbackManager([])
        )
        questions = [answer.question for answer in answers]
        if not all(map(str.strip, questions)):
            raise UnusableReply("the judge wrote no question")
        evasive = [verdict for answer in answers for verdict in verdicts_in(answer)]
        assert self.embedder is not None  # noqa: S101 - there is one where this metric is chosen
        asked = await self.embedder.embed_query(row.question)
        metric.embeddings = _Embedded(asked, await self.embedder.embed_documents(questions))
        value = float(metric._calculate_score(answers, {"user_input": row.question}))
        noted = "evasive answer; " if all(evasive) else ""
        # Rounding can take the cosine of a vector with itself past 1; NaN stays, and fails the score.
        return float(np.clip(value, -1.0, 1.0)), f"{noted}asked back: {' | '.join(questions)}"

    async def _answer_correctness(self, row: RagasRow, llm: JudgeLLM) -> tuple[float, str]:
        assert self.embedder is not None  # noqa: S101 - there is one where this metric is chosen
        similarity = AnswerSimilarity(embeddings=_Embedding(self.embedder))
        value, outputs = await _run(AnswerCorrectness(answer_similarity=similarity), row, llm)
        *stated, classified = (dict(output) for output in outputs)
        counts = {name: len(listed) for name, listed in classified.items()}
        # The package would score two texts without statements as equal.
        if len(stated) < 2 or not all(one["statements"] for one in stated):
            raise UnusableReply("the judge listed no statements of a text")
        answer, reference = (one["statements"] for one in stated)
        said = ", ".join(f"{name} {count}" for name, count in counts.items())
        if counts["TP"] + counts["FP"] != len(answer) or counts["FN"] > len(reference):
            raise UnusableReply(
                f"{said} do not fit {len(answer)} statements and {len(reference)} of the reference"
            )
        _check_count([*answer, *reference])
        # Rounding can take the cosine of a vector with itself past 1; NaN stays, and fails the score.
        return float(np.clip(value, 0.0, 1.0)), said


async def _together(metric: Any, row: RagasRow, llm: JudgeLLM) -> tuple[float, str]:
    """A statement supported by any window is supported. If windows have different numbers of verdicts (the judge
    splits a reference into sentences itself), the best window's value.
    """
    windows = [await _by_the_library(metric, replace(row, contexts=seen), llm) for seen in row.shown_at_once]
    values, verdicts, listed = zip(*windows, strict=True)
    said = f"verdicts {' | '.join(listed)}"
    if len(windows) == 1 or len(set(map(len, verdicts))) > 1:
        return max(values), said
    stated = list(map(max, zip(*verdicts, strict=True)))
    return sum(stated) / len(stated), said


async def _one_by_one(metric: Any, row: RagasRow, llm: JudgeLLM) -> tuple[float, str]:
    """A context that was judged in parts is useful if any part is."""
    value, found, said = await _by_the_library(metric, row, llm)
    useful: dict[int, int] = {}
    for rank, verdict in zip(row.ranks, found, strict=bool(row.ranks)):
        useful[rank] = max(verdict, useful.get(rank, 0))
    if len(useful) == len(row.ranks):
        return value, f"verdicts {said}"
    verdicts = [Verification(reason="", verdict=verdict) for verdict in useful.values()]
    listed = "; ".join(map(str, useful.values()))
    return float(metric._calculate_average_precision(verdicts)), f"verdicts {listed}"


async def _coverage(row: RagasRow, llm: JudgeLLM) -> tuple[float, str]:
    """The claims of the reference, verified against the answer."""
    metric, heard = _EveryClaim(atomicity="high", coverage="high"), _ParsedReplies()
    metric.llm = llm
    await metric.decompose_and_verify_claims(row.answer, row.reference, heard.callbacks)
    verdicts = [verdict for output in heard.outputs for verdict in verdicts_in(output)]
    if not verdicts:
        raise UnusableReply("the judge gave no verdict on a claim")
    return sum(verdicts) / len(verdicts), f"verdicts {' '.join(map(str, verdicts))}"


async def _by_the_library(metric: Any, row: RagasRow, llm: JudgeLLM) -> tuple[float, list[int], str]:
    """The value, all verdicts, and how they are listed: by reply."""
    value, outputs = await _run(metric, row, llm)
    verdicts = [found for output in outputs if (found := verdicts_in(output))]
    said = "; ".join(" ".join(map(str, found)) for found in verdicts)
    return value, list(chain.from_iterable(verdicts)), said


async def _run(metric: Any, row: RagasRow, llm: JudgeLLM) -> tuple[float, list[BaseModel]]:
    """The value of the package, and the replies that it parsed."""
    heard = _ParsedReplies()
    metric.llm = llm
    texts = {"user_input": row.question, "response": row.answer, "reference": row.reference}
    sample = SingleTurnSample(**texts, retrieved_contexts=list(row.contexts))
    value = await metric.single_turn_ascore(sample, heard.callbacks)
    return float(value), heard.outputs


async def _context_relevance(row: RagasRow, llm: JudgeLLM) -> tuple[float, str]:
    """The value of the best window, which contains the answer."""
    metric, values, said = ContextRelevance(), [], []
    for contexts in row.shown_at_once:
        # ragas' own method prints errors and continues.
        ratings = []
        for template in (metric.template_relevance1, metric.template_relevance2):
            prompt = template.format(query=row.question, context="\n".join(contexts))
            reply = await llm.ask(prompt, _RATING_SCHEMA)
            rating, first = metric.process_score(reply), _NUMBER.search(reply)
            if first is None or float(first[0]) != rating * 2:
                raise UnusableReply(f"the judge's rating is neither 0, 1 nor 2: {_quoted(reply)}")
            ratings.append(rating)
        values.append(float(metric.average_scores(*ratings)))
        said.append(" ".join(f"{rating * 2:g}" for rating in ratings))
    return max(values), f"ratings {' | '.join(said)}"


def verdicts_in(output: BaseModel) -> list[int]:
    """The verdicts of a reply that ragas has parsed, in order.

    Raises UnusableReply if one is neither 0 nor 1, or if there are none.
    """
    verdicts: list[int] = []
    for name, value in output:
        if isinstance(value, int):
            if value not in {0, 1}:
                raise UnusableReply(f"the judge's {name} is {value}, neither 0 nor 1")
            verdicts.append(value)
        elif isinstance(value, list):
            if not value:
                raise UnusableReply(f"the judge listed no {name}")
            verdicts += [one for item in value if isinstance(item, BaseModel) for one in verdicts_in(item)]
    return verdicts


def _check_count(statements: Sequence[str], verdicts: Sequence[Any] | None = None) -> None:
    """Raise UnusableReply for a blank statement, or one without its verdict; `verdicts_in` finds empty lists."""
    if not all(map(str.strip, statements)):
        raise UnusableReply("the judge listed a blank statement")
    if verdicts is not None and len(verdicts) and len(verdicts) != len(statements):
        raise UnusableReply(f"{len(verdicts)} verdicts on {len(statements)} statements")


def _quoted(reply: str) -> str:
    return repr(bounded(reply, _QUOTED))


# The type checker does not follow LangChain either.
@dataclass
class _ParsedReplies(BaseCallbackHandler):  # type: ignore[misc]
    """Records ragas' parsed replies, through the hook of its tracer."""

    outputs: list[BaseModel] = field(default_factory=list)

    @property
    def callbacks(self) -> CallbackManager:
        """Our own manager keeps out the tracers that LangChain would add from environment variables."""
        return CallbackManager([self], inheritable_handlers=[self])

    def on_chain_end(self, outputs: Any, **_: Any) -> None:
        found = outputs.get("output")
        self.outputs += found if isinstance(found, list) else []


@dataclass(frozen=True)
class _Embedding:
    """The embedder in the interface of ragas."""

    embedder: Embedder

    async def aembed_text(self, text: str) -> Any:
        (vector,) = await self.embedder.embed_documents([text])
        return np.asarray(vector, dtype=np.float64)


@dataclass(frozen=True)
class _Embedded:
    """Vectors that are already computed, in the interface of ragas."""

    question: Any
    asked_back: Any

    def embed_query(self, _text: str) -> Any:
        return np.asarray(self.question, dtype=np.float64)

    def embed_documents(self, _texts: Sequence[str]) -> Any:
        return np.asarray(self.asked_back, dtype=np.float64)
