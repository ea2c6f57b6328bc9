"""The measures, ours and as published: values by hand, what the judge is asked, and what needs no judge."""

import json
import math
import re

import pytest
from scoring import answered, reference, score_all

from . import conftest as t

EXPECTED: dict[str, tuple[float, str, dict[str, int]]] = {
    # "who", "founded" and "acme" are 3 of 5 words.
    t.RELEVANCY: (3 / math.sqrt(3 * 5), "nearest of 3: Who founded Acme in 1990?", {t.ASK: 1}),
    t.FAITH: (
        1 / 2,
        "1 of 2 supported, by passages 2 0; not: Acme | sells | anvils",
        {t.EXTRACT: 1, t.SUPPORT: 1},
    ),
    # Three words of three, and one of three.
    t.FAITH_COSINE: ((1 + 1 / 3) / 2, "highest cosines 1.00 0.33", {t.EXTRACT: 1}),
    t.CORRECT: (1 / 2, "1 of 2 stated; not: Acme | makes | rockets", {t.EXTRACT: 1, t.STATED: 1}),
    t.CORRECT_COSINE: (
        1 / 2,
        "1 of 2 at a cosine of 0.9; 1.00 0.33; not: Acme | makes | rockets",
        {t.EXTRACT: 2},
    ),
}
EXPECTED |= {
    t.FAITH_P: (
        1 / 2,
        "1 passage extracted, 1 literal; 1 of 2 supported; not: Acme | sells | anvils",
        {t.SUPPORT_P: 1, t.CHECK: 1},
    ),
    t.FAITH_COSINE_P: ((1 + 1 / 3) / 2, "highest cosines 1.00 0.33", {t.SUPPORT_P: 1}),
    t.CORRECT_P: (1 / 2, "TP 1, FN 1, counted by the judge", {t.BOTH: 1, t.COUNT: 1}),
    # Counted on the answer's facts; ours, on the reference's, are 1 of 2.
    t.CORRECT_COSINE_P: (2 / 3, "TP 2, FN 1, above a cosine of 0.9", {t.BOTH: 1}),
}
"""Value, explanation and calls of each measure alone."""


@pytest.mark.parametrize("metric", [*t.ALL, *t.PUBLISHED])
async def test_each_measure_follows_its_formula(judged: t.Judged, metric: str) -> None:
    value, explanation, calls = EXPECTED[metric]
    score = (await judged({}, metric))[metric]
    assert (score.status, score.explanation) == ("scored", explanation)
    assert score.value == pytest.approx(value, abs=1e-6)
    assert judged.calls == calls


async def test_the_judge_gets_the_requests_of_llm_eval(
    judged: t.Judged,
) -> None:
    await judged({}, t.RELEVANCY, *t.PUBLISHED)
    sent = [
        dict(re.findall(r"<(\w+)>\n(.*?)\n</", call.messages[1].content, re.DOTALL)) for call in judged.chat.calls
    ]
    contexts = "[1] Cats purr.\n\n[2] Ann founded Acme."
    facts = "1. Ann | founded | Acme\n2. Acme | sells | anvils"
    gold = "1. Ann | founded | Acme\n2. Acme | makes | rockets"
    published = [
        {"text": contexts},
        {"passages": contexts, "answer": t.ANSWER},
        {"passages": "Ann founded Acme.", "statements": facts},
        {"answer": t.ANSWER, "reference": t.REFERENCE},
        {"answer": f"{facts}\n3. Acme | founded | Ann", "reference": gold},
    ]
    assert sorted(sent, key=str) == sorted(published, key=str)
    assert [sent.index(one) for one in published[1:3]] < [sent.index(one) for one in published[2:4]]
    assert {tuple(message.role for message in call.messages) for call in judged.chat.calls} == {("system", "user")}
    assert not any(t.QUESTION in call.text for call in judged.chat.calls)


