"""Chooses the sentences in some passages that prove a statement, or finds those that a model names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.core.records import Context, Span
from harness.protocols import Runtime, Vectors
from systems.common.sentences import own_text, sentence_spans
from systems.evidence.params import AnswerParams


@dataclass(frozen=True)
class LogicStep:
    """A statement on which an answer rests, and its vector."""

    text: str
    vector: Vectors


async def best_sentences(
    params: AnswerParams, runtime: Runtime, step: LogicStep, passages: Sequence[Context]
) -> list[Context]:
    """The evidence for a step in passages, which are in rank order: one sentence, or one for each passage.

    F(s) = (1 - w) * p(s entails the step) - w * len(s) / (length of the longest sentence of its passage), w =
    `length_weight` (GE-Chat, Da et al. 2025, with w = 0.5 and the absolute length: the relative length is ours).
    Its text is exactly `document.text[start:end]` of its span.
    """
    groups = [[passage] for passage in passages] if params.sentence_per == "chunk" else [passages]
    found = [await _best_sentence(params, runtime, step, group) for group in groups]
    return [one for one in found if one is not None]


async def _best_sentence(
    params: AnswerParams, runtime: Runtime, step: LogicStep, passages: Sequence[Context]
) -> Context | None:
    if params.pick == "chunk":
        return _whole(passages[0]) if passages else None
    sentences = [sentence for passage in passages for sentence in _sentences_of(passage)]
    if not sentences:
        return None
    near = await _nearest(runtime, step, sentences, params.step_sentences)
    if params.pick == "cosine":
        cosine, best = near[0]
        return best.as_context(cosine)
    with runtime.stage("entail"):
        shares = await runtime.entailment.shares([sentence.text for _, sentence in near], step.text)
    weight = params.length_weight
    lengths = [len(each.text) if params.length == "characters" else each.share_of_longest for _, each in near]
    worths = [(1 - weight) * share - weight * length for share, length in zip(shares, lengths, strict=True)]
    # The first of equal ones, which is the nearest to the step.
    worth, (_, best) = max(zip(worths, near, strict=True), key=lambda each: each[0])
    return best.as_context(worth)


def named_sentence(said: str, contexts: Sequence[Context]) -> Context:
    """A sentence that a model names as evidence, at its place in the first context that contains it, whatever the
    white space and case. Without a place, if none contains it: it may then be of any of their documents.
    """
    asked = re.compile(r"\s+".join(map(re.escape, said.split())), re.IGNORECASE)
    for passage in contexts:
        if (span := passage.span) and (found := asked.search(own_text(passage, span))):
            start, end = (span.start + place for place in found.span())
            place = Span(doc_id=span.doc_id, start=start, end=end)
            return Context(text=found[0], doc_ids=(span.doc_id,), kind="sentence", span=place)
    doc_ids = dict.fromkeys(doc_id for context in contexts for doc_id in context.doc_ids)
    return Context(text=said, doc_ids=tuple(doc_ids), kind="summary")


@dataclass(frozen=True)
class _Sentence:
    text: str
    span: Span
    share_of_longest: float

    def as_context(self, score: float) -> Context:
        return Context(
            text=self.text, doc_ids=(self.span.doc_id,), kind="sentence", score=float(score), span=self.span
        )


def _sentences_of(passage: Context) -> list[_Sentence]:
    if (span := passage.span) is None:
        return []
    text = own_text(passage, span)
    places = list(sentence_spans(text))
    longest = max((end - start for start, end in places), default=0)
    return [
        _Sentence(
            text[start:end],
            Span(doc_id=span.doc_id, start=span.start + start, end=span.start + end),
            (end - start) / longest,
        )
        for start, end in places
    ]


async def _nearest(
    runtime: Runtime, step: LogicStep, sentences: Sequence[_Sentence], k: int
) -> list[tuple[float, _Sentence]]:
    """The k distinct sentences with the largest cosine to the step, best first."""
    fresh = list({sentence.text: sentence for sentence in reversed(sentences)}.values())[::-1]
    with runtime.stage("embed_sentences"):
        vectors = await runtime.embedder.embed_documents([sentence.text for sentence in fresh])
    cosines = vectors @ step.vector
    return [(float(cosines[place]), fresh[place]) for place in np.argsort(-cosines, kind="stable")[:k]]


def _whole(passage: Context) -> Context | None:
    if (span := passage.span) is None:
        return None
    text = own_text(passage, span)
    return Context(text=text, doc_ids=(span.doc_id,), kind="passage", score=passage.score, span=span)
