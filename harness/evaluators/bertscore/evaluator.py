"""The BERTScore evaluator: which texts are compared, and the scores of empty texts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from harness.core.records import Reference, Score
from harness.evaluators.answer_normalisation import abstains
from harness.evaluators.bertscore.loading import (
    MINILM,
    MINILM_LAYERS,
    MiniLMTokens,
    TokenEncoder,
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


class _Compared(NamedTuple):
    """The two texts of a comparison."""

    row: str
    what: str
    reads: Sides
    queries: Literal["all", "answerable", "worded"]
    figure: PanelFigure


def _figure(stem: str, what: str) -> PanelFigure:
    return PanelFigure(f"bertscore_{stem}", f"BERTScore: {what}", f"BERTScore of the {what}", zoomed=True)


_CONTEXTS = _figure("context", "contexts against the gold evidence")
_EVIDENCE: Sides = frozenset({"contexts", "reference"})
_COMPARED = {
    "context": _Compared("contexts", "of the contexts", _EVIDENCE, "answerable", _CONTEXTS),
    "text": _Compared(
        "contexts without triplets", "of the contexts except triplets", _EVIDENCE, "answerable", _CONTEXTS
    ),
    "answer": _Compared(
        "answers",
        "of the answer against the reference",
        frozenset({"answer", "reference"}),
        "worded",
        _figure("answer", "answers against the references"),
    ),
    "summary": _Compared(
        "answers as summaries",
        "of the answer as a summary of its contexts",
        frozenset({"answer", "contexts"}),
        "all",
        _figure("summary", "answers against their contexts"),
    ),
}


_OF_ANSWERS = frozenset({"answer", "summary"})


def _measure(side: str, part: str) -> Measure:
    compared, spoken = _COMPARED[side], "F1" if part == "f1" else part
    evidence = " against the gold evidence" if compared.figure is _CONTEXTS else ""
    # Equal numbers if no context is a triplet.
    repeats = f"bertscore_context_{part}" if side == "text" else ""
    return Measure(
        name=f"bertscore_{side}_{part}",
        summary=f"BERTScore {part} {compared.what}{evidence}",
        failure_value=0.0,
        title=f"BERTScore {spoken} of {compared.row}",
        section="BERTScore",
        reads=compared.reads,
        queries=compared.queries,
        range=(-1.0, 1.0),
        panel=Panel(compared.figure, spoken, row=compared.row, repeats=repeats),
    )


_PLACES = {_measure(side, part): (side, part) for side in _COMPARED for part in ("precision", "recall", "f1")}
MEASURES = tuple(measure for measure, (side, _) in _PLACES.items() if side != "summary")


class BertScoreParams(Params):
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


class _Texts(NamedTuple):
    """The texts of a comparison; of several references the nearest counts."""

    candidate: Sequence[str]
    references: Sequence[Sequence[str]]
    without_token: str
    """The reason if no reference has a token."""
    of: str = ""
    """What the candidate's tokens are of, for the explanation."""
    against: str = ""
    """What the reference's tokens are of; empty: the text is quoted instead."""


_Settled = tuple[Agreement | None, str]
"""The agreement, None if there is nothing to compare; and the explanation."""


