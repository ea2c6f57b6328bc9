#!/usr/bin/env python3
"""The RAGAS evaluator beside ragas' own evaluate(), on real rows of a run, with the local judge.

    .venv/bin/python scripts/check_ragas.py RUN_DIR [--rows 10] [--contexts 3] [--metrics faithfulness ...]

Each metric is computed three times over the same rows with the same model, temperature 0, seed and max_tokens: by
the evaluator with replies constrained to JSON schemas, by the evaluator without, and by ragas.evaluate() through
LangChain. Only the last two ask the same; their values should be equal wherever both scored. Every call goes to
one llama.cpp server on this machine. With the default 1.5B model on two cores a row takes minutes.
"""

import argparse
import asyncio
import math
import statistics
import tempfile
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import httpx2

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.evaluators.answer import is_null
from harness.evaluators.base import Scorer, score_run
from harness.evaluators.normalise import abstains, normalise
from harness.evaluators.ragas import SPEC, RagasParams, load_ragas
from harness.evaluators.ragas_metrics.asking import MetricName, Row
from harness.models.local_server import serve_local
from harness.models.providers import resolve_embedder, resolve_generator
from harness.records import Prediction, RunRecord
from harness.runner.evaluation_models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluation_plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.store import RunDir, SampleRow

METRICS: tuple[MetricName, ...] = get_args(MetricName)
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
    with tempfile.TemporaryDirectory() as folder, serve_local(judge, Path(folder) / "server.log") as server:
        own = {"provider": "openai-compatible", "options": {}, "base_url": server.base_url, "max_concurrency": 1}
        judge = resolve_generator(judge.model_copy(update=own))
        ours = asyncio.run(by_the_evaluator(rows, asked.metrics, judge, Path(folder)))
        columns = {name: [*ours[name], by_langchain(rows, name, judge)] for name in asked.metrics}
    _print_all(columns, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--contexts", type=int, default=3, help="the first so many contexts of each row")
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=METRICS)
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


async def by_the_evaluator(
    rows: Sequence[Answered], metrics: Sequence[MetricName], judge: JudgeConfig, folder: Path
) -> dict[MetricName, list[Column]]:
    """Constrained and unconstrained, over the real seam."""
    plan = EvaluationPlan((), judge, resolve_embedder(JudgeEmbedderConfig()), {})
    found: dict[MetricName, list[Column]] = {name: [] for name in metrics}
    with ExitStack() as stack:
        models = EvaluationModels(plan, folder, Reporter(), stack)
        for name in metrics:
            for constrained in (True, False):
                print(f"{name}, constrained: {constrained}", flush=True)
                params = RagasParams(metrics=(name,), constrained=constrained)
                found[name].append(await _evaluated(rows, params, models))
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


def by_langchain(rows: Sequence[Answered], name: MetricName, judge: JudgeConfig) -> Column:
    """ragas.evaluate() over LangChain's OpenAI client, pointed at the same server."""
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.embeddings import Embeddings
    from langchain_openai import ChatOpenAI

    from harness.models.embedders import MiniLM

    print(f"{name}, ragas.evaluate()", flush=True)
    encoder, column = MiniLM(), Column([], 0, 0)

    class Counter(BaseCallbackHandler):
        def on_llm_end(self, response: Any, **_: Any) -> None:
            column.calls += 1
            column.tokens += response.llm_output["token_usage"]["total_tokens"]

    class Encoded(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            # ragas calls this in the midst of its event loop.
            with ThreadPoolExecutor(1) as pool:
                vectors = pool.submit(asyncio.run, encoder.embed(texts)).result()
            return [[float(number) for number in vector] for vector in vectors]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

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
    column.values = through_ragas(inputs, (name,), chat, Encoded())[name]
    return column


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


def _print_all(columns: dict[MetricName, list[Column]], rows: Sequence[Answered]) -> None:
    ways = ("constrained", "unconstrained", "evaluate()")
    print(f"\n{len(rows)} rows. Coverage | calls a row | tokens a row, {' / '.join(ways)}")
    print(
        "| metric | scored | calls a row | tokens a row | largest difference (2nd, 3rd) | equal of both scored |"
    )
    print("|--|--|--|--|--|--|")
    for name, ways_of_it in columns.items():
        _, ours, theirs = ways_of_it
        both = [abs(a - b) for a, b in zip(ours.values, theirs.values, strict=True) if not math.isnan(a - b)]
        cells = (
            " / ".join(str(len(way.scored)) for way in ways_of_it),
            " / ".join(f"{way.calls / len(rows):.1f}" for way in ways_of_it),
            " / ".join(f"{way.tokens / len(rows):,.0f}" for way in ways_of_it),
            f"{max(both):.2g}" if both else "-",
            f"{sum(gap < 1e-6 for gap in both)} of {len(both)}",
        )
        print(f"| {name} | {' | '.join(cells)} |")
    for name, ways_of_it in columns.items():
        print(f"\n{name}")
        for label, way in zip(ways, ways_of_it, strict=True):
            mean = f"{statistics.fmean(way.scored):.3f}" if way.scored else "-"
            print(f"  {label:14} mean {mean:6}", " ".join(f"{value:.2f}" for value in way.values))
            for reason in way.reasons:
                print(f"  {'':14} {reason!r}")


if __name__ == "__main__":
    main()
