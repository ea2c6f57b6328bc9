"""Finds the sentences that prove a statement: the graph leads to passages, of which the best sentences are chosen.
Or finds those that a model names.
"""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from harness.core.records import Context, Span
from harness.protocols import Runtime, Vectors
from systems.common.graph_index import GraphIndex
from systems.common.graph_stores.contract import StoredTriplet
from systems.common.question_entities import entities_named
from systems.common.sentences import own_text, sentence_spans
from systems.evidence.params import AnswerParams


@dataclass(frozen=True)
class LogicStep:
    """A statement on which an answer rests, and its vector."""

    text: str
    vector: Vectors


_MOST_ENTITIES = 300
"""Maximum entities that are expanded: an entity with thousands of relations would fetch the whole graph."""
_MOST_PASSAGES = 2_000
"""Passages of a neighbourhood that are considered."""


@dataclass(frozen=True)
class Walk:
    """The passages to which the graph leads from a step."""

    entities: Sequence[str]
    """The ids of the matched entities, nearest first."""
    reached: int
    """Number of passages that mention an entity of the neighbourhood or state one of its triplets."""
    passages: Sequence[Context]
    """Best first."""


async def walk(params: AnswerParams, runtime: Runtime, graph: GraphIndex, step: LogicStep) -> Walk:
    """Matches a step to entities by name and similarity, expands their neighbourhood, and returns the
    `step_chunks` passages of it nearest to the step.
    """
    with runtime.stage("graph"):
        matched = await _matched(params, graph, step)
        triplets, entities = await _neighbourhood(graph, matched, params.step_hops)
        mentions = await graph.store.mentions_of(list(entities)[:_MOST_ENTITIES])
        stating = chain.from_iterable(triplet.chunk_ids for triplet in triplets)
        reached = list(dict.fromkeys(chain(stating, *mentions.values())))[:_MOST_PASSAGES]
    with runtime.stage("retrieve"):
        near = await graph.store.nearest_chunks(step.vector, params.step_chunks, reached)
    return Walk(matched, len(reached), near)


async def _matched(params: AnswerParams, graph: GraphIndex, step: LogicStep) -> list[str]:
    """By name first, then by semantic search of the sentences that state triplets."""
    named = await entities_named(graph.store, step.text, (), params.entities_per_name)
    near = await asyncio.to_thread(graph.statements.entities_near, step.vector, params.step_entities)
    return list(dict.fromkeys([*(hit.entity_id for hit in named), *near]))[: params.step_entities]


async def _neighbourhood(
    graph: GraphIndex, matched: Sequence[str], hops: int
) -> tuple[list[StoredTriplet], Collection[str]]:
    """The distinct triplets between entities at most `hops` edges away, and these entities, nearest first."""
    found: dict[StoredTriplet, None] = {}
    entities, frontier = dict.fromkeys(matched), list(matched)
    for _ in range(hops):
        if not frontier:
            break
        near = await graph.store.triplets_of(frontier)
        found.update(dict.fromkeys(near))
        ends = dict.fromkeys(end for triplet in near for end in (triplet.head_id, triplet.tail_id))
        frontier = [end for end in ends if end not in entities][:_MOST_ENTITIES]
        entities.update(dict.fromkeys(frontier))
    return list(found), entities


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
