"""A judge of triplets that replies by a script, and what it makes of one row."""

import asyncio
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from judges import WordEmbedder, quoted_in
from runtimes import Asked, Chat
from scoring import BareEvaluation, build_scorer, score_one

from harness.core.records import Context, Prediction, Score
from harness.evaluators.run_scoring import Scorer
from harness.evaluators.triplet import SPEC, TripletParams
from harness.protocols import Embedder

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
    """judged(changed script, *metrics) -> scores by metric; what was asked stays to be looked at."""

    def __init__(self) -> None:
        self.chat, self.embedder = Chat(), WordEmbedder()

    async def __call__(
        self,
        changed: Mapping[str, Reply],
        *metrics: str,
        answer: str = ANSWER,
        reference: str = REFERENCE,
        contexts: Sequence[str | Context] = CONTEXTS,
        embedder: Embedder | None = None,
        **params: Any,
    ) -> dict[str, Score]:
        scorer = self.scorer(changed, metrics or ALL, embedder, **params)
        said = Prediction(
            answer=answer, contexts=tuple(one if isinstance(one, Context) else passage(one) for one in contexts)
        )
        answers = (reference, "Somebody else")
        found = await asyncio.to_thread(partial(score_one, scorer, said, question=QUESTION, answers=answers))
        assert all(score.value is None or math.isfinite(score.value) for score in found.values())
        return {name.removeprefix("triplet_"): score for name, score in found.items()}

    def scorer(
        self, changed: Mapping[str, Reply], metrics: Sequence[str], embedder: Embedder | None = None, **params: Any
    ) -> Scorer:
        script = {**SCRIPT, **changed}

        def reply(asked: Asked) -> str:
            text = next(text for key, text in script.items() if key in asked.messages[0].content)
            if isinstance(text, Exception):
                raise text
            return text if isinstance(text, str) else text(asked.text)

        self.chat = Chat(reply)
        chosen = TripletParams.model_validate({"metrics": tuple(metrics), **params})
        return build_scorer(SPEC, chosen, BareEvaluation(self.chat, embedder or self.embedder))

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
    return Judged()
