"""Replies that cannot be, models that are down, texts that are hostile or endless."""

import json
import math

import pytest
from judges import WordEmbedder, quoted_in

from . import conftest as t

NOT_TWO, OUT_OF_RANGE = "no list of 2 numbers", "one of its numbers is not among"
UNREADABLE = [
    (t.FAITH, t.SUPPORT, "All of them.", "no JSON object"),
    (t.FAITH, t.SUPPORT, '{"passages": [2, ', "broken JSON"),
    (t.FAITH, t.SUPPORT, '{"passages": [2, 0, 1]}', NOT_TWO),
    (t.FAITH, t.SUPPORT, '{"passages": {"1": 2, "2": 0}}', NOT_TWO),
    (t.FAITH, t.SUPPORT, '{"passages": [3, 0]}', f"{OUT_OF_RANGE} 0, 1, 2"),
    (t.FAITH_P, t.SUPPORT_P, '{"triplets": []}', "no list of passages"),
    (t.FAITH_P, t.CHECK, '{"supported": [2, 0]}', f"{OUT_OF_RANGE} 0, 1"),
    (t.CORRECT_P, t.BOTH, '{"answer": []}', "no list of triplets"),
    (t.CORRECT_P, t.COUNT, '{"tp": 3, "fn": -1}', "cannot be counts of 2 facts"),
    (t.FAITH, t.SUPPORT, '{"passages": [1.5, 0]}', f"{OUT_OF_RANGE} 0, 1, 2"),
    (t.CORRECT, t.STATED, '{"stated": [true, false]}', f"{OUT_OF_RANGE} 0, 1"),
    (
        t.RELEVANCY,
        t.ASK,
        json.dumps({"questions": [*t.QUESTIONS, "Why?"]}),
        "no list of 3 questions",
    ),
    (t.RELEVANCY, t.ASK, '{"questions": ["Who?", 7, "Why?"]}', "one of its questions is empty"),
    (t.FAITH, t.EXTRACT, '{"triplets": [["Ann", "", "Acme"]]}', "none of its triplets has a head"),
]


@pytest.mark.parametrize(("metric", "key", "reply", "reason"), UNREADABLE)
async def test_what_cannot_be_read_is_asked_for_once_more_and_then_failed(
    judged: t.Judged, metric: str, key: str, reply: str, reason: str
) -> None:
    score = (await judged({key: reply}, metric))[metric]
    assert (score.status, score.value) == ("failed", None)
    assert score.explanation.startswith("Unreadable: ")
    assert reason in score.explanation
    assert judged.calls[key] == 2


@pytest.mark.parametrize(
    ("metric", "key"),
    [(t.FAITH, t.SUPPORT), (t.CORRECT, t.STATED), (t.RELEVANCY, t.ASK)],
)
async def test_a_second_reply_that_can_be_read_counts(judged: t.Judged, metric: str, key: str) -> None:
    replies = iter(["I think so.", t.SCRIPT[key]])
    score = (await judged({key: lambda _prompt: str(next(replies))}, metric))[metric]
    assert score.status == "scored"
    assert judged.calls[key] == 2


async def test_an_extraction_that_fails_fails_whatever_reads_it_and_is_asked_for_once(
    judged: t.Judged,
) -> None:
    def answer_unreadable(prompt: str) -> str:
        return str(t.SCRIPT[t.EXTRACT](prompt)) if t.REFERENCE in prompt else "garbage"  # type: ignore[operator]

    scores = await judged({t.EXTRACT: answer_unreadable})
    failed = [name for name, score in scores.items() if score.status == "failed"]
    assert sorted(failed) == ["factual_correctness_cosine", t.FAITH, t.FAITH_COSINE]
    # The reference, the answer, and the answer once more.
    assert judged.calls[t.EXTRACT] == 3


async def test_an_embedding_without_a_direction_fails_the_cosine_metrics(
    judged: t.Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = WordEmbedder()
    known = words.vector
    monkeypatch.setattr(words, "vector", lambda text: known(text) * (math.nan if "anvils" in text else 1.0))
    scores = await judged({}, embedder=words)
    failed = {name: score.explanation for name, score in scores.items() if score.status == "failed"}
    assert sorted(failed) == ["factual_correctness_cosine", t.FAITH_COSINE]
    assert {why.split(": ", 1)[1] for why in failed.values()} == {
        "the vector of 'Acme sells anvils' holds NaN or infinity"
    }


async def test_thousands_of_triplets_are_judged_in_calls_of_24(judged: t.Judged) -> None:
    answer = "\n\n".join(f"{number} " + "x" * 1_190 for number in range(100))

    def many(prompt: str) -> str:
        number = quoted_in(prompt, "text").split(" ", 1)[0]
        return json.dumps({"triplets": [[f"thing {number}", "is", f"part {part}"] for part in range(24)]})

    def support(prompt: str) -> str:
        listed = quoted_in(prompt, "statements").splitlines()
        return json.dumps({"passages": [int("part 0" in line) for line in listed]})

    scores = await judged({t.EXTRACT: many, t.SUPPORT: support}, t.FAITH, answer=answer)
    assert scores[t.FAITH].value == 1 / 24
    assert scores[t.FAITH].explanation.startswith("100 of 2400 supported, by passages 1 0 0")
    assert len(scores[t.FAITH].explanation) <= 240
    assert judged.calls == {t.EXTRACT: 100, t.SUPPORT: 100}


async def test_contexts_and_answers_of_any_length_are_read_whole_in_requests_that_fit(
    judged: t.Judged,
) -> None:
    contexts = ["Ann founded Acme. " * 500, *t.CONTEXTS, "Dogs bark. " * 1_500]
    answer = "Ann founded Acme. " * 400
    numbers: dict[str, t.Reply] = {
        t.EXTRACT: '{"triplets": [["Ann", "founded", "Acme"]]}',
        t.STATED: '{"stated": [1]}',
    }
    scores = await judged({**numbers, t.SUPPORT: '{"passages": [0]}'}, answer=answer, contexts=contexts)
    assert (scores[t.RELEVANCY].share_read, scores[t.FAITH].share_read) == (1.0, 1.0)
    for key, text in ((t.ASK, "Dogs bark."), (t.SUPPORT, "Dogs bark."), (t.STATED, "Ann founded")):
        asked = "".join(prompt.split("<statements>")[0] for prompt in judged.asked(key))
        assert asked.count(text) == (1_500 if text == "Dogs bark." else 400)
    assert max(len(call.text) for call in judged.chat.calls) < 14_000
