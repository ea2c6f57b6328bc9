#!/usr/bin/env python3
"""The RAGAS evaluator beside ragas' own evaluate(), on real rows of a run, with the local judge.

    .venv/bin/python scripts/check_ragas.py RUN_DIR [--rows 10] [--contexts 3] [--metrics faithfulness ...]

Each metric is computed in up to three ways over the same rows with the same model, temperature 0, seed and
max_tokens: by the evaluator with replies constrained to JSON schemas, by the evaluator without, and by
ragas.evaluate() through LangChain. Only the last two ask the same; their values should be equal where both scored.
With the default 1.5B model on two cores a row takes minutes. Every call is kept in --folder: interrupted, the same
command goes on, and evaluate() is given the replies that the evaluator had to the same prompts (--ask-again: it
asks the server itself, whose replies may differ a little from call to call).
"""

import argparse
import asyncio
import math
import statistics
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import httpx2

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.evaluators.answer import is_null
from harness.evaluators.base import Scorer, score_run
from harness.evaluators.normalise import abstains, normalise
from harness.evaluators.ragas import SPEC, RagasParams, load_ragas
from harness.evaluators.ragas_metrics.asking import MetricName, Row
from harness.models.local_server import serve_local
from harness.models.providers import resolve_embedder, resolve_generator
from harness.protocols import Message
from harness.records import Prediction, RunRecord, Usage
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.store import RunDir, SampleRow

METRICS: tuple[MetricName, ...] = get_args(MetricName)
Way = Literal["constrained", "unconstrained", "evaluate"]
WAYS: tuple[Way, ...] = get_args(Way)
Answered = tuple[SampleRow, RunRecord]


@dataclass
class Column:
    """One way to compute one metric: a value or NaN for each row, and what it took."""

    values: list[float]
    calls: int
    tokens: int
    reasons: list[str] = field(default_factory=list)

    @property
    def scored(self) -> list[float]:
        return [value for value in self.values if not math.isnan(value)]


def main() -> None:
    """Compute, then print one table, the values row by row, and why any is missing."""
    asked = _arguments()
    load_ragas()
    warnings.simplefilter("ignore")
    rows = answered_rows(RunDir(asked.run), asked.rows, asked.contexts)
    judge = resolve_generator(JudgeConfig(model=asked.model, options={"context_tokens": asked.context_tokens}))
    asked.folder.mkdir(parents=True, exist_ok=True)
    with serve_local(judge, asked.folder / "server.log") as server:
        own = {"provider": "openai-compatible", "options": {}, "base_url": server.base_url, "max_concurrency": 1}
        judge = resolve_generator(judge.model_copy(update=own))
        plan = EvaluationPlan((), judge, resolve_embedder(JudgeEmbedderConfig()), {})
        columns = {name: _columns(rows, name, plan, asked) for name in asked.metrics}
    _print_all(columns, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--contexts", type=int, default=3, help="the first so many contexts of each row")
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=METRICS)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--ask-again", action="store_true", help="evaluate() asks the server itself")
    parser.add_argument("--folder", type=Path, default=Path("results/check_ragas"), help="keeps every call")
    parser.add_argument("--model", default=None, help="a local model by name (default: the local judge)")
    parser.add_argument("--context-tokens", type=int, default=8192)
    return parser.parse_args()


def answered_rows(run: RunDir, count: int, contexts: int) -> list[Answered]:
    """The first rows of the sample to which every metric applies, in its order."""
    records, found = run.records(), []
    for row in run.sample():
        record = records.get((row.query.query_id, 0))
        if record is None or record.prediction is None or is_null(row.reference):
            continue
        answer, seen = record.prediction.answer or "", record.prediction.contexts[:contexts]
        if normalise(answer) and not abstains(answer) and any(one.text.strip() for one in seen):
            prediction = record.prediction.model_copy(update={"contexts": seen})
            found.append((row, record.model_copy(update={"prediction": prediction})))
    if len(found) < count:
        print(f"only {len(found)} rows have an answer, contexts and a reference")
    return found[:count]


