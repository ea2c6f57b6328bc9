"""The metrics of RAGAS with a judge that replies by a script: values by hand, failures with reasons."""

import asyncio
import json
import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest
from judges import Reply, ScriptedJudge, WordEmbedder, input_of
from scoring import BareEvaluation, passages, score_one

from harness.core.records import Prediction, Score
from harness.evaluators.ragas import SPEC, RagasParams
from harness.evaluators.ragas_rows import RagasMetric, RagasRow

pytestmark = pytest.mark.slow

QUESTION = "Who founded Acme?"
ANSWER = "Ann founded Acme in 1990."
CONTEXTS = ("Ann founded Acme.", "Cats purr.", "Acme began in 1990.")
SHOWN = tuple(f"[{rank}] {text}" for rank, text in enumerate(CONTEXTS, start=1))
REFERENCE = "Ann founded Acme."

PRECISION, RECALL = "verify if the context was useful", "classify if the sentence can be attributed"
STATEMENTS, ENTAILED = "analyze the complexity of each sentence", "judge the faithfulness of a series"
CLAIMS, ASK_BACK = "Decompose and break down", "Generate a question for the given answer"
RATE, RATE_AGAIN = "You are a world class expert", "As a specially designed expert"
CLASSIFY = "Given a ground truth and an answer"
SAID = {"statement": "s", "reason": "r"}
COSINE = 3 / 15**0.5  # three words of three and of five
REPAIR = "The output string did not satisfy"


def verdicts(key: str, name: str, given: Sequence[int]) -> str:
    return json.dumps({key: [{"statement": "s", "reason": "r", name: one} for one in given]})


def useful(prompt: str) -> str:
    return json.dumps({"reason": "r", "verdict": int("Acme" in input_of(prompt)["context"])})


def claims(prompt: str) -> str:
    # The reference makes one claim, the answer two.
    return json.dumps({"claims": [REFERENCE, "It was 1990."][: 1 + ("1990" in input_of(prompt)["response"])]})


def entailed(prompt: str) -> str:
    """All that is said of the reference's claim, the first of the answer's two; three of four statements."""
    found = {1: [1], 2: [1, 0], 4: [1, 1, 0, 1]}
    return verdicts("statements", "verdict", found[len(input_of(prompt)["statements"])])


SCRIPT: dict[str, Reply] = {
    PRECISION: useful,
    RECALL: verdicts("classifications", "attributed", [1, 0]),
    STATEMENTS: json.dumps({"statements": ["a", "b", "c", "d"]}),
    ENTAILED: entailed,
    CLAIMS: claims,
    CLASSIFY: json.dumps({"TP": [SAID, SAID, SAID], "FP": [SAID], "FN": [SAID, SAID]}),
    ASK_BACK: json.dumps({"question": "Who started Acme?", "noncommittal": 0}),
    RATE: "2",
    RATE_AGAIN: "The score is 1.",
}
EXPECTED: dict[RagasMetric, tuple[float, int]] = {
    "context_precision_no_reference": ((1 / 1 + 2 / 3) / 2, 3),
    "context_precision": ((1 / 1 + 2 / 3) / 2, 3),
    "context_recall": (1 / 2, 1),
    "faithfulness": (3 / 4, 2),
    "factual_correctness": (0.67, 4),  # precision 1/2, recall 1/1
    "answer_correctness": (0.75 * 2 / 3 + 0.25 * COSINE, 3),  # 3 of 4 statements of the answer, 2 of 4 missed
    "coverage": (1 / 1, 2),  # the one claim of the reference
    "response_relevancy": (2 / 3, 1),  # two words of three
    "context_relevance": ((2 + 1) / 4, 2),
}
"""Value and calls."""


