"""A judge of triplets that replies by a script, and what it makes of one row."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from judges import WordEmbedder, quoted_in
from runtimes import Asked, Chat
from scoring import BareEvaluation, build_scorer, record

from harness.core.records import Context, Prediction, Query, Reference, RunRecord, Score
from harness.evaluators.run_scoring import score_run
from harness.evaluators.triplet import SPEC, TripletParams
from harness.protocols import Embedder
from harness.store import SampleRow

RELEVANCY, FAITH, FAITH_COSINE = "response_relevancy", "faithfulness", "faithfulness_cosine"
CORRECT, CORRECT_COSINE = "factual_correctness", "factual_correctness_cosine"
FAITH_P, FAITH_COSINE_P = "faithfulness_published", "faithfulness_cosine_published"
CORRECT_P, CORRECT_COSINE_P = "factual_correctness_published", "factual_correctness_cosine_published"
PUBLISHED = (FAITH_P, FAITH_COSINE_P, CORRECT_P, CORRECT_COSINE_P)
ALL = (RELEVANCY, FAITH, FAITH_COSINE, CORRECT, CORRECT_COSINE)
QUESTION = "Who founded Acme?"
ANSWER = "Ann founded Acme. Acme sells anvils."
REFERENCE = "Ann founded Acme. Acme makes rockets."
CONTEXTS = ("Cats purr.", "Ann founded Acme.")
TRIPLETS = {
    ANSWER: [["Ann", "founded", "Acme"], ["Acme", "sells", "anvils"]],
    REFERENCE: [["Ann", "founded", "Acme"], ["Acme", "makes", "rockets"]],
}
EXTRACT, ASK, SUPPORT, STATED = "list the facts", "write questions", "supports a statement", "compare an answer"
SUPPORT_P, CHECK, BOTH, COUNT = "prepare the check", "check statements", "extract facts", "compare the facts"
QUESTIONS = ["Who started Acme?", "Do cats purr?", "Who founded Acme in 1990?"]

Reply = str | Exception | Callable[[str], str]


def extracted(prompt: str) -> str:
    window = quoted_in(prompt, "text")
    return json.dumps({"triplets": TRIPLETS.get(window, [])})


SCRIPT: dict[str, Reply] = {
    EXTRACT: extracted,
    ASK: json.dumps({"questions": QUESTIONS}),
    SUPPORT: '{"passages": [2, 0]}',
    STATED: '{"stated": [1, 0]}',
    SUPPORT_P: json.dumps({"triplets": TRIPLETS[ANSWER], "passages": ["Ann founded Acme."]}),
    CHECK: '{"supported": [1, 0]}',
    # Two facts of the answer are one of the reference.
    BOTH: json.dumps(
        {"answer": [*TRIPLETS[ANSWER], ["Acme", "founded", "Ann"]], "reference": TRIPLETS[REFERENCE]}
    ),
    COUNT: '{"tp": 1, "fn": 1}',
}


class Judged:
    """await judged(changed script, *metrics) -> scores by metric; what was asked stays to be looked at."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self.chat, self.embedder = Chat(), WordEmbedder()

    async def __call__(self, changed: Mapping[str, Reply], *metrics: str, **given: Any) -> dict[str, Score]:
        answer = given.pop("answer", ANSWER)
        scores = await self.all_of(changed, [answer], metrics or ALL, **given)
        return {measure: score for (_, measure), score in scores.items()}

    async def all_of(
        self,
        changed: Mapping[str, Reply],
        answers: Sequence[str],
        metrics: Sequence[str] = ALL,
        *,
        reference: str = REFERENCE,
        contexts: Sequence[str | Context] = CONTEXTS,
        embedder: Embedder | None = None,
        **params: Any,
    ) -> dict[tuple[str, str], Score]:
        script = {**SCRIPT, **changed}

        def reply(asked: Asked) -> str:
            text = next(text for key, text in script.items() if key in asked.messages[0].content)
            if isinstance(text, Exception):
                raise text
            return text if isinstance(text, str) else text(asked.text)

        self.chat = Chat(reply)
        chosen = TripletParams.model_validate({"metrics": tuple(metrics), **params})
        runtime = BareEvaluation(self.chat, embedder or self.embedder)
        seen = tuple(one if isinstance(one, Context) else passage(one) for one in contexts)
        rows, records = [], {}
        for number, answer in enumerate(answers):
            name = f"q{number}"
            gold = Reference(query_id=name, query_type="inference_query", answers=(reference, "Somebody else"))
            rows.append(SampleRow(query=Query(query_id=name, text=QUESTION), reference=gold))
            changes = {"query_id": name, "prediction": Prediction(answer=answer, contexts=seen)}
            records[name, 0] = self._record.model_copy(update=changes)
        found = await score_run(build_scorer(SPEC, chosen, runtime), rows, records)
        assert all(score.value is None or math.isfinite(score.value) for score in found)
        return {(score.query_id, score.measure.removeprefix("triplet_")): score for score in found}

    def asked(self, key: str) -> list[str]:
        """The prompts of one kind."""
        return [call.text for call in self.chat.calls if key in call.messages[0].content]

    @property
    def calls(self) -> dict[str, int]:
        """How many of each kind there were."""
        return {key: len(self.asked(key)) for key in SCRIPT if self.asked(key)}


def passage(text: str, kind: str = "passage") -> Context:
    return Context.model_validate({"text": text, "doc_ids": ("d",), "kind": kind})


@pytest.fixture
def judged() -> Judged:
    return Judged(record("q", ""))
