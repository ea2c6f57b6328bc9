"""The seven metrics: ragas' prompts, parsing and formulas, one judgement at a time.

Imports ragas: see `harness.evaluators.ragas_metrics.llm`.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.exceptions import OutputParserException
from pydantic import BaseModel
from ragas.dataset_schema import SingleTurnSample
from ragas.exceptions import RagasOutputParserException
from ragas.metrics._answer_relevance import ResponseRelevanceInput, ResponseRelevancy
from ragas.metrics._context_precision import LLMContextPrecisionWithoutReference, LLMContextPrecisionWithReference
from ragas.metrics._context_recall import LLMContextRecall
from ragas.metrics._factual_correctness import FactualCorrectness
from ragas.metrics._faithfulness import Faithfulness
from ragas.metrics._nv_metrics import ContextRelevance

from harness.evaluators.judged import Judgement
from harness.evaluators.ragas_metrics.asking import Asking, RagasMetric, RagasRow
from harness.evaluators.ragas_metrics.llm import JudgeLLM, UnusableReply
from harness.evaluators.scores import bounded

# What it would log about a failure is the reason of that score.
logging.getLogger("ragas").setLevel(logging.CRITICAL)

_QUOTED = 80
"""Characters of a reply in an explanation."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_RATING_SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": [0, 1, 2]}},
    "required": ["score"],
    "additionalProperties": False,
}
_FROM_THE_LIBRARY: dict[RagasMetric, Callable[[], Any]] = {
    "context_precision_no_reference": LLMContextPrecisionWithoutReference,
    "context_precision": LLMContextPrecisionWithReference,
    "context_recall": LLMContextRecall,
    "faithfulness": Faithfulness,
    "factual_correctness": FactualCorrectness,
}


class Ragas:
    """The metrics, by name."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def score(self, name: RagasMetric, row: RagasRow) -> Judgement:
        """The value and what the judge said. Raises UnusableReply, and whatever the model's client raises."""
        # A metric and its model are made anew each time: ragas keeps settings of a call in both.
        llm = JudgeLLM(self._asking.judge, constrained=self._asking.constrained)
        plans: dict[RagasMetric, Callable[[RagasRow, JudgeLLM], Awaitable[Judgement]]] = {
            "response_relevancy": self._response_relevancy,
            "context_relevance": _context_relevance,
        }
        try:
            if plan := plans.get(name):
                return await plan(row, llm)
            return await _by_the_library(_FROM_THE_LIBRARY[name](), row, llm)
        except (RagasOutputParserException, OutputParserException) as error:
            raise UnusableReply(f"the judge's reply cannot be read: {_quoted(llm.last_reply)}") from error
        finally:
            await llm.end()

    async def _response_relevancy(self, row: RagasRow, llm: JudgeLLM) -> Judgement:
        # ragas embeds synchronously in the midst of its own plan, so its steps are taken one by one.
        metric = ResponseRelevancy(strictness=self._asking.strictness)
        answers = await metric.question_generation.generate_multiple(
            data=ResponseRelevanceInput(response=row.answer),
            llm=llm,
            n=metric.strictness,
            callbacks=CallbackManager([]),
        )
        questions = [answer.question for answer in answers]
        if not all(map(str.strip, questions)):
            raise UnusableReply("the judge wrote no question")
        evasive = [verdict for answer in answers for verdict in verdicts_in(answer)]
        embedder = self._asking.embedder
        assert embedder is not None  # noqa: S101 - there is one where this metric is chosen
        metric.embeddings = _Embedded(
            await embedder.embed_query(row.question), await embedder.embed_documents(questions)
        )
        value = float(metric._calculate_score(answers, {"user_input": row.question}))
        noted = "evasive answer; " if all(evasive) else ""
        # Rounding can take the cosine of a vector with itself past 1.
        return min(1.0, max(-1.0, value)), f"{noted}asked back: {' | '.join(questions)}"


async def _by_the_library(metric: Any, row: RagasRow, llm: JudgeLLM) -> Judgement:
    heard = _Heard()
    metric.llm = llm
    sample = SingleTurnSample(
        user_input=row.question,
        response=row.answer,
        retrieved_contexts=list(row.contexts),
        reference=row.reference,
    )
    # A manager of our own also keeps out the tracers that LangChain would add by environment variables.
    callbacks = CallbackManager([heard], inheritable_handlers=[heard])
    value = await metric.single_turn_ascore(sample, callbacks)
    verdicts = [found for output in heard.outputs if (found := verdicts_in(output))]
    return float(value), "verdicts " + "; ".join(" ".join(map(str, found)) for found in verdicts)


async def _context_relevance(row: RagasRow, llm: JudgeLLM) -> Judgement:
    # ragas' own plan prints what went wrong and goes on.
    contexts, metric = "\n".join(row.contexts), ContextRelevance()
    if not row.question.strip() or contexts.strip() in row.question.strip():
        return 0.0, "the contexts say nothing beyond the question"
    ratings = []
    for template in (metric.template_relevance1, metric.template_relevance2):
        reply = await llm.ask(template.format(query=row.question, context=contexts), _RATING_SCHEMA)
        rating, first = metric.process_score(reply), _NUMBER.search(reply)
        if first is None or float(first[0]) != rating * 2:
            raise UnusableReply(f"the judge's rating is neither 0, 1 nor 2: {_quoted(reply)}")
        ratings.append(rating)
    return float(metric.average_scores(*ratings)), "ratings " + " ".join(f"{rating * 2:g}" for rating in ratings)


def verdicts_in(output: BaseModel) -> list[int]:
    """The verdicts of a reply that ragas has read, in order.

    Raises UnusableReply where one is neither 0 nor 1, or where nothing was listed.
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


def _quoted(reply: str) -> str:
    return repr(bounded(reply, _QUOTED))


# LangChain's types are not followed either.
@dataclass
class _Heard(BaseCallbackHandler):  # type: ignore[misc]
    """What ragas read from the judge's replies, through the hook of its own tracer."""

    outputs: list[BaseModel] = field(default_factory=list)

    def on_chain_end(self, outputs: Any, **_: Any) -> None:
        found = outputs.get("output")
        self.outputs += found if isinstance(found, list) else []


@dataclass(frozen=True)
class _Embedded:
    """Vectors that are there already, as ragas asks for them."""

    question: Any
    asked_back: Any

    def embed_query(self, _text: str) -> Any:
        return np.asarray(self.question, dtype=np.float64)

    def embed_documents(self, _texts: Sequence[str]) -> Any:
        return np.asarray(self.asked_back, dtype=np.float64)
