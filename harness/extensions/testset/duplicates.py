"""Detects the same question in other words: a duplicate would count one fact twice."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import normalise
from harness.extensions.testset.types import Candidate, QuestionCheck

if TYPE_CHECKING:
    from harness.protocols import Embedder, Vectors

_NEAR = 0.9
"""Cosine of two questions. Questions that differ in one name reach it too, so answer or quote must also match."""


class Distinct:
    """Compares each candidate with those accepted before it."""

    def __init__(self, embedder: "Embedder | None") -> None:
        self._embedder = embedder
        self._seen: list[tuple[Candidate, Vectors | None]] = []

    async def check_each(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates with their verdicts, in order; of two duplicates the second fails."""
        if not candidates:
            return []
        vectors: Sequence[Vectors | None] = [None] * len(candidates)
        if self._embedder:
            vectors = list(await self._embedder.embed_documents([each.question for each in candidates]))
        return [self._checked(each, vector) for each, vector in zip(candidates, vectors, strict=True)]

    def _checked(self, candidate: Candidate, vector: "Vectors | None") -> Candidate:
        for other, known in self._seen:
            same_words = normalise(other.question) == normalise(candidate.question)
            near = vector is not None and known is not None and float(vector @ known) >= _NEAR
            if same_words or (near and _same_fact(candidate, other)):
                note = f"it asks the same as '{other.question}'"
                return candidate.checked(QuestionCheck(name="distinct", passed=False, note=note))
        self._seen.append((candidate, vector))
        return candidate.checked(QuestionCheck(name="distinct", passed=True))


def _same_fact(one: Candidate, other: Candidate) -> bool:
    quotes = {item.fact for item in one.evidence} & {item.fact for item in other.evidence}
    return bool(quotes) or is_right(one.answer, [other.answer])