class Judged:
    """judged(script, metric, ...) -> scores by metric, and what was asked."""

    def __init__(self) -> None:
        self.judge, self.embedder = ScriptedJudge({}), WordEmbedder()

    def __call__(
        self, changed: dict[str, Reply], *metrics: RagasMetric, contexts: Sequence[str] = CONTEXTS, **params: Any
    ) -> dict[str, Score]:
        self.judge = ScriptedJudge({**changed, **{key: one for key, one in SCRIPT.items() if key not in changed}})
        chosen = RagasParams(metrics=metrics or get_args(RagasMetric), **params)
        said = Prediction(answer=ANSWER, contexts=passages(*contexts))
        runtime = BareEvaluation(self.judge, self.embedder)
        answers = (REFERENCE, "Somebody else")
        found = score_one(SPEC, said, question=QUESTION, answers=answers, params=chosen, runtime=runtime)
        assert all(score.value is None or math.isfinite(score.value) for score in found.values())
        return {name.removeprefix("ragas_"): score for name, score in found.items()}


@pytest.fixture
def judged() -> Judged:
    return Judged()


@pytest.mark.parametrize("metric", get_args(RagasMetric))
def test_each_metric_follows_its_formula(judged: Judged, metric: RagasMetric) -> None:
    value, calls = EXPECTED[metric]
    score = judged({}, metric)[metric]
    assert score.status == "scored"
    assert score.value == pytest.approx(value, abs=1e-6)
    assert len(judged.judge.asked) == calls


def test_the_first_reference_answer_is_the_reference_and_contexts_keep_their_order(judged: Judged) -> None:
    judged({}, "context_precision", "context_recall")
    given = [input_of(prompt) for prompt, _ in judged.judge.asked]
    assert {one["answer"] for one in given} == {REFERENCE}
    assert sorted(one["context"] for one in given) == sorted([*SHOWN, "\n\n".join(SHOWN)])


def test_a_constrained_judge_gets_a_schema_that_strict_servers_accept(judged: Judged) -> None:
    judged({})
    schemas = [schema for _, schema in judged.judge.asked if schema is not None]
    assert len(schemas) == len(judged.judge.asked)
    for schema in schemas:
        for shape in (schema, *schema.get("$defs", {}).values()):
            assert shape["additionalProperties"] is False
            assert list(shape["properties"]) == shape["required"]
            numbers = [one for one in shape["properties"].values() if one["type"] == "integer"]
            assert all(one["enum"] == ([0, 1, 2] if "score" in shape["properties"] else [0, 1]) for one in numbers)


def test_a_rating_in_the_form_of_the_schema_is_read(judged: Judged) -> None:
    replies: dict[str, Reply] = {RATE: '{"score": 0}', RATE_AGAIN: '{"score": 2}'}
    assert judged(replies, "context_relevance")["context_relevance"].value == 0.5


def test_questions_asked_back_are_calls_of_their_own_and_their_cosines_are_averaged(judged: Judged) -> None:
    questions = iter(["Who started Acme?", "Who founded Acme?", "Is it?"])

    def ask_back(_prompt: str) -> str:
        return json.dumps({"question": next(questions), "noncommittal": 0})

    score = judged({ASK_BACK: ask_back}, "response_relevancy", strictness=3)["response_relevancy"]
    assert score.value == pytest.approx((2 / 3 + 1 + 0) / 3, abs=1e-6)
    assert len(judged.judge.asked) == 3
    assert len(judged.embedder.embedded) == 4


def test_contexts_that_say_nothing_beyond_the_question_are_irrelevant_without_a_call(judged: Judged) -> None:
    assert judged({}, "context_relevance", contexts=["Who founded"])["context_relevance"].value == 0.0
    assert not judged.judge.asked


