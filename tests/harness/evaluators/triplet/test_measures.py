"""The measures, ours and as published: values by hand, what the judge is asked, and what needs no judge."""

import json
import math
import re

import pytest
from scoring import build_scorer, reference

from harness.evaluators.triplet import SPEC
from harness.protocols import RunFacts

from .conftest import (
    ALL,
    ANSWER,
    ASK,
    BOTH,
    CHECK,
    CORRECT,
    CORRECT_COSINE,
    CORRECT_COSINE_P,
    CORRECT_P,
    COUNT,
    EXTRACT,
    FAITH,
    FAITH_COSINE,
    FAITH_COSINE_P,
    FAITH_P,
    PUBLISHED,
    QUESTION,
    REFERENCE,
    RELEVANCY,
    STATED,
    SUPPORT,
    SUPPORT_P,
    TRIPLETS,
    Judged,
    passage,
)

EXPECTED: dict[str, tuple[float, str, dict[str, int]]] = {
    # "who", "founded" and "acme" are 3 of 5 words.
    RELEVANCY: (3 / math.sqrt(3 * 5), "nearest of 3: Who founded Acme in 1990?", {ASK: 1}),
    FAITH: (1 / 2, "1 of 2 supported, by passages 2 0; not: Acme | sells | anvils", {EXTRACT: 1, SUPPORT: 1}),
    # Three words of three, and one of three.
    FAITH_COSINE: ((1 + 1 / 3) / 2, "highest cosines 1.00 0.33", {EXTRACT: 1}),
    CORRECT: (1 / 2, "1 of 2 stated; not: Acme | makes | rockets", {EXTRACT: 1, STATED: 1}),
    CORRECT_COSINE: (
        1 / 2,
        "1 of 2 at a cosine of 0.9; 1.00 0.33; not: Acme | makes | rockets",
        {EXTRACT: 2},
    ),
}
EXPECTED |= {
    FAITH_P: (
        1 / 2,
        "1 passage extracted, 1 literal; 1 of 2 supported; not: Acme | sells | anvils",
        {SUPPORT_P: 1, CHECK: 1},
    ),
    FAITH_COSINE_P: ((1 + 1 / 3) / 2, "highest cosines 1.00 0.33", {SUPPORT_P: 1}),
    CORRECT_P: (1 / 2, "TP 1, FN 1, counted by the judge", {BOTH: 1, COUNT: 1}),
    # Counted on the answer's facts; ours, on the reference's, are 1 of 2.
    CORRECT_COSINE_P: (2 / 3, "TP 2, FN 1, above a cosine of 0.9", {BOTH: 1}),
}
"""Value, explanation and calls of each measure alone."""


@pytest.mark.parametrize("metric", [*ALL, *PUBLISHED])
async def test_each_measure_is_what_its_formula_says_of_the_replies(judged: Judged, metric: str) -> None:
    value, explanation, calls = EXPECTED[metric]
    score = (await judged({}, metric))[metric]
    assert (score.status, score.explanation) == ("scored", explanation)
    assert score.value == pytest.approx(value, abs=1e-6)
    assert judged.calls == calls


async def test_the_judge_sees_what_llm_eval_sends_two_calls_a_measure_and_three_questions(judged: Judged) -> None:
    await judged({}, RELEVANCY, *PUBLISHED)
    sent = [
        dict(re.findall(r"<(\w+)>\n(.*?)\n</", call.messages[1].content, re.DOTALL)) for call in judged.chat.calls
    ]
    contexts = "[1] Cats purr.\n\n[2] Ann founded Acme."
    facts = "1. Ann | founded | Acme\n2. Acme | sells | anvils"
    gold = "1. Ann | founded | Acme\n2. Acme | makes | rockets"
    published = [
        {"text": contexts},
        {"passages": contexts, "answer": ANSWER},
        {"passages": "Ann founded Acme.", "statements": facts},
        {"answer": ANSWER, "reference": REFERENCE},
        {"answer": f"{facts}\n3. Acme | founded | Ann", "reference": gold},
    ]
    assert sorted(sent, key=str) == sorted(published, key=str)
    assert [sent.index(one) for one in published[1:3]] < [sent.index(one) for one in published[2:4]]
    assert {tuple(message.role for message in call.messages) for call in judged.chat.calls} == {("system", "user")}
    assert not any(QUESTION in call.text for call in judged.chat.calls)