def _columns(
    rows: Sequence[Answered], name: MetricName, plan: EvaluationPlan, asked: argparse.Namespace
) -> dict[Way, Column]:
    found: dict[Way, Column] = {}
    for way in asked.ways:
        print(f"{name}: {way}", flush=True)
        if way == "evaluate" and asked.ask_again:
            found[way] = by_langchain(rows, name, plan.judge)
        elif way == "evaluate":
            found[way] = by_the_library(rows, name, plan, asked.folder)
        else:
            params = RagasParams(metrics=(name,), constrained=way == "constrained")
            with ExitStack() as stack:
                models = EvaluationModels(plan, asked.folder, Reporter(), stack)
                found[way] = asyncio.run(_evaluated(rows, params, models))
        print(f"  {_summary(found[way], len(rows))}", flush=True)
    return found


async def _evaluated(rows: Sequence[Answered], params: RagasParams, models: EvaluationModels) -> Column:
    runtime = MeteredEvaluation(models, lambda _done, _total, _doing: None)
    runtime.begin("check")
    scorer = Scorer(SPEC.name, SPEC.measures(params), SPEC.build(params, runtime))
    records = {(row.query.query_id, 0): record for row, record in rows}
    scores = {score.query_id: score for score in await score_run(scorer, [row for row, _ in rows], records)}
    inorder = [scores[row.query.query_id] for row, _ in rows]
    used = runtime.meter.usage["judge"]
    return Column(
        values=[math.nan if score.value is None else score.value for score in inorder],
        calls=used.calls,
        tokens=used.input_tokens + used.output_tokens,
        reasons=[score.explanation for score in inorder if score.status == "failed"],
    )


class Charged:
    """The judge of an evaluation, for a caller that charges nobody."""

    def __init__(self, runtime: MeteredEvaluation) -> None:
        self._runtime = runtime

    async def complete(self, messages: Sequence[Message], **wanted: Any) -> str:
        with self._runtime.charge():
            return await self._runtime.judge.complete(messages, **wanted)


def by_the_library(rows: Sequence[Answered], name: MetricName, plan: EvaluationPlan, folder: Path) -> Column:
    """ragas.evaluate() over the same seam: a prompt that the evaluator sent has the same reply."""
    from systems.parts.langchain_chat import MeteredChatModel

    with ExitStack() as stack:
        models = EvaluationModels(plan, folder, Reporter(), stack)
        runtime = MeteredEvaluation(models, lambda _done, _total, _doing: None)
        runtime.begin("check")
        chat = MeteredChatModel(chat=Charged(runtime), max_tokens=plan.judge.max_tokens)
        inputs = [_row(row, record) for row, record in rows]
        values = through_ragas(inputs, (name,), chat, encoded())[name]
        used = runtime.meter.usage.get("judge", Usage())
        new = runtime.meter.paid.get("judge", Usage()).calls
    reasons = [f"{new} prompts that the evaluator did not send"] if new else []
    return Column(values, used.calls, used.input_tokens + used.output_tokens, reasons)


def by_langchain(rows: Sequence[Answered], name: MetricName, judge: JudgeConfig) -> Column:
    """ragas.evaluate() over LangChain's OpenAI client, pointed at the same server."""
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_openai import ChatOpenAI

    column = Column([], 0, 0)

    class Counter(BaseCallbackHandler):
        def on_llm_end(self, response: Any, **_: Any) -> None:
            column.calls += 1
            column.tokens += response.llm_output["token_usage"]["total_tokens"]

    chat = ChatOpenAI(
        model=str(judge.model),
        base_url=judge.base_url,
        api_key="none",
        temperature=judge.temperature,
        seed=judge.seed,
        max_tokens=judge.max_tokens,
        max_retries=0,
        # LangChain's own client outlives the event loop of evaluate(), and its connections with it.
        http_async_client=httpx2.AsyncClient(timeout=judge.timeout_s),
        callbacks=[Counter()],
    )
    inputs = [_row(row, record) for row, record in rows]
    column.values = through_ragas(inputs, (name,), chat, encoded())[name]
    return column


