"""Checks of a plug-in's spec and of a prediction, without a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from pydantic import ValidationError

from harness.core.records import Context, Document, Prediction, Span
from harness.protocols import EvaluatorSpec, Params, SystemSpec


def check_presentation(
    spec: SystemSpec | EvaluatorSpec, registered: str, *, listed: str, why_version: str
) -> None:
    assert spec.name == registered, f"registered as '{registered}', its spec says '{spec.name}'"
    assert spec.version, f"{why_version}: name one"
    assert spec.summary.strip(), f"the summary is what `rag-harness list {listed}` shows: write one"
    assert "\n" not in spec.summary, f"the summary must be one line: {spec.summary!r}"


def check_params(params: type[Params]) -> None:
    assert issubclass(params, Params), f"{params.__name__} must be a harness.protocols.Params"
    defaults = params.model_validate({})
    written = params.model_validate(defaults.model_dump(mode="json"))
    assert written == defaults, "parameters written to a file and read again must be the same"
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        params.model_validate({"no such parameter": 1})


def check_prediction(prediction: Prediction, corpus: Sequence[Document]) -> None:
    """The sources of all contexts and evidence exist; contexts are in rank order."""
    assert isinstance(prediction, Prediction), (
        f"answer() must return a Prediction, not {type(prediction).__name__}"
    )
    documents = {document.doc_id: document for document in corpus}
    for context in prediction.contexts:
        _check_provenance(context, documents)
    for sentence in prediction.evidence:
        _check_provenance(sentence, documents)
        placed = sentence.span is not None or not sentence.is_own_text
        assert placed, f"evidence needs its span: {sentence.text[:80]!r}"
    for place in prediction.retrieved.spans if prediction.retrieved else ():
        _check_place(Span(doc_id=place[0], start=place[1], end=place[2]), documents)
    scores = [context.score for context in prediction.contexts]
    scored = [score for score in scores if score is not None]
    assert all(left >= right for left, right in pairwise(scored)), f"contexts are not in rank order: {scores}"


def _check_provenance(context: Context, documents: Mapping[str, Document]) -> None:
    assert context.text.strip(), "an empty context"
    assert context.doc_ids, f"a context without documents: {context.text[:80]!r}"
    assert len(set(context.doc_ids)) == len(context.doc_ids), f"repeated doc_ids: {context.doc_ids}"
    unknown = set(context.doc_ids) - documents.keys()
    assert not unknown, f"documents that are not in the corpus: {sorted(unknown)}"
    if context.span is not None:
        span = context.span
        assert span.doc_id in context.doc_ids, f"the span is in '{span.doc_id}', the context in {context.doc_ids}"
        _check_place(span, documents)
        text = documents[span.doc_id].text
        assert text[span.start : span.end] in context.text, (
            f"the document's text at {span} is not part of the context: {text[span.start : span.end][:80]!r}"
        )


def _check_place(span: Span, documents: Mapping[str, Document]) -> None:
    assert span.doc_id in documents, f"a span of '{span.doc_id}', which is not in the corpus"
    length = len(documents[span.doc_id].text)
    assert 0 <= span.start < span.end <= length, f"{span} is not within its {length} characters"