async def test_published_measures_of_nothing_extracted(judged: Judged) -> None:
    nothing: dict[str, object] = {"triplets": [], "passages": []}
    silent = {SUPPORT_P: json.dumps(nothing), BOTH: '{"answer": [], "reference": []}'}
    scores = await judged(silent, *PUBLISHED, answer="Yes", reference="Ann")
    assert {score.status for score in scores.values()} == {"not_applicable"}
    # Sentences state facts: the judge failed.
    scores = await judged(silent, *PUBLISHED)
    assert {score.status for score in scores.values()} == {"failed"}
    no_passage = json.dumps({**nothing, "triplets": TRIPLETS[ANSWER]})
    no_answer = json.dumps({"answer": [], "reference": TRIPLETS[REFERENCE]})
    scores = await judged({SUPPORT_P: no_passage, BOTH: no_answer}, *PUBLISHED, answer="Yes")
    assert {score.value for score in scores.values()} == {0.0}
    assert judged.calls == {SUPPORT_P: 1, BOTH: 1}


async def test_a_published_faithfulness_counts_the_facts_of_all_windows(judged: Judged) -> None:
    def windowed(prompt: str) -> str:
        return json.dumps({"triplets": TRIPLETS[ANSWER] if "Dogs" in prompt else [], "passages": ["Ann."]})

    contexts = ["Cats purr. " * 90, "Dogs bark. " * 90]
    scores = await judged({SUPPORT_P: windowed}, FAITH_P, contexts=contexts, context_characters=1_000)
    assert (scores[FAITH_P].value, judged.calls[SUPPORT_P]) == (1 / 2, 2)


async def test_each_answer_is_extracted_before_a_second_metric_waits_for_one(judged: Judged) -> None:
    await judged.all_of({}, ["Ann.", "Bob."], [FAITH, FAITH_COSINE])
    first, second = (call.text for call in judged.chat.calls[:2])
    assert "Ann." in first
    assert "Bob." in second


async def test_verdicts_are_a_list_of_exactly_that_length_and_range(judged: Judged) -> None:
    await judged({}, FAITH, CORRECT)
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


async def test_a_triplet_is_supported_if_any_window_of_the_numbered_contexts_supports_it(judged: Judged) -> None:
    def by_window(prompt: str) -> str:
        return '{"passages": [3, 0]}' if "[3] Ann founded Acme." in prompt else '{"passages": [0, 0]}'

    scores = await judged({SUPPORT: by_window}, FAITH, contexts=LONG, context_characters=700)
    assert (scores[FAITH].value, scores[FAITH].share_read) == (0.5, 1.0)
    assert "by passages 3 0" in scores[FAITH].explanation
    first, second = judged.asked(SUPPORT)
    assert "[2] Dogs bark." in first
    assert "[3]" not in first
    assert "[2]" not in second


async def test_relevancy_of_several_windows_is_their_mean_so_that_length_gives_no_more_tries(
    judged: Judged,
) -> None:
    def by_window(prompt: str) -> str:
        asked = ["Who founded Acme?"] * 3 if "[3]" in prompt else ["Why?"] * 3
        return json.dumps({"questions": asked})

    scores = await judged({ASK: by_window}, RELEVANCY, contexts=LONG, context_characters=700)
    first, second = (sum(len(text.replace(" ", "")) for text in part) for part in (LONG[:2], LONG[2:]))
    assert scores[RELEVANCY].value == pytest.approx(second / (first + second), abs=1e-6)
    assert scores[RELEVANCY].explanation == "windows 0.00 1.00; nearest of 6: Who founded Acme?"
    assert scores[RELEVANCY].share_read == 1.0


async def test_a_long_answer_is_held_against_the_reference_part_by_part(judged: Judged) -> None:
    def by_part(prompt: str) -> str:
        material, _, _ = prompt.partition("<statements>")
        return '{"stated": [1, 0]}' if "Ann founded Acme" in material else '{"stated": [0, 0]}'

    answer = "Cats purr a lot. " * 400 + "Ann founded Acme."
    scores = await judged({STATED: by_part}, CORRECT, answer=answer)
    assert scores[CORRECT].value == 0.5
    assert judged.calls[STATED] == 2