async def test_published_measures_of_nothing_extracted(judged: t.Judged) -> None:
    nothing: dict[str, object] = {"triplets": [], "passages": []}
    silent = {t.SUPPORT_P: json.dumps(nothing), t.BOTH: '{"answer": [], "reference": []}'}
    scores = await judged(silent, *t.PUBLISHED, answer="Yes", reference="Ann")
    assert {score.status for score in scores.values()} == {"not_applicable"}
    # Sentences state facts: the judge failed.
    scores = await judged(silent, *t.PUBLISHED)
    assert {score.status for score in scores.values()} == {"failed"}
    no_passage = json.dumps({**nothing, "triplets": t.TRIPLETS[t.ANSWER]})
    no_answer = json.dumps({"answer": [], "reference": t.TRIPLETS[t.REFERENCE]})
    scores = await judged({t.SUPPORT_P: no_passage, t.BOTH: no_answer}, *t.PUBLISHED, answer="Yes")
    assert {score.value for score in scores.values()} == {0.0}
    assert judged.calls == {t.SUPPORT_P: 1, t.BOTH: 1}


def test_each_answer_is_extracted_before_a_second_metric_waits_for_one(judged: t.Judged) -> None:
    records = {(name, 0): answered(name, f"{name}.", "Cats purr.") for name in ("Ann", "Bob")}
    scorer = judged.scorer({}, [t.FAITH, t.FAITH_COSINE])
    score_all(scorer, [reference(name, "Ann") for name in ("Ann", "Bob")], records)
    first, second = (call.text for call in judged.chat.calls[:2])
    assert "Ann." in first
    assert "Bob." in second


async def test_verdicts_are_a_list_of_exactly_that_length_and_range(judged: t.Judged) -> None:
    await judged({}, t.FAITH, t.CORRECT)
    schemas = [call.json_schema["properties"] for call in judged.chat.calls if call.json_schema]
    bounds = [
        (one["minItems"], one["maxItems"], one["items"]["enum"])
        for properties in schemas
        for name, one in sorted(properties.items())
        if name != "triplets"
    ]
    assert sorted(bounds) == [(2, 2, [0, 1]), (2, 2, [0, 1, 2])]


LONG = ["Cats purr. " * 30, "Dogs bark. " * 32, "Ann founded Acme."]
"""Two windows of 700 characters: the first two contexts, and the third."""


async def test_every_window_of_the_contexts_is_read_and_support_by_any_counts(judged: t.Judged) -> None:
    def asked_of(prompt: str) -> str:
        return json.dumps({"questions": ["Who founded Acme?" if "[3]" in prompt else "Why?"] * 3})

    def extracted_from(prompt: str) -> str:
        return json.dumps({"triplets": t.TRIPLETS[t.ANSWER] if "[3]" in prompt else [], "passages": ["Ann."]})

    by_window = {
        t.SUPPORT: lambda prompt: json.dumps({"passages": [3 * ("[3] Ann founded Acme." in prompt), 0]}),
        t.ASK: asked_of,
        t.SUPPORT_P: extracted_from,
    }
    metrics = t.FAITH, t.RELEVANCY, t.FAITH_P
    scores = await judged(by_window, *metrics, contexts=LONG, context_characters=700)
    assert {score.share_read for score in scores.values()} == {1.0}
    assert (scores[t.FAITH].value, scores[t.FAITH_P].value) == (0.5, 0.5)
    assert "by passages 3 0" in scores[t.FAITH].explanation
    first, second = judged.asked(t.SUPPORT)
    assert ("[2] Dogs bark." in first, "[3]" in first, "[2]" in second) == (True, False, False)
    # The mean over windows: length gives no more tries.
    early, late = (sum(len(text.replace(" ", "")) for text in part) for part in (LONG[:2], LONG[2:]))
    assert scores[t.RELEVANCY].value == pytest.approx(late / (early + late), abs=1e-6)
    assert scores[t.RELEVANCY].explanation == "windows 0.00 1.00; nearest of 6: Who founded Acme?"