UNREADABLE = "UnusableReply: the judge's reply cannot be parsed: "
UNUSABLE: list[tuple[RagasMetric, dict[str, Reply], str]] = [
    ("context_precision", {PRECISION: "Yes, useful.", REPAIR: "Sorry!"}, f"{UNREADABLE}'Sorry!'"),
    ("faithfulness", {ENTAILED: '{"verdict": 1}', REPAIR: "<b>"}, f"{UNREADABLE}'<b>'"),
    ("response_relevancy", {ASK_BACK: '{"question": 7}', REPAIR: "[]"}, f"{UNREADABLE}'[]'"),
    ("context_precision", {PRECISION: '{"reason": "r", "verdict": 7}'}, "verdict is 7, neither 0 nor 1"),
    ("context_recall", {RECALL: verdicts("classifications", "attributed", [1, -1])}, "attributed is -1, neither"),
    (
        "factual_correctness",
        {ENTAILED: lambda prompt: verdicts("statements", "verdict", [2] * len(input_of(prompt)["statements"]))},
        "verdict is 2, neither 0 nor 1",
    ),
    ("response_relevancy", {ASK_BACK: '{"question": "Who?", "noncommittal": 5}'}, "noncommittal is 5, neither"),
    ("context_recall", {RECALL: '{"classifications": []}'}, "the judge listed no classifications"),
    ("faithfulness", {STATEMENTS: '{"statements": []}'}, "the judge listed no statements"),
    ("faithfulness", {ENTAILED: '{"statements": []}'}, "the judge listed no statements"),
    (
        "factual_correctness",
        {CLAIMS: '{"claims": []}', ENTAILED: '{"statements": []}'},
        "the judge listed no claims",
    ),
    ("faithfulness", {ENTAILED: verdicts("statements", "verdict", [1])}, "1 verdicts on 4 statements"),
    ("coverage", {ENTAILED: verdicts("statements", "verdict", [0] * 9)}, "9 verdicts on 1 statements"),
    ("coverage", {CLAIMS: '{"claims": [" "]}'}, "a blank statement"),
    ("answer_correctness", {CLASSIFY: json.dumps({"TP": [SAID] * 9, "FP": [], "FN": []})}, "TP 9, FP 0, FN 0"),
    (
        "answer_correctness",
        {STATEMENTS: lambda prompt: '{"statements": []}' if "1990" in prompt else '{"statements": ["a"]}'},
        "no statements of a text",
    ),
    ("response_relevancy", {ASK_BACK: '{"question": " ", "noncommittal": 0}'}, "the judge wrote no question"),
    ("context_relevance", {RATE_AGAIN: "It is relevant."}, "rating is neither 0, 1 nor 2: 'It is relevant.'"),
    ("context_relevance", {RATE: "0 out of 2"}, "rating is neither 0, 1 nor 2: '0 out of 2'"),
    ("faithfulness", {STATEMENTS: '{"statements": ["a", "b'}, "is truncated"),
    ("faithfulness", {ENTAILED: verdicts("statements", "verdict", [1, 1])[:-2]}, "is truncated"),
]


@pytest.mark.parametrize(("metric", "changed", "reason"), UNUSABLE)
def test_a_reply_that_cannot_be_scored_fails_that_score_alone(
    judged: Judged, metric: RagasMetric, changed: dict[str, Reply], reason: str
) -> None:
    scores = judged(changed, metric, "context_recall" if RECALL not in changed else "context_relevance")
    score = scores.pop(metric)
    assert (score.status, score.value) == ("failed", None)
    assert reason in score.explanation
    assert {other.status for other in scores.values()} <= {"scored"}


@pytest.mark.parametrize("metric", ["response_relevancy", "answer_correctness"])
def test_an_embedding_that_is_not_a_number_fails_the_score(judged: Judged, metric: RagasMetric) -> None:
    judged.embedder.vector = lambda _text: np.full(4, np.nan, dtype=np.float32)  # type: ignore[method-assign,assignment]
    assert judged({}, metric)[metric].status == "failed"


def test_a_reply_that_cannot_be_read_is_repaired_as_ragas_does(judged: Judged) -> None:
    right = json.dumps({"text": SCRIPT[RECALL]})
    assert judged({RECALL: "Yes (1), no (0).", REPAIR: right}, "context_recall")["context_recall"].value == 0.5
    judged({RECALL: "Yes (1), no (0).", REPAIR: "I cannot."}, "context_recall")
    assert len(judged.judge.asked) == 1 + 3


