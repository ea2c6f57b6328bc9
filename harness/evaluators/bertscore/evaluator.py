"""The BERTScore evaluator: which texts are compared, and the scores of empty texts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

from pydantic import Field, model_validator

from harness.core.records import Context, Reference, Score
from harness.evaluators.answer_normalisation import abstains
from harness.evaluators.bertscore.loading import (
    MINILM,
    MINILM_LAYERS,
    Encoder,
    MiniLMTokens,
    load,
    need_packages,
    weights_of,
)
from harness.evaluators.bertscore.matching import NOTHING, Agreement, TokenTable, match
from harness.evaluators.run_scoring import NO_CONTEXTS
from harness.evaluators.score_preconditions import is_null, why_not
from harness.evaluators.scores import bounded, not_applicable, scored
from harness.models.weights import cache_dir
from harness.protocols import (
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    Panel,
    PanelFigure,
    Params,
    RunFacts,
    ScoringInput,
    Sides,
)

_PARTS: dict[str, Callable[[Agreement], float]] = {
    "precision": lambda found: found.precision,
    "recall": lambda found: found.recall,
    "f1": lambda found: found.f1,
}
_OF_WHAT = {
    "context": "of the contexts against the gold evidence",
    "text": "of the contexts except triplets against the gold evidence",
    "answer": "of the answer against the reference",
    "summary": "of the answer as a summary of its contexts",
}


_CONTEXTS = PanelFigure(
    "bertscore_context",
    "BERTScore: contexts against the gold evidence",
    "BERTScore of the contexts against the gold evidence",
    zoomed=True,
)
_ANSWERS = PanelFigure(
    "bertscore_answer",
    "BERTScore: answers against the references",
    "BERTScore of the answers against the references",
    zoomed=True,
)
_SUMMARIES = PanelFigure(
    "bertscore_summary",
    "BERTScore: answers against their contexts",
    "BERTScore of the answers against their contexts",
    zoomed=True,
)
_FIGURES = {"context": _CONTEXTS, "text": _CONTEXTS, "answer": _ANSWERS, "summary": _SUMMARIES}
_ROWS = {
    "context": "contexts",
    "text": "contexts without triplets",
    "answer": "answers",
    "summary": "answers as summaries",
}
_READS: dict[str, Sides] = {
    "context": frozenset({"contexts", "reference"}),
    "text": frozenset({"contexts", "reference"}),
    "answer": frozenset({"answer", "reference"}),
    "summary": frozenset({"answer", "contexts"}),
}


def _measure(side: str, part: str) -> Measure:
    spoken = "F1" if part == "f1" else part
    # Equal numbers if no context is a triplet.
    repeats = f"bertscore_context_{part}" if side == "text" else ""
    return Measure(
        name=f"bertscore_{side}_{part}",
        summary=f"BERTScore {part} {_OF_WHAT[side]}",
        failure_value=0.0,
        title=f"BERTScore {spoken} of {_ROWS[side]}",
        section="BERTScore",
        reads=_READS[side],
        queries="worded" if side == "answer" else "all" if side == "summary" else "answerable",
        range=(-1.0, 1.0),
        panel=Panel(_FIGURES[side], spoken, row=_ROWS[side], repeats=repeats),
    )


_PLACES = {_measure(side, part): (side, part) for side in _OF_WHAT for part in _PARTS}
MEASURES = tuple(measure for measure, (side, _) in _PLACES.items() if side != "summary")
_LONGEST_SHOWN = 60


class BertScoreParams(Params):
    """The encoder and its layer."""

    model: str = Field(MINILM, min_length=1)
    """`minilm` (all-MiniLM-L6-v2 on onnxruntime); on torch: `minilm-torch`, a name on the Hugging Face hub such as
    roberta-large, or a folder. Scores of different encoders are not comparable."""
    num_layers: int | None = Field(None, ge=0)
    """The layer whose vectors are compared; default: the one that the bert-score package lists for the model."""
    truncate: bool = False
    """Whether contexts, and facts, are each one text of which only the beginning is compared, as much as the
    encoder reads (mostly 512 tokens). The bert-score package does so with a long text.
    """

    summaries: bool = False
    """Also the answer against its contexts, as if it were a summary of them (RAG-Eval's table 3)."""

    @model_validator(mode="after")
    def _layer_is_there(self) -> Self:
        if self.model == MINILM and self.num_layers not in {None, MINILM_LAYERS}:
            raise ValueError(f"{MINILM} has only layer {MINILM_LAYERS}; minilm-torch has all")
        return self


class _Finding(NamedTuple):
    agreement: Agreement | None
    """None: nothing to compare."""
    explanation: str


class BertScoreEvaluator:
    """Contexts against gold evidence, answers against reference answers."""

    def __init__(self, table: TokenTable, runtime: EvaluationRuntime, truncate: bool = False) -> None:
        self._table = table
        self._truncate = truncate
        self._runtime = runtime

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        """A null query, a missing reference, or a run without the text to compare."""
        if _PLACES[measure][0] in {"answer", "summary"}:
            return why_not(measure, reference, run)
        if not run.has_contexts:
            return NO_CONTEXTS
        if is_null(reference):
            return "the query is a null query"
        return "" if _facts(reference) else "the data set gives no evidence"

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        """Every metric of every case; new texts are embedded first."""
        await self._embed([text for case in cases for text in self._texts(case)])
        return [score for case in cases for score in self._scores(case)]

    def close(self) -> None:
        """Forget the vectors and the model."""
        self._table.close()

    async def _embed(self, texts: Sequence[str]) -> None:
        total = len(self._table.missing(texts))
        for done, _ in enumerate(self._table.add(texts), start=1):
            self._runtime.progress(done, total, "embedding")
            # Let the progress bar and an interrupt run between texts.
            await asyncio.sleep(0)

    def _scores(self, case: ScoringInput) -> Iterator[Score]:
        found: dict[str, _Finding] = {}
        for measure in case.measures:
            side, part = _PLACES[measure]
            if side not in found:
                found[side] = self._finding(case, side)
            agreement, explanation = found[side]
            if agreement is None:
                yield not_applicable(case, measure, explanation)
            else:
                # Rounded to float32 precision; unrounded values could exceed 1.
                yield scored(case, measure, round(_PARTS[part](agreement), 6), explanation)

    def _finding(self, case: ScoringInput, side: str) -> _Finding:
        if side == "answer":
            return self._answer(case)
        return self._summary(case) if side == "summary" else self._contexts(case, _contexts(case, side))

    def _summary(self, case: ScoringInput) -> _Finding:
        answer, contexts = case.prediction.answer or "", [context.text for context in case.prediction.contexts]
        if abstains(answer):
            return _Finding(None, "the answer abstains")
        if not answer.strip() or not any(text.strip() for text in contexts):
            return _Finding(NOTHING, "the answer is empty" if contexts else "no context was retrieved")
        agreement = self._match([answer], contexts)
        if not agreement.reference_tokens:
            return _Finding(None, "the contexts have no token")
        sizes = f"{agreement.candidate_tokens:,} tokens against {agreement.reference_tokens:,}"
        return _Finding(agreement, f"{sizes} of {len(contexts)} contexts")

    def _contexts(self, case: ScoringInput, contexts: Sequence[Context]) -> _Finding:
        if not case.prediction.contexts:
            return _Finding(NOTHING, "no context was retrieved")
        if not contexts:
            return _Finding(None, "every context is a triplet")
        facts = _facts(case.reference)
        agreement = self._match([context.text for context in contexts], facts)
        if not agreement.reference_tokens:
            return _Finding(None, "the evidence has no token")
        sizes = f"{agreement.candidate_tokens:,} tokens of {len(contexts)} contexts"
        return _Finding(agreement, f"{sizes} against {agreement.reference_tokens:,} of {len(facts)} facts")

    def _answer(self, case: ScoringInput) -> _Finding:
        answer, references = case.prediction.answer or "", _answers(case.reference)
        if not answer.strip():
            return _Finding(NOTHING, "the answer is empty")
        if abstains(answer):
            return _Finding(None, "the answer abstains")
        found = [(self._match([answer], [reference]), reference) for reference in references]
        found = [pair for pair in found if pair[0].reference_tokens]
        if not found:
            return _Finding(None, "the reference answer has no token")
        best, nearest = max(found, key=lambda pair: pair[0].f1)
        return _Finding(best, f"{best.candidate_tokens:,} tokens against {bounded(nearest, _LONGEST_SHOWN)!r}")

    def _match(self, candidate: Sequence[str], reference: Sequence[str]) -> Agreement:
        wanted = [window for text in self._parts(reference) for window in self._table.windows(text)]
        return match((window for text in self._parts(candidate) for window in self._table.windows(text)), wanted)

    def _parts(self, texts: Sequence[str]) -> Sequence[str]:
        return [" ".join(texts)] if self._truncate else texts

    def _texts(self, case: ScoringInput) -> Iterator[str]:
        """All texts that the metrics of this case compare."""
        sides = {_PLACES[measure][0] for measure in case.measures}
        answer = case.prediction.answer or ""
        if "answer" in sides and not abstains(answer):
            yield from (answer, *_answers(case.reference))
        if "summary" in sides:
            yield from (answer, *self._parts([context.text for context in case.prediction.contexts]))
        for side in sorted(sides - {"answer", "summary"}):
            contexts = _contexts(case, side)
            yield from self._parts([context.text for context in contexts])
            yield from self._parts(_facts(case.reference) if contexts else [])


def _contexts(case: ScoringInput, side: str) -> list[Context]:
    return [one for one in case.prediction.contexts if side == "context" or one.kind != "triplet"]


def _facts(reference: Reference) -> list[str]:
    """The distinct facts of the evidence, in order."""
    return [fact for fact in dict.fromkeys(one.fact.strip() for one in reference.evidence) if fact]


def _answers(reference: Reference) -> list[str]:
    return [answer for answer in dict.fromkeys(reference.answers) if answer.strip()]


def _build(params: BertScoreParams, runtime: EvaluationRuntime) -> BertScoreEvaluator:
    table = TokenTable(_encoder(params), cache_dir(), 1 if params.truncate else None)
    return BertScoreEvaluator(table, runtime, params.truncate)


def _encoder(params: BertScoreParams) -> Encoder:
    if params.model == MINILM:
        return MiniLMTokens()
    # It is torch's.
    from harness.evaluators.bertscore.encoder import TokenEncoder

    return TokenEncoder(load(params.model, params.num_layers))


SPEC = EvaluatorSpec(
    name="bertscore",
    version="4",
    summary="token-level similarity of contexts to gold evidence, and of answers to references (MiniLM)",
    params=BertScoreParams,
    measures=lambda params: tuple(_PLACES) if params.summaries else MEASURES,
    build=_build,
    weights=lambda params: weights_of(params.model),
    preflight=lambda params: need_packages(params.model),
)
