"""Compares the sentences that a system cites as evidence with the gold facts. No judge.

*Recall* is the share of gold facts that a cited sentence covers, *precision* the share of cited sentences that
cover a gold fact. A sentence covers a fact of the same document if it contains the fact, or if they share one
substring of at least half of the shorter text and at least 20 characters, ignoring case, white space and
punctuation. A fact inside a longer word or number is not contained. Shorter substrings ("Yes.", "a record of")
occur in many facts and prove nothing. A character of a script without spaces counts as three.

*Evid* (GE-Chat, Da et al. 2025) is cos(E, E*) x min(1, L* / L): E is all cited sentences, E* all gold facts, L and
L* are their lengths in characters. Texts longer than an encoder's window are embedded in windows and averaged.

An answer without a cited sentence scores 0: no system gains by citing none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial

import numpy as np
from pydantic import Field

from harness.core.records import Context, Reference
from harness.core.scripts import UNSPACED
from harness.evaluators.gold_ranks import FactFinder, why_passage
from harness.evaluators.judge_calls import JudgedEvaluator, Judgement
from harness.evaluators.scores import graded
from harness.extraction.text_windows import EMBEDDED_WHOLE, windows_of
from harness.protocols import (
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    PanelFigure,
    Params,
    RunFacts,
    ScoringInput,
)

NO_EVIDENCE = (
    "no answer of the run cites a sentence as evidence: its system cites none, generated no answer, or "
    "abstained on every query"
)
_SECTION = "Evidence cited in answers"
_UNSPACED = re.compile(f"[{UNSPACED}]")
_FIGURE = PanelFigure(
    "evidence_named",
    "Cited sentences",
    "Sentences that answers cite as evidence, compared with the gold facts",
)


_measure = partial(graded, figure=_FIGURE, section=_SECTION, reads=frozenset({"evidence", "reference"}))
_EVID = _measure(
    "evid",
    "Evid score",
    "cosine of cited sentences and gold facts, reduced if the sentences are longer (GE-Chat)",
    range=(-1.0, 1.0),
)
_RECALL = _measure("evidence_recall", "recall of facts", "share of the gold facts that a cited sentence covers")
_PRECISION = _measure(
    "evidence_precision", "precision of sentences", "share of the cited sentences that cover a gold fact"
)
_CHARACTERS = Measure(
    name="evidence_characters",
    summary="length of the cited sentences, in characters",
    failure_value=None,
    title="characters of evidence",
    section=_SECTION,
    reads=frozenset({"evidence"}),
    queries="answerable",
    higher_is_better=False,
    range=(0.0, math.inf),
)
MEASURES = (_EVID, _RECALL, _PRECISION, _CHARACTERS)


class EvidenceParams(Params):
    """Minimum length of a fact."""

    longest_fact: int = Field(1000, ge=1)
    """Characters. A longer fact is a passage or a whole document: no sentence could cover it."""


class EvidenceEvaluator(JudgedEvaluator):
    def __init__(self, params: EvidenceParams, runtime: EvaluationRuntime) -> None:
        super().__init__(runtime)
        self._longest_fact = params.longest_fact
        self._finder = FactFinder()

    def not_applicable(self, reference: Reference, _: Measure, run: RunFacts) -> str:
        """Not for a run without cited sentences, or a query without a gold fact, such as a null query."""
        if not run.has_generator:
            return "the run has no generator, so no answer cites evidence"
        if not run.has_evidence:
            return NO_EVIDENCE
        facts = _facts(reference)
        if not facts:
            return "the reference names no fact"
        return why_passage(facts.values(), self._longest_fact)

    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        offered = case.prediction.evidence
        length = sum(len(each.text) for each in offered)
        if measure == _CHARACTERS:
            return float(length), f"{len(offered)} sentences"
        if not length:
            return 0.0, "the answer cites no sentence"
        facts = _facts(case.reference)
        if measure == _EVID:
            return await self._evid([each.text for each in offered], list(facts.values()))
        covered, right = self._matched(offered, case.reference)
        if measure == _RECALL:
            return covered / len(facts), f"{covered} of {len(facts)} facts"
        return right / len(offered), f"{right} of {len(offered)} sentences"

    async def _evid(self, offered: Sequence[str], gold: Sequence[str]) -> tuple[float, str]:
        ours, theirs = " ".join(offered), " ".join(gold)
        cosine = float(np.clip(await self._direction(ours) @ await self._direction(theirs), -1, 1))
        shorter = min(1.0, len(theirs) / len(ours))
        # float32 has no more digits.
        return round(cosine * shorter, 6), f"cosine {cosine:.3f}, lengths {len(theirs):,} / {len(ours):,}"

    async def _direction(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        rows = await self._runtime.embedder.embed_documents(list(windows_of(text, EMBEDDED_WHOLE)))
        mean = np.asarray(rows, dtype=np.float64).mean(axis=0)
        if not np.isfinite(mean).all():
            raise ValueError("the embedder gave a vector with NaN or infinity")
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12))

    def _matched(self, offered: Sequence[Context], reference: Reference) -> tuple[int, int]:
        """How many facts are covered, and how many sentences cover one."""
        pairs = {
            (place, number)
            for place, each in enumerate(offered)
            for number, (doc_id, fact) in enumerate(_facts(reference))
            if (not doc_id or doc_id in each.doc_ids) and self._covers(each.text, fact)
        }
        return len({number for _, number in pairs}), len({place for place, _ in pairs})

    def _covers(self, sentence: str, fact: str) -> bool:
        squeezed = self._finder.squeezed
        return bool(self._finder.end_of(fact, sentence)) or _is_alike(squeezed(sentence), squeezed(fact))


def _facts(reference: Reference) -> Mapping[tuple[str, str], str]:
    """The non-blank facts, without duplicates within a document."""
    return {(item.doc_id, item.fact): item.fact for item in reference.evidence if item.fact.strip()}


def _is_alike(sentence: str, fact: str) -> bool:
    """Whether half of the shorter text, and 20 characters, are one common substring of their forms
    `without_punctuation`.
    """
    match = SequenceMatcher(None, sentence, fact, autojunk=False).find_longest_match()
    shared = sentence[match.a : match.a + match.size]
    is_half = match.size >= 0.5 * min(len(sentence), len(fact))
    return is_half and len(shared) + 2 * len(_UNSPACED.findall(shared)) >= 20


SPEC = EvaluatorSpec(
    name="evidence",
    version="5",
    summary="cited sentences, compared with the gold facts: Evid score, recall, precision",
    params=EvidenceParams,
    measures=lambda _params: MEASURES,
    build=EvidenceEvaluator,
    roles=frozenset({"judge_embedder"}),
)
