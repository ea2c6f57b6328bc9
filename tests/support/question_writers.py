"""Documents of our own, and scripted models that write and judge questions about them."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from runtimes import Asked, Chat, Embedder

from harness.core.errors import BudgetExhausted
from harness.core.records import Document, Evidence
from harness.extensions.testset.question_records import (
    Candidate,
    Excerpt,
    QuestionCheck,
    QuestionKind,
    QuestionSlot,
)

FERRY = Document(
    doc_id="ferry.md",
    title="Lowmere ferry",
    text=(
        "12 March 2024. The harbour board of Lowmere gave the contract for its ferry to the Tarnby yard. "
        "The ship is to cost 18.4 million crowns. Hanne Olvik chairs the harbour board of Lowmere."
    ),
)
YARD = Document(
    doc_id="yard.md",
    title="Tarnby yard",
    text=(
        "3 June 2024. The Tarnby yard was founded in 1911 and built trawlers. "
        "The Kestrel Fund bought the Tarnby yard for nine million crowns. Joren Brask manages the Tarnby yard. "
        "Hanne Olvik visited Joren Brask in May."
    ),
)
MILL = Document(
    doc_id="mill.md",
    title="Corrie Mill",
    text="The Corrie Mill grinds oats for the whole valley. It was closed for five weeks after the flood.",
)


def slot(kind: QuestionKind = "single_fact", *documents: Document) -> QuestionSlot:
    """Question slots over the sentences of these documents, by default of one."""
    ends = re.compile(r"(?<=\.) (?=The|It|Hanne|Joren)")
    excerpts = tuple(Excerpt(each, tuple(ends.split(each.text))) for each in documents or (FERRY,))
    return QuestionSlot(kind, excerpts, "Tarnby yard" if len(documents) > 1 else "")


def candidate(question: str, answer: str = "1911", *, kind: str = "single_fact", fact: str = "") -> Candidate:
    """A written and unchecked candidate."""
    evidence = (Evidence(doc_id="yard.md", fact=fact),) if fact else ()
    written = QuestionCheck(name="written", passed=True)
    return Candidate(
        id=question, kind=kind, documents=("yard.md",), question=question, answer=answer, evidence=evidence,
        checks=(written,),
    )  # fmt: skip


def draft(question: str, answer: str, *sentences: str) -> str:
    """A writer's reply."""
    return json.dumps({"question": question, "answer": answer, "sentences": sentences or ["A1"]})


@dataclass
class Models:
    """The part of `WriterModels` that the generator needs, without a server."""

    writer: Any
    judge: Any = field(default_factory=Chat)
    embedder: Embedder | None = None
    concurrency: int = 1
    left: int = 10**6
    """Charges left in the budget, one per candidate."""

    @asynccontextmanager
    async def charge(self) -> AsyncIterator[None]:
        self.left -= 1
        if self.left < 0:
            raise BudgetExhausted("the time is over")
        yield


def judge(answer: Callable[[str], str], *, same: bool = False, stated: bool = False) -> Chat:
    """A judge that replies `answer(prompt)`, with constant verdicts."""

    def reply(asked: Asked) -> str:
        if '"same"' in asked.text:
            return json.dumps({"same": same})
        if '"stated"' in asked.text:
            return json.dumps({"stated": stated})
        return answer(asked.text)

    return Chat(reply)