async def test_a_long_answer_is_compared_with_the_reference_part_by_part(judged: t.Judged) -> None:
    def by_part(prompt: str) -> str:
        material, _, _ = prompt.partition("<statements>")
        return '{"stated": [1, 0]}' if "Ann founded Acme" in material else '{"stated": [0, 0]}'

    answer = "Cats purr a lot. " * 400 + "Ann founded Acme."
    scores = await judged({t.STATED: by_part}, t.CORRECT, answer=answer)
    assert scores[t.CORRECT].value == 0.5
    assert judged.calls[t.STATED] == 2


async def test_for_the_cosine_each_triplet_of_a_graph_is_a_context_and_long_ones_are_windows(
    judged: t.Judged,
) -> None:
    long = "Cats purr. " * 100 + "Ann founded Acme."
    scores = await judged({}, t.FAITH_COSINE, contexts=[long, t.passage("Acme sells anvils", "triplet")])
    value = scores[t.FAITH_COSINE].value
    assert value is not None
    assert all(len(text) <= 1_000 for text in judged.embedder.embedded)
    assert "Acme sells anvils" in judged.embedder.embedded
    # The window that holds "Ann founded Acme." holds two other words.
    assert value == pytest.approx((3 / math.sqrt(3 * 5) + 1) / 2, abs=1e-6)


@pytest.mark.parametrize(("threshold", "found", "published"), [(1.0, 1, 0.0), (1 / 3, 2, 2 / 3), (-1.0, 2, 1.0)])
async def test_a_cosine_of_the_threshold_counts_but_not_as_published(
    judged: t.Judged, threshold: float, found: int, published: float
) -> None:
    scores = await judged({}, t.CORRECT_COSINE, t.CORRECT_COSINE_P, threshold=threshold)
    assert scores[t.CORRECT_COSINE].value == found / 2
    assert scores[t.CORRECT_COSINE_P].value == pytest.approx(published)


async def test_an_answer_equal_to_its_reference_needs_no_verdict(judged: t.Judged) -> None:
    scores = await judged({}, t.CORRECT, t.CORRECT_COSINE, answer=t.REFERENCE.lower().replace(".", " !"))
    assert {score.value for score in scores.values()} == {1.0}
    assert judged.calls == {t.EXTRACT: 1}


@pytest.mark.parametrize("answer", ["Acme", "Bob", ""])
async def test_a_reference_without_triplets_gives_no_answer_a_score(judged: t.Judged, answer: str) -> None:
    scores = await judged({}, t.CORRECT, t.CORRECT_COSINE, answer=answer, reference="Acme")
    assert {(score.status, score.explanation) for score in scores.values()} == {
        ("not_applicable", "no triplet was extracted from the reference")
    }


async def test_an_answer_without_triplets_has_no_faithfulness(judged: t.Judged) -> None:
    scores = await judged({}, answer="Yes")
    none = "no triplet was extracted from the answer"
    assert {scores[name].explanation for name in (t.FAITH, t.FAITH_COSINE)} == {none}
    assert {scores[name].status for name in (t.FAITH, t.FAITH_COSINE)} == {"not_applicable"}
    assert (scores[t.CORRECT_COSINE].value, scores[t.CORRECT_COSINE].explanation) == (0.0, none)
    assert scores[t.CORRECT].status == "scored"


async def test_an_empty_answer_scores_0_in_metrics_of_answers(judged: t.Judged) -> None:
    scores = await judged({}, answer=" \n")
    assert scores.pop(t.RELEVANCY).explanation.startswith("nearest")
    assert {(score.value, score.explanation) for score in scores.values()} == {(0.0, "the answer is empty")}
    assert judged.calls == {t.EXTRACT: 1, t.ASK: 1}


async def test_no_context_supports_nothing_and_answers_no_question(judged: t.Judged) -> None:
    scores = await judged({}, t.RELEVANCY, t.FAITH, t.FAITH_COSINE, contexts=(" ", "\n"))
    assert {(score.value, score.explanation) for score in scores.values()} == {(0.0, "no contexts were retrieved")}
    assert not judged.chat.calls