async def test_a_failed_judgement_leaves_no_call_behind() -> None:
    class Slow(ScriptedJudge):
        open_calls = 0

        async def complete(self, *args: Any, **kwargs: Any) -> str:
            self.open_calls += 1
            await asyncio.sleep(0.01)
            self.open_calls -= 1
            return await super().complete(*args, **kwargs)

    def refused(prompt: str) -> str:
        if "1990" in input_of(prompt)["response"]:
            raise RuntimeError("HTTP 400")
        return claims(prompt)

    from harness.evaluators.ragas_adapter import Ragas

    judge = Slow({**SCRIPT, CLAIMS: refused})
    ragas = Ragas(judge, None, strictness=1, constrained=True)
    with pytest.raises(RuntimeError, match="HTTP 400"):
        await ragas.score("factual_correctness", RagasRow(QUESTION, ANSWER, CONTEXTS, REFERENCE))
    # The claims of both texts were asked for side by side; verdicts on the reference's claims no more.
    assert (len(judge.asked), judge.open_calls) == (2, 0)
    await asyncio.sleep(0.05)
    assert (len(judge.asked), judge.open_calls) == (2, 0)


LONG = ("Cats purr. " * 32, "Ann founded Acme. " * 18, "Acme began in 1990.")
"""Two windows of 700 characters: the first two contexts, and the third."""


def in_second(first: str, second: str) -> Reply:
    """What the judge says of a window without the third context, and of the one with it."""
    return lambda prompt: second if "[3] Acme began" in input_of(prompt)["context"] else first


def test_any_window_may_support_a_statement_and_the_best_gives_the_relevance(judged: Judged) -> None:
    replies: dict[str, Reply] = {
        ENTAILED: in_second(
            verdicts("statements", "verdict", [1, 0, 0, 0]), verdicts("statements", "verdict", [0, 0, 0, 1])
        ),
        RECALL: in_second(
            verdicts("classifications", "attributed", [0, 0]), verdicts("classifications", "attributed", [0, 1])
        ),
        RATE: lambda prompt: "2" if "[3] Acme began" in prompt else "0",
        RATE_AGAIN: lambda prompt: "1" if "[3] Acme began" in prompt else "0",
    }
    metrics: tuple[RagasMetric, ...] = ("faithfulness", "context_recall", "context_relevance")
    scores = judged(replies, *metrics, contexts=LONG, context_characters=700)
    assert {metric: (score.value, score.explanation) for metric, score in scores.items()} == {
        "faithfulness": (2 / 4, "verdicts 1 0 0 0 | 0 0 0 1"),
        "context_recall": (1 / 2, "verdicts 0 0 | 0 1"),
        "context_relevance": (0.75, "ratings 0 0 | 2 1"),
    }
    assert {score.share_read for score in scores.values()} == {1.0}
    assert len(judged.judge.asked) == 1 + 2 + 2 + 4
    # Windows for which the judge splits the reference otherwise give the best of them.
    first, second = (verdicts("classifications", "attributed", given) for given in ([1, 0, 0], [1, 0]))
    changed = {RECALL: in_second(first, second)}
    score = judged(changed, "context_recall", contexts=LONG, context_characters=700)["context_recall"]
    assert (score.value, score.explanation) == (1 / 2, "verdicts 1 0 0 | 1 0")


def test_a_context_judged_in_parts_is_one_context_and_useful_if_any_part_is(judged: Judged) -> None:
    contexts = ["Cats purr. " * 40 + "Ann founded Acme.", "Dogs bark."]
    score = judged({}, "context_precision", contexts=contexts, context_characters=300)["context_precision"]
    assert score.value == pytest.approx(1.0)
    assert (score.explanation, score.share_read) == ("verdicts 1; 0", 1.0)
    assert len(judged.judge.asked) == 3
