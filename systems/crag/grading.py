"""Grades passages and their strips, and rewrites the question: by rules or by the generator."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from harness.core.records import Context
from harness.llm_utils.structured_output import Unreadable, ask_json
from harness.protocols import ChatModel, Runtime
from systems.common.graph_search.question_entities import keyword_query
from systems.common.prompts.grading import Grade, grading, rewriting
from systems.common.strips import StrippedPassage
from systems.crag.params import AnswerParams


@dataclass(frozen=True)
class Graded:
    """A passage, its grade, and which of its strips pass."""

    passage: StrippedPassage
    grade: Grade
    passes: tuple[bool, ...]


async def grade(runtime: Runtime, params: AnswerParams, question: str, found: Sequence[Context]) -> list[Graded]:
    """Grade the passages that a search found; without any, no model is called."""
    passages = [StrippedPassage.of(context, params.strip_sentences) for context in found]
    texts = [text for passage in passages for text in passage.texts]
    if not texts:
        return []
    with runtime.stage("grade"):
        if params.grader == "model" and runtime.chat is not None:
            return await _by_model(runtime.chat, question, passages)
        # Not embed_documents(): strips that an earlier query has embedded would cost this one no time.
        asked, *vectors = await asyncio.gather(*map(runtime.embedder.embed_query, [question, *texts]))
        cosines = (float(vector @ asked) for vector in vectors)
    return [_by_cosines(params, passage, [next(cosines) for _ in passage.strips]) for passage in passages]


def _by_cosines(params: AnswerParams, passage: StrippedPassage, cosines: Sequence[float]) -> Graded:
    best = max(cosines, default=-1.0)
    given: Grade = "correct" if best >= params.correct_from else "ambiguous"
    passes = tuple(cosine >= params.strip_from for cosine in cosines)
    return Graded(passage, "incorrect" if best < params.incorrect_below else given, passes)


async def _by_model(chat: ChatModel, question: str, passages: Sequence[StrippedPassage]) -> list[Graded]:
    try:
        asked = grading(question, [(passage.heading, passage.texts) for passage in passages])
        grades, strips = (await ask_json(chat, asked)).value
    except Unreadable:
        # Nothing is known, so the passages stay whole, and a second search is made.
        return [Graded(passage, "ambiguous", (True,) * len(passage.strips)) for passage in passages]
    numbers = count(1)
    kept = [tuple(next(numbers) in strips for _ in passage.strips) for passage in passages]
    return [Graded(*each) for each in zip(passages, grades, kept, strict=True)]


async def rewritten(runtime: Runtime, params: AnswerParams, question: str) -> str:
    """Another query for the same question: by the model, else its names and content words."""
    if params.grader == "model" and runtime.chat is not None:
        with suppress(Unreadable), runtime.stage("rewrite"):
            return (await ask_json(runtime.chat, rewriting(question))).value
    return keyword_query(question)
