"""The causes of wrong answers, and the trace of each piece of evidence through corpus, index and ranking.

A piece is a gold fact. It is found where a text contains its words, ignoring case, white space and punctuation, as
in the fact level of the retrieval metrics. If the evidence names no fact, or a fact longer than a passage, the
piece is its document.
Its state is

- *shown* if a context contains the fact; for a document, if contexts contain all of its text or the long fact;
- *unsaid* if no context contains it, but a context may paraphrase it: a triplet or a summary of its document or of
  an unknown one; a passage of a document that itself words the fact differently; a part of a document. Also if the
  ranking or the index's passages do not belong to this corpus;
- *missing* otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from harness.core.records import Evidence
from harness.evaluators.gold_ranks import FactFinder
from harness.protocols import ScoreLabel, ScoringInput

NOT_IN_CORPUS = ScoreLabel(
    "not-in-corpus",
    "evidence not in the corpus",
    "No system can retrieve it: use more documents (dataset.corpus=full), or leave these queries out.",
)
CUT = ScoreLabel(
    "cut-by-chunking",
    "fact cut by chunking",
    "No stored passage contains the whole fact: use longer passages or more overlap (index.chunk_size, "
    "index.chunk_overlap).",
)
NOT_FOUND = ScoreLabel(
    "not-found",
    "not in the recorded ranking",
    "It is not in the recorded ranking: search by keywords and embeddings "
    "(answer.search=hybrid), with titles and dates (index.headings=true), or with another embedder.",
)
RANKED_LOW = ScoreLabel(
    "ranked-too-low",
    "ranked too low",
    "It was retrieved, but ranked below the passages in the prompt: use more passages (answer.top_k) or a "
    "reranker; each query shows its rank.",
)
ONLY_PART = ScoreLabel(
    "only-part",
    "only part of it in the context",
    "Each query shows the rank of the rest: use more passages, or a second retrieval step for the missing part.",
)
ANSWERED_WRONG = ScoreLabel(
    "answered-wrong",
    "in the context, answered wrong",
    "Retrieval succeeded: try another generator, or fewer other passages.",
)
WORDED_OTHERWISE = ScoreLabel(
    "worded-otherwise",
    "perhaps right, in other words",
    "Answer and reference answer differ in few words, such as a unit: read these. If they are right, add the "
    "wording to the answers of the question.",
    note="count as wrong and may be right in other words: read them, and add such words to the question's answers",
)
REFUSED = ScoreLabel(
    "refused",
    "in the context, abstained",
    "Retrieval succeeded: try another generator, or fewer other passages.",
)
ANSWERED_NOTHING = ScoreLabel(
    "answered-nothing",
    "answered although unanswerable",
    "The right answer is an abstention: try a generator that abstains more often, or fewer passages.",
)
FAILED = ScoreLabel(
    "failed",
    "failed or timed out",
    "No answer was recorded: see the errors in the notes, then raise the limits or run the same command again.",
)
NOT_KNOWN = ScoreLabel(
    "not-known",
    "not known",
    "The records do not show the cause: paraphrases, no contexts, or no evidence in the data set; read some "
    "of these queries.",
)
OF_SEARCH = (NOT_IN_CORPUS, CUT, NOT_FOUND, RANKED_LOW, ONLY_PART)
OF_ANSWERS = (*OF_SEARCH, WORDED_OTHERWISE, ANSWERED_WRONG, REFUSED, ANSWERED_NOTHING, FAILED, NOT_KNOWN)
OF_EVIDENCE = (*OF_SEARCH, FAILED, NOT_KNOWN)
_Place = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    state: Literal["shown", "unsaid", "missing"]
    said: str = ""
    """The reason in a few words."""
    label: ScoreLabel | None = None
    """Why it is missing."""


SHOWN = Piece("shown")
_UNFIT = Piece("unsaid", "the ranking names spans that the corpus does not have")
_GONE = Piece("missing", "its document is not in the corpus", NOT_IN_CORPUS)


def pieces_of(case: ScoringInput, longest_fact: int, finder: FactFinder) -> list[Piece]:
    """The state of each distinct piece of evidence; none if the reference names none."""
    trace = _Trace(case, finder)
    evidence = dict.fromkeys(item for item in case.reference.evidence if item.doc_id or item.fact.strip())
    return [
        trace.fact(item) if 0 < len(item.fact.strip()) <= longest_fact else trace.document(item)
        for item in evidence
    ]


class _Trace:
    def __init__(self, case: ScoringInput, finder: FactFinder) -> None:
        self._contexts = case.prediction.contexts
        self._retrieved = case.prediction.retrieved
        searched = case.searched
        self._documents: Mapping[str, str] = searched.documents if searched else {}
        self._passages = searched.passages if searched else None
        self._finder = finder

    def fact(self, item: Evidence) -> Piece:
        if self._is_contained(item.fact):
            return SHOWN
        if reworded := self._reworded(item.doc_id):
            return Piece("unsaid", f"{reworded} may paraphrase it")
        return _GONE if self._is_missing_document(item.doc_id) else self._unsaid_fact(item)

    def _unsaid_fact(self, item: Evidence) -> Piece:
        text = self._documents.get(item.doc_id)
        if text is not None and not self._finder.end_of(item.fact, text):
            # The document words it differently: only the rank of the document is known.
            if any(item.doc_id in context.doc_ids for context in self._contexts):
                return Piece("unsaid", "its document was retrieved, but does not state it word for word")
            return self._ranked_document(item.doc_id)
        if self._ranking_is_unfit:
            return _UNFIT
        rank = self._rank(lambda doc_id, span: self._states(doc_id, span, item.fact))
        if cut := self._cut_context(item.fact):
            return Piece("missing", f"context {cut} was cut before or within it", ONLY_PART)
        if rank is not None:
            return Piece("missing", f"one {self._beyond(rank)}", RANKED_LOW)
        chunking = None if text is None else self._cut_by_chunking(item.doc_id, item.fact)
        return chunking or Piece("missing", self._depth(), NOT_FOUND)

    def _cut_by_chunking(self, doc_id: str, fact: str) -> Piece | None:
        """Whether no stored passage contains a fact that its document states; None if one does, or if the index
        lists none."""
        if self._passages is None:
            return None
        spans = self._passages.get(doc_id, ())
        if not spans or not all(self._contains_span(doc_id, span) for span in spans):
            return Piece("unsaid", "the passages in the index do not belong to its document")
        if any(self._states(doc_id, span, fact) for span in spans):
            return None
        return Piece("missing", "no stored passage of its document contains all of it", CUT)

    def document(self, item: Evidence) -> Piece:
        if (item.fact.strip() and self._is_contained(item.fact)) or self._shows_all_of(item.doc_id):
            return SHOWN
        if any(item.doc_id in context.doc_ids for context in self._contexts) or self._reworded(item.doc_id):
            return Piece("unsaid", "a part of its document is in the contexts")
        return _GONE if self._is_missing_document(item.doc_id) else self._ranked_document(item.doc_id)

    def _ranked_document(self, doc_id: str) -> Piece:
        if self._ranking_is_unfit:
            return _UNFIT
        rank = self._rank(lambda found, _span: found == doc_id) if doc_id else None
        if rank is not None:
            return Piece("missing", f"its document {self._beyond(rank)}", RANKED_LOW)
        return Piece("missing", self._depth(), NOT_FOUND)

    def _beyond(self, rank: int) -> str:
        n = len(self._contexts)
        return f"at rank {rank} of the retrieval, not among the {n:,} context{'' if n == 1 else 's'}"

    def _is_contained(self, fact: str) -> bool:
        return any(self._finder.end_of(fact, context.text) for context in self._contexts)

    def _is_missing_document(self, doc_id: str) -> bool:
        return bool(doc_id and self._documents) and doc_id not in self._documents

    def _reworded(self, doc_id: str) -> str:
        """The first context that may paraphrase that document; empty if there is none."""
        for number, context in enumerate(self._contexts, start=1):
            if not context.is_own_text and (not doc_id or not context.doc_ids or doc_id in context.doc_ids):
                return f"context {number} ({context.kind})"
        return ""

    def _cut_context(self, fact: str) -> int | None:
        """The rank of a context that shows only part of its stored passage, which contains the fact."""
        for number, context in enumerate(self._contexts, start=1):
            span = context.span
            if span and context.is_own_text and self._states(span.doc_id, (span.start, span.end), fact):
                return number
        return None

    def _shows_all_of(self, doc_id: str) -> bool:
        text = self._documents.get(doc_id)
        if not text:
            return False
        own = ((one.span, one.text) for one in self._contexts if one.is_own_text)
        spans = ((span.start, span.end, shown) for span, shown in own if span and span.doc_id == doc_id)
        end, squeezed = 0, self._finder.squeezed
        for start, stop, shown in sorted(spans):
            if squeezed(text[start:stop]) in squeezed(shown):
                if text[end:start].strip():
                    return False
                end = max(end, stop)
        return end > 0 and not text[end:].strip()

    def _rank(self, holds: Callable[[str, _Place], bool]) -> int | None:
        """The first rank of a span, as document and place, that holds the piece."""
        places = self._retrieved.spans if self._retrieved else ()
        ranked = enumerate(places, start=1)
        return next((rank for rank, (doc_id, start, end) in ranked if holds(doc_id, (start, end))), None)

    @cached_property
    def _ranking_is_unfit(self) -> bool:
        """Whether it names a span that the corpus does not have: then it belongs to another corpus."""
        places = self._retrieved.spans if self._retrieved and self._documents else ()
        return not all(self._contains_span(doc_id, (start, end)) for doc_id, start, end in places)

    def _contains_span(self, doc_id: str, place: _Place) -> bool:
        start, end = place
        return doc_id in self._documents and start <= end <= len(self._documents[doc_id])

    def _states(self, doc_id: str, span: _Place, fact: str) -> bool:
        """Whether the text of a span, empty if the corpus was not stored, contains the fact."""
        return bool(self._finder.end_of(fact, self._documents.get(doc_id, "")[slice(*span)]))

    def _depth(self) -> str:
        if self._retrieved is None:
            return "no ranking beyond the contexts was recorded"
        if not self._documents:
            return "the corpus was not stored"
        return f"not among the first {len(self._retrieved):,}"


def worst(missing: Iterable[Piece]) -> ScoreLabel:
    """Why pieces are missing; if for several reasons, the one that must be fixed first."""
    labels = {piece.label for piece in missing}
    return next(label for label in OF_SEARCH if label in labels)