class BertScoreEvaluator:
    def __init__(self, table: TokenTable, runtime: EvaluationRuntime, truncate: bool = False) -> None:
        self._table = table
        self._truncate = truncate
        self._runtime = runtime

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        if _PLACES[measure][0] in _OF_ANSWERS:
            return why_not(measure, reference, run)
        if not run.has_contexts:
            return NO_CONTEXTS
        if is_null(reference):
            return "the query is a null query"
        return "" if _facts(reference) else "the data set gives no evidence"

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        """Every metric of every case; new texts are embedded first."""
        sides_of = (dict.fromkeys(_PLACES[measure][0] for measure in case.measures) for case in cases)
        compared = [
            {side: _texts_of(case, side) for side in sides} for case, sides in zip(cases, sides_of, strict=True)
        ]
        given = [one for sides in compared for one in sides.values() if isinstance(one, _Texts)]
        texts = [text for one in given for side in (one.candidate, *one.references) for text in self._parts(side)]
        total = len(self._table.missing(texts))
        for done, _ in enumerate(self._table.add(texts), start=1):
            self._runtime.progress(done, total, "embedding")
            # Let the progress bar and an interrupt run between texts.
            await asyncio.sleep(0)
        return [score for case, sides in zip(cases, compared, strict=True) for score in self._scores(case, sides)]

    def close(self) -> None:
        self._table.close()

    def _scores(self, case: ScoringInput, sides: Mapping[str, _Texts | _Settled]) -> Iterator[Score]:
        found = {side: self._best(one) if isinstance(one, _Texts) else one for side, one in sides.items()}
        for measure in case.measures:
            side, part = _PLACES[measure]
            agreement, explanation = found[side]
            if agreement is None:
                yield not_applicable(case, measure, explanation)
            else:
                # Rounded to float32 precision; unrounded values could exceed 1.
                yield scored(case, measure, round(getattr(agreement, part), 6), explanation)

    def _best(self, texts: _Texts) -> _Settled:
        if not texts.candidate:
            return None, "every context is a triplet"
        every = ((self._match(texts.candidate, reference), reference) for reference in texts.references)
        found = [pair for pair in every if pair[0].reference_tokens]
        if not found:
            return None, texts.without_token
        best, nearest = max(found, key=lambda pair: pair[0].f1)
        size = f"{best.reference_tokens:,} of {texts.against}"
        against = size if texts.against else repr(bounded(nearest[0], 60))
        return best, f"{best.candidate_tokens:,} tokens{texts.of} against {against}"

    def _match(self, candidate: Sequence[str], reference: Sequence[str]) -> Agreement:
        wanted = [window for text in self._parts(reference) for window in self._table.windows(text)]
        return match((window for text in self._parts(candidate) for window in self._table.windows(text)), wanted)

    def _parts(self, texts: Sequence[str]) -> Sequence[str]:
        return [" ".join(texts)] if self._truncate else texts


def _texts_of(case: ScoringInput, side: str) -> _Texts | _Settled:
    """What is compared, or the result if a text is empty."""
    answer, retrieved, of_answer = case.prediction.answer or "", case.prediction.contexts, side in _OF_ANSWERS
    if of_answer and abstains(answer):
        return None, "the answer abstains"
    contexts = [one.text for one in retrieved if side != "text" or one.kind != "triplet"]
    if of_answer and not answer.strip():
        return NOTHING, "the answer is empty"
    if side == "answer":
        references = [[one] for one in dict.fromkeys(case.reference.answers) if one.strip()]
        return _Texts([answer], references, "the reference answer has no token")
    if not retrieved or (of_answer and not any(map(str.strip, contexts))):
        return NOTHING, "no context was retrieved"
    number = f"{len(contexts)} contexts"
    if of_answer:
        return _Texts([answer], [contexts], "the contexts have no token", against=number)
    facts = _facts(case.reference)
    return _Texts(contexts, [facts], "the evidence has no token", f" of {number}", f"{len(facts)} facts")


def _facts(reference: Reference) -> list[str]:
    """The distinct facts of the evidence, in order."""
    return [fact for fact in dict.fromkeys(one.fact.strip() for one in reference.evidence) if fact]


def _build(params: BertScoreParams, runtime: EvaluationRuntime) -> BertScoreEvaluator:
    is_minilm = params.model == MINILM
    encoder = MiniLMTokens() if is_minilm else TokenEncoder(load(params.model, params.num_layers))
    table = TokenTable(encoder, cache_dir(), 1 if params.truncate else None)
    return BertScoreEvaluator(table, runtime, params.truncate)


SPEC = EvaluatorSpec(
    name="bertscore",
    version="5",
    summary="token-level similarity of contexts to gold evidence, and of answers to references (MiniLM)",
    params=BertScoreParams,
    measures=lambda params: tuple(_PLACES) if params.summaries else MEASURES,
    build=_build,
    weights=lambda params: weights_of(params.model),
    preflight=lambda params: need_packages(params.model),
)