def encoded() -> Any:
    """MiniLM as LangChain's embeddings."""
    from langchain_core.embeddings import Embeddings

    from harness.models.embedders import MiniLM

    encoder = MiniLM()

    class Encoded(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            # ragas calls this in the midst of its event loop.
            with ThreadPoolExecutor(1) as pool:
                vectors = pool.submit(asyncio.run, encoder.embed(texts)).result()
            return [[float(number) for number in vector] for vector in vectors]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    return Encoded()


def through_ragas(
    rows: Sequence[Row], metrics: Sequence[MetricName], chat: Any, embeddings: Any
) -> dict[MetricName, list[float]]:
    """What ragas.evaluate() gives for each row, NaN where it failed.

    `chat` and `embeddings` are LangChain's; each reply is a call of its own, the temperature that of `chat`.
    """
    from ragas import EvaluationDataset, RunConfig, SingleTurnSample, evaluate
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics._answer_relevance import ResponseRelevancy
    from ragas.metrics._context_precision import (
        LLMContextPrecisionWithoutReference,
        LLMContextPrecisionWithReference,
    )
    from ragas.metrics._context_recall import LLMContextRecall
    from ragas.metrics._factual_correctness import FactualCorrectness
    from ragas.metrics._faithfulness import Faithfulness
    from ragas.metrics._nv_metrics import ContextRelevance

    classes: dict[MetricName, Any] = {
        "context_precision_no_reference": LLMContextPrecisionWithoutReference,
        "context_precision": LLMContextPrecisionWithReference,
        "context_recall": LLMContextRecall,
        "faithfulness": Faithfulness,
        "factual_correctness": FactualCorrectness,
        "response_relevancy": ResponseRelevancy,
        "context_relevance": ContextRelevance,
    }
    built = [classes[name]() for name in metrics]
    for metric in built:
        # Shared, a wrapper would carry one metric's settings into another's calls.
        metric.llm = LangchainLLMWrapper(chat, bypass_temperature=True, bypass_n=True)
        if hasattr(metric, "strictness"):
            metric.strictness, metric.embeddings = 1, LangchainEmbeddingsWrapper(embeddings)
    samples = [
        SingleTurnSample(
            user_input=row.question,
            response=row.answer,
            retrieved_contexts=[*row.contexts],
            reference=row.reference,
        )
        for row in rows
    ]
    patient = RunConfig(max_workers=1, max_retries=1, timeout=3600)
    result = evaluate(
        EvaluationDataset(samples), built, run_config=patient, show_progress=False, allow_nest_asyncio=False
    )
    # One name may have a suffix (such as the mode of factual correctness), but their order is that of the metrics.
    return {name: [[*scores.values()][at] for scores in result.scores] for at, name in enumerate(metrics)}


def _row(row: SampleRow, record: RunRecord) -> Row:
    prediction = record.prediction or Prediction(answer=None)
    contexts = tuple(context.text for context in prediction.contexts)
    reference = next(answer for answer in row.reference.answers if normalise(answer))
    return Row(row.query.text, prediction.answer or "", contexts, reference)


def _summary(way: Column, n_rows: int) -> str:
    mean = f"{statistics.fmean(way.scored):.3f}" if way.scored else "-"
    return (
        f"{len(way.scored)} of {n_rows} scored, mean {mean}, "
        f"{way.calls / n_rows:.1f} calls and {way.tokens / n_rows:,.0f} tokens a row"
    )


def _print_all(columns: dict[MetricName, dict[Way, Column]], rows: Sequence[Answered]) -> None:
    print(f"\n{len(rows)} rows")
    for name, ways in columns.items():
        print(f"\n{name}")
        for way, column in ways.items():
            print(f"  {way:13} {_summary(column, len(rows))}")
            print(f"  {'':13} {' '.join(f'{value:.2f}' for value in column.values)}")
            for reason in column.reasons:
                print(f"  {'':13} {reason!r}")
        if {"unconstrained", "evaluate"} <= ways.keys():
            print(f"  {_agreement(ways['unconstrained'], ways['evaluate'])}")


def _agreement(ours: Column, theirs: Column) -> str:
    pairs = zip(ours.values, theirs.values, strict=True)
    gaps = [abs(a - b) for a, b in pairs if not math.isnan(a - b)]
    equal, largest = sum(gap < 1e-6 for gap in gaps), max(gaps, default=0.0)
    return f"unconstrained and evaluate: {equal} of {len(gaps)} values equal, largest difference {largest:.2g}"


if __name__ == "__main__":
    main()