async def test_for_the_cosine_each_triplet_of_a_graph_is_a_context_and_long_ones_are_windows(
    judged: Judged,
) -> None:
    long = "Cats purr. " * 100 + "Ann founded Acme."
    scores = await judged({}, FAITH_COSINE, contexts=[long, passage("Acme sells anvils", "triplet")])
    value = scores[FAITH_COSINE].value
    assert value is not None
    assert all(len(text) <= 1_000 for text in judged.embedder.embedded)
    assert "Acme sells anvils" in judged.embedder.embedded
    # The window that holds "Ann founded Acme." holds two other words.
    assert value == pytest.approx((3 / math.sqrt(3 * 5) + 1) / 2, abs=1e-6)


@pytest.mark.parametrize(("threshold", "found", "published"), [(1.0, 1, 0.0), (1 / 3, 2, 2 / 3), (-1.0, 2, 1.0)])
async def test_a_cosine_of_the_threshold_counts_but_not_as_published(
    judged: Judged, threshold: float, found: int, published: float
) -> None:
    scores = await judged({}, CORRECT_COSINE, CORRECT_COSINE_P, threshold=threshold)
    assert scores[CORRECT_COSINE].value == found / 2
    assert scores[CORRECT_COSINE_P].value == pytest.approx(published)


async def test_an_answer_equal_to_its_reference_needs_no_verdict(judged: Judged) -> None:
    scores = await judged({}, CORRECT, CORRECT_COSINE, answer=REFERENCE.lower().replace(".", " !"))
    assert {score.value for score in scores.values()} == {1.0}
    assert judged.calls == {EXTRACT: 1}


async def test_a_reference_without_triplets_gives_no_answer_a_score(judged: Judged) -> None:
    scores = await judged.all_of({}, ["Acme", "Bob", ""], [CORRECT, CORRECT_COSINE], reference="Acme")
    assert {(score.status, score.explanation) for score in scores.values()} == {
        ("not_applicable", "no triplet was extracted from the reference")
    }


async def test_an_answer_without_triplets_has_no_faithfulness(judged: Judged) -> None:
    scores = await judged({}, answer="Yes")
    none = "no triplet was extracted from the answer"
    assert {scores[name].explanation for name in (FAITH, FAITH_COSINE)} == {none}
    assert {scores[name].status for name in (FAITH, FAITH_COSINE)} == {"not_applicable"}
    assert (scores[CORRECT_COSINE].value, scores[CORRECT_COSINE].explanation) == (0.0, none)
    assert scores[CORRECT].status == "scored"


async def test_an_empty_answer_is_0_in_what_reads_it(judged: Judged) -> None:
    scores = await judged({}, answer=" \n")
    assert scores.pop(RELEVANCY).explanation.startswith("nearest")
    assert {(score.value, score.explanation) for score in scores.values()} == {(0.0, "the answer is empty")}
    assert judged.calls == {EXTRACT: 1, ASK: 1}


async def test_no_context_supports_nothing_and_answers_no_question(judged: Judged) -> None:
    scores = await judged({}, RELEVANCY, FAITH, FAITH_COSINE, contexts=(" ", "\n"))
    assert {(score.value, score.explanation) for score in scores.values()} == {(0.0, "no contexts were retrieved")}
    assert not judged.chat.calls


@pytest.mark.parametrize(
    ("answers", "facts", "left"),
    [
        (("Ann",), RunFacts(), ALL),
        (("Ann",), RunFacts(has_generator=False), (RELEVANCY,)),
        (("Ann",), RunFacts(has_contexts=False), (CORRECT, CORRECT_COSINE)),
        ((), RunFacts(), (RELEVANCY, FAITH, FAITH_COSINE)),
        (("Insufficient information.",), RunFacts(), (FAITH, FAITH_COSINE)),
    ],
)
def test_what_applies_is_decided_by_the_gold_side_and_the_run(
    answers: tuple[str, ...], facts: RunFacts, left: tuple[str, ...]
) -> None:
    scorer, gold = build_scorer(SPEC), reference("q", *answers)
    applies = [one.name for one in scorer.measures if not scorer.evaluator.not_applicable(gold, one, facts)]
    assert applies == [f"triplet_{name}" for name in left]
