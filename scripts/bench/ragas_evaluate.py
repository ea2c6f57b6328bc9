"""ragas.evaluate() over a file of rows, as users call it: through LangChain's clients, in its own process.

It warms up with the first row, then prints a line of JSON: seconds, CPU seconds and calls of `evaluate()` over all
rows, and the number of values.

Examples:
  .venv/bin/python scripts/bench/ragas_evaluate.py http://127.0.0.1:8000/v1 rows.jsonl --at-once 64
"""

import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import benching  # noqa: F401 - makes `common` importable
from common import command_line
from model_server import served

from harness.evaluators.ragas import RagasParams
from harness.evaluators.ragas_rows import RagasMetric, RagasRow


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("url", help="URL of a server with OpenAI's protocol, in one process")
    parser.add_argument("rows", type=Path, help="JSON Lines: question, answer, contexts, reference")
    parser.add_argument("--at-once", type=int, default=64, help="judgements under way")
    asked = parser.parse_args()
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    import httpx2
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from openai import DEFAULT_CONNECTION_LIMITS

    def evaluated(some: list[RagasRow]) -> dict[RagasMetric, list[float]]:
        client: dict[str, Any] = {"base_url": asked.url, "api_key": "none", "max_retries": 0}
        # LangChain's own client and its connections outlive the event loop of evaluate().
        http = httpx2.AsyncClient(limits=DEFAULT_CONNECTION_LIMITS)
        chat = ChatOpenAI(model="fake", temperature=0.0, max_tokens=1024, http_async_client=http, **client)
        vectors = OpenAIEmbeddings(model="fake", check_embedding_ctx_length=False, **client)
        return through_ragas(some, RagasParams().metrics, chat, vectors, asked.at_once)

    rows = [
        RagasRow(row["question"], row["answer"], tuple(row["contexts"]), row["reference"])
        for row in map(json.loads, asked.rows.read_text(encoding="utf-8").splitlines())
    ]
    evaluated(rows[:1])
    before, began, cpu = served(asked.url), time.monotonic(), time.process_time()
    values = evaluated(rows)
    took = {"wall_s": time.monotonic() - began, "cpu_s": time.process_time() - cpu}
    scored = sum(not math.isnan(value) for column in values.values() for value in column)
    print(json.dumps({**took, "calls": served(asked.url) - before, "scored": scored}))


def through_ragas(
    rows: Sequence[RagasRow], metrics: Sequence[RagasMetric], chat: Any, embeddings: Any, at_once: int = 1
) -> dict[RagasMetric, list[float]]:
    """The values of ragas.evaluate() for each row, NaN if it failed; `at_once` judgements run concurrently.

    `chat` and `embeddings` are LangChain's; each reply is a separate call, with the temperature of `chat`.
    """
    from ragas import EvaluationDataset, RunConfig, SingleTurnSample, evaluate
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics._answer_correctness import AnswerCorrectness
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
        "answer_correctness": AnswerCorrectness,
        "response_relevancy": ResponseRelevancy,
        "context_relevance": ContextRelevance,
    }
    built = [classes[name]() for name in metrics]
    for metric in built:
        # A shared wrapper would carry one metric's settings into another's calls.
        metric.llm = LangchainLLMWrapper(chat, bypass_temperature=True, bypass_n=True)
        if hasattr(metric, "embeddings"):
            metric.embeddings = LangchainEmbeddingsWrapper(embeddings)
        if hasattr(metric, "strictness"):
            metric.strictness = 1
    given = [
        (row, {"user_input": row.question, "response": row.answer, "reference": row.reference}) for row in rows
    ]
    samples = [SingleTurnSample(**texts, retrieved_contexts=[*row.contexts]) for row, texts in given]
    patient = RunConfig(max_workers=at_once, max_retries=1, timeout=3600)
    result = evaluate(
        EvaluationDataset(samples), built, run_config=patient, show_progress=False, allow_nest_asyncio=False
    )
    # A name may have a suffix (such as the mode of factual correctness), but their order is that of the metrics.
    return {name: [[*scores.values()][at] for scores in result.scores] for at, name in enumerate(metrics)}


if __name__ == "__main__":
    main()
