"""crag with cosines and judgements that the tests choose."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import asked, indexed
from pydantic import ValidationError
from runtimes import BareRuntime, Chat

from harness.core.errors import ConfigError
from harness.core.records import Document, Prediction
from harness.protocols import Vectors
from systems.crag.system import SPEC, AnswerParams

TEXTS = {
    "d0": "Ingrid Solvane runs Tidewright Power. Lunch is at noon. Ask Tidewright Power for a table.",
    "d1": "Tidewright Power builds turbines. It has two yards.",
    "d2": "Gull Sound lies off Port Aldery.",
}
CORPUS = [Document(doc_id=doc_id, text=text, title=f"Article {doc_id}") for doc_id, text in TEXTS.items()]
QUESTION = "Who runs Tidewright Power?"


class Cosines:
    """Embeds the question as (1, 0), and every strip with the given cosine to it."""

    def __init__(self, of: Mapping[str, float]) -> None:
        self.of = of

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise AssertionError("a vector from the cache takes no time, which is no latency of a query")

    async def embed_query(self, text: str) -> Vectors:
        cosine = 1.0 if text == QUESTION else self.of[text]
        return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)


async def ask(folder: Path, chat: Chat | None, cosines: Mapping[str, float], **answer: Any) -> Prediction:
    """By keywords alone, strips of one sentence."""
    runtime = BareRuntime(folder, chat, Cosines(cosines))
    await indexed(SPEC, runtime, CORPUS, {"vectors": False})
    return await asked(SPEC, runtime, QUESTION, **{"search": "bm25", "strip_sentences": 1, **answer})


def strips(prediction: Prediction) -> list[str]:
    """What the generator saw, without headings; each stands at its place."""
    found = []
    for context in prediction.contexts:
        assert context.span is not None
        found.append(TEXTS[context.span.doc_id][context.span.start : context.span.end])
        assert context.text == f"Article {context.span.doc_id}\n{found[-1]}"
    return found


def told(prediction: Prediction, name: str) -> str:
    return next((step.content for step in prediction.trace if step.name == name), "")


async def test_strips_below_the_bound_are_left_out_and_neighbours_joined(tmp_path: Path) -> None:
    """By hand: d0's best strip has .7, so the search is correct; of d0 the middle strip fails, of d1 none."""
    cosines = dict(zip(TEXTS["d0"].split(". "), (0.7, 0.1, 0.3), strict=True))
    cosines = {f"{text.rstrip('.')}.": cosine for text, cosine in cosines.items()}
    cosines |= {"Tidewright Power builds turbines.": 0.5, "It has two yards.": 0.35}
    prediction = await ask(tmp_path, None, cosines)
    assert strips(prediction) == [
        "Ingrid Solvane runs Tidewright Power.",
        "Ask Tidewright Power for a table.",
        "Tidewright Power builds turbines. It has two yards.",
    ]
    assert told(prediction, "action") == "correct"
    assert "correct, 2 of 3 strips" in told(prediction, "grades")
    assert (prediction.answer, told(prediction, "rewritten")) == (None, "")


async def test_where_all_is_incorrect_and_nothing_else_is_found_the_passages_stay(tmp_path: Path) -> None:
    sentences = [f"{one.rstrip('.')}." for text in TEXTS.values() for one in text.split(". ")]
    prediction = await ask(tmp_path, None, dict.fromkeys(sentences, 0.1))
    assert strips(prediction) == [TEXTS["d0"], TEXTS["d1"]]
    assert told(prediction, "action") == "incorrect"
    assert told(prediction, "rewritten") == "Tidewright Power runs"


def judging(*grades: str, query: str = "Gull Sound") -> Chat:
    """Gives these grades, one a search, with every strip; the reply to a request for another query."""
    given = iter(grades)

    def reply(asked: Any) -> str:
        if asked.json_schema is None:
            return "Ingrid Solvane"
        if "query" in asked.json_schema["properties"]:
            return json.dumps({"query": query})
        grade = next(given)
        return json.dumps({"correct": [], "incorrect": [], "strips": [1], **({grade: [1]} if grade else {})})

    return Chat(reply)


@pytest.mark.parametrize(
    ("grade", "seen", "calls"),
    [
        ("correct", ["Ingrid Solvane runs Tidewright Power."], 2),
        ("", ["Ingrid Solvane runs Tidewright Power.", "Gull Sound lies off Port Aldery."], 4),
        ("incorrect", ["Gull Sound lies off Port Aldery."], 4),
    ],
)
async def test_a_second_search_joins_or_replaces(tmp_path: Path, grade: str, seen: list[str], calls: int) -> None:
    chat = judging(grade, "correct")
    prediction = await ask(tmp_path, chat, {}, grader="model", top_k=1)
    assert (strips(prediction), len(chat.calls), prediction.answer) == (seen, calls, "Ingrid Solvane")
    assert told(prediction, "rewritten") == ("" if grade == "correct" else "Gull Sound")


async def test_a_judge_that_cannot_be_read_leaves_the_passages_whole(tmp_path: Path) -> None:
    chat = Chat(lambda asked: "no JSON" if asked.json_schema else "Ingrid Solvane")
    prediction = await ask(tmp_path, chat, {}, grader="model", top_k=1)
    assert strips(prediction) == [TEXTS["d0"]]
    assert (told(prediction, "action"), prediction.answer) == ("ambiguous", "Ingrid Solvane")


async def test_bounds_out_of_order_and_a_model_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="incorrect_below"):
        AnswerParams(incorrect_below=0.7, correct_from=0.5)
    with pytest.raises(ConfigError, match="needs a generator"):
        await ask(tmp_path, None, {}, grader="model")
