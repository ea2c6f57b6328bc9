"""The RAGAS evaluator compared with ragas' own evaluate(), on real rows of a run, with the local judge.

Each metric is computed in up to three ways over the same rows with the same model, temperature 0, seed and
max_tokens: by the evaluator with replies constrained to JSON schemas, by the evaluator without, and by
ragas.evaluate() through LangChain. Only the last two send the same prompts; their values should be equal if both
scored. With the default 1.5B model on two cores a row takes minutes. Every call is saved in --folder: if
interrupted, the same command resumes, and evaluate() gets the replies that the evaluator got to the same prompts
(--ask-again: it calls a server itself, whose replies may differ slightly from call to call).

Examples:
  .venv/bin/python scripts/research/check_ragas.py results/RUN --rows 10 --contexts 3
  .venv/bin/python scripts/research/check_ragas.py results/RUN --rows 1 --metrics faithfulness context_relevance
"""

import argparse
import asyncio
import math
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any, get_args

import httpx2
from common import command_line, mean, print_table, started
from judging import Answered, answered_rows, judge_arguments, judge_of, judged, metered, opened, tokens

from harness.config import JudgeConfig
from harness.core.records import Prediction, Usage
from harness.evaluators.context_windows import reading_of
from harness.evaluators.ragas import SPEC, RagasParams, load_ragas
from harness.evaluators.ragas_metrics.judge_questions import ONE_BY_ONE, RagasMetric, RagasRow
from harness.evaluators.score_preconditions import reference_answer
from harness.models.llama_server import serve_local
from harness.protocols import Message
from harness.runner.evaluating.models import MeteredEvaluation
from harness.store import SampleRow

METRICS: tuple[RagasMetric, ...] = get_args(RagasMetric)
HEADER = ("way", "scored", "mean", "calls a row", "tokens a row", "values")


@dataclass
class Column:
    """One way to compute one metric: a value or NaN for each row, and its cost."""

    values: list[float]
    calls: int
    tokens: int
    reasons: list[str] = field(default_factory=list)


def main() -> None:
    """Compute and print a table for each metric, and why any value is missing."""
    asked = _arguments()
    load_ragas()
    warnings.simplefilter("ignore")
    judge = judge_of(asked)

    def within(_row: SampleRow, said: Prediction) -> Prediction:
        return said.model_copy(update={"contexts": said.contexts[: asked.contexts]})

    rows = answered_rows(asked.run, asked.rows, within)
    print(f"{len(rows)} rows of {asked.run.name}, judge {judge.model}")
    ways = {**WAYS, "evaluate": by_langchain} if asked.ask_again else WAYS
    for name in asked.metrics:
        print(f"\n{name}", flush=True)
        columns = {way: ways[way](rows, name, judge, asked.folder) for way in asked.ways}
        print_table(HEADER, starmap(_line, columns.items()))
        for way, column in columns.items():
            for reason in column.reasons:
                print(f"{way}: {reason!r}")
        if {"unconstrained", "evaluate"} <= columns.keys():
            print(_agreement(columns["unconstrained"], columns["evaluate"]))


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("run", type=Path, help="a run directory")
    parser.add_argument("--rows", type=int, default=10, help="how many (default 10)")
    parser.add_argument("--contexts", type=int, default=3, help="use the first contexts of each row (default 3)")
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=METRICS)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--ask-again", action="store_true", help="evaluate() asks a local judge itself")
    judge_arguments(parser)
    asked = parser.parse_args()
    if asked.ask_again and asked.provider != "local":
        parser.error("--ask-again needs a local judge")
    return asked


def by_the_evaluator(
    rows: Sequence[Answered], name: RagasMetric, judge: JudgeConfig, folder: Path, *, constrained: bool
) -> Column:
    with opened(judge, folder) as models:
        found = asyncio.run(judged(rows, SPEC, RagasParams(metrics=(name,), constrained=constrained), models))
    values = [math.nan if score.value is None else score.value for score in found.scores]
    return Column(values, found.usage.calls, tokens(found.usage), found.reasons)


class Charged:
    """The judge of an evaluation, without charging."""

    def __init__(self, runtime: MeteredEvaluation) -> None:
        self._runtime = runtime

    async def complete(self, messages: Sequence[Message], **wanted: Any) -> str:
        with self._runtime.charge():
            return await self._runtime.judge.complete(messages, **wanted)


def by_the_library(rows: Sequence[Answered], name: RagasMetric, judge: JudgeConfig, folder: Path) -> Column:
    """ragas.evaluate() over the same client: a prompt that the evaluator sent gets the same reply."""
    from systems.common.langchain_chat import MeteredChatModel

    with opened(judge, folder) as models:
        runtime = metered(models)
        chat = MeteredChatModel(chat=Charged(runtime), max_tokens=judge.max_tokens)
        values = through_ragas([_row(name, *one) for one in rows], (name,), chat, encoded())[name]
        used = runtime.meter.usage.get("judge", Usage())
        new = runtime.meter.paid.get("judge", Usage()).calls
    reasons = [f"{new} prompts that the evaluator did not send"] if new else []
    return Column(values, used.calls, tokens(used), reasons)


def by_langchain(rows: Sequence[Answered], name: RagasMetric, judge: JudgeConfig, folder: Path) -> Column:
    """ragas.evaluate() over LangChain's OpenAI client, with a server of its own."""
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_openai import ChatOpenAI

    column = Column([], 0, 0)

    class Counter(BaseCallbackHandler):
        def on_llm_end(self, response: Any, **_: Any) -> None:
            column.calls += 1
            column.tokens += response.llm_output["token_usage"]["total_tokens"]

    folder.mkdir(parents=True, exist_ok=True)
    with serve_local(judge, folder / "server.log") as server:
        chat = ChatOpenAI(
            model=str(judge.model),
            base_url=server.base_url,
            api_key=server.access.api_key,
            temperature=judge.temperature,
            seed=judge.seed,
            max_tokens=judge.max_tokens,
            max_retries=0,
            # LangChain's own client and its connections outlive the event loop of evaluate().
            http_async_client=httpx2.AsyncClient(timeout=judge.timeout_s),
            callbacks=[Counter()],
        )
        column.values = through_ragas([_row(name, *one) for one in rows], (name,), chat, encoded())[name]
    return column


WAYS: dict[str, Callable[[Sequence[Answered], RagasMetric, JudgeConfig, Path], Column]] = {
    "constrained": partial(by_the_evaluator, constrained=True),
    "unconstrained": partial(by_the_evaluator, constrained=False),
    "evaluate": by_the_library,
}


def encoded() -> Any:
    """MiniLM as LangChain's embeddings."""
    from langchain_core.embeddings import Embeddings

    from harness.models.minilm_embedder import MiniLM

    encoder = MiniLM()

    class Encoded(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            # ragas calls this inside its event loop.
            with ThreadPoolExecutor(1) as pool:
                vectors = pool.submit(asyncio.run, encoder.embed(texts)).result()
            return [[float(number) for number in vector] for vector in vectors]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    return Encoded()


def through_ragas(
    rows: Sequence[RagasRow], metrics: Sequence[RagasMetric], chat: Any, embeddings: Any, at_once: int = 1
) -> dict[RagasMetric, list[float]]:
    """The values of ragas.evaluate() for each row, NaN if it failed; `at_once` judgements run concurrently.

    `chat` and `embeddings` are LangChain's; each reply is a separate call, with the temperature of `chat`.
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

    classes: dict[RagasMetric, Any] = {
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
        # A shared wrapper would carry one metric's settings into another's calls.
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
    patient = RunConfig(max_workers=at_once, max_retries=1, timeout=3600)
    result = evaluate(
        EvaluationDataset(samples), built, run_config=patient, show_progress=False, allow_nest_asyncio=False
    )
    # A name may have a suffix (such as the mode of factual correctness), but their order is that of the metrics.
    return {name: [[*scores.values()][at] for scores in result.scores] for at, name in enumerate(metrics)}


def _row(name: RagasMetric, row: SampleRow, said: Prediction) -> RagasRow:
    """The contexts as the evaluator passes them."""
    reading = reading_of(said.contexts, RagasParams().context_characters)
    shown = reading.units if name in ONE_BY_ONE else reading.windows
    contexts = tuple(one.text for one in shown)
    return RagasRow(row.query.text, said.answer or "", contexts, reference_answer(row.reference))


def _line(way: str, column: Column) -> list[str]:
    scored, n_rows = [value for value in column.values if not math.isnan(value)], len(column.values)
    values = " ".join(f"{value:.2f}" for value in column.values)
    calls, read = column.calls / n_rows, column.tokens / n_rows
    return [way, f"{len(scored)} of {n_rows}", mean(scored), f"{calls:.1f}", f"{read:,.0f}", values]


def _agreement(ours: Column, theirs: Column) -> str:
    pairs = zip(ours.values, theirs.values, strict=True)
    gaps = [abs(a - b) for a, b in pairs if not math.isnan(a - b)]
    equal, largest = sum(gap < 1e-6 for gap in gaps), max(gaps, default=0.0)
    return f"unconstrained and evaluate: {equal} of {len(gaps)} values equal, largest difference {largest:.2g}"


if __name__ == "__main__":
    started(main)
