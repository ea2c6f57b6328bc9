"""Finished runs on disk as large as real ones: with real questions and articles if available, and generated
results.
"""

import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.records import Cost, EvaluationRecord, Evidence, Query, Reference, RunRecord, Score
from harness.datasets.multihop_rag import SPEC
from harness.protocols import DatasetRow
from harness.store import SCHEMA_VERSION, Done, Manifest, RunDir, SampleRow

SYSTEMS = ("naive", "recursive", "kg", "community", "hybrid", "rerank", "hyde", "gold", "closed_book")
_CHUNKS = {"recursive": 900, "hybrid": 900}
_CHUNK = 1200
_RETRIEVAL = tuple(
    f"{statistic}@{depth}"
    for depth in (1, 4, 10)
    for statistic in ("Hit", "Recall", "AllHit", "MRR", "MAP", "nDCG")
)
_ANSWER = ("accuracy", "em", "contains", "token_f1", "hallucination_rate", "false_abstention_rate")
_GRADED = tuple(
    f"{family}_{name}"
    for family in ("kg", "triplet", "rag_eval", "ragas")
    for name in ("coverage", "coherence", "relevancy", "correctness", "faithfulness")
)
_EVALUATORS: Mapping[str, tuple[str, ...]] = {
    "answer": _ANSWER,
    "bertscore": ("bertscore_p", "bertscore_r", "bertscore_f1"),
    "graded": _GRADED,
    "retrieval": _RETRIEVAL,
}

Place = tuple[str, float]
"""A document and a relative position in it, from 0 to 1."""


@dataclass(frozen=True)
class Corpus:
    """The queries and their documents."""

    rows: Sequence[DatasetRow]
    documents: Mapping[str, str]


def make_runs(results: Path, names: Sequence[str], n_queries: int) -> list[RunDir]:
    """A run of each named system of `SYSTEMS` in `results`; of MultiHop-RAG if RAG_HARNESS_DATA is set."""
    corpus = _real(n_queries) if os.environ.get("RAG_HARNESS_DATA") else _made_up(n_queries)
    sample = [SampleRow(query=row.query, reference=row.reference) for row in corpus.rows]
    rankings = list(_rankings(corpus))
    return [_Maker(corpus, name).make(results, sample, rankings) for name in names]


def _real(n_queries: int) -> Corpus:
    data = SPEC.load("default")
    return Corpus(data.rows[:n_queries], {one.doc_id: one.text for one in data.documents})


def _made_up(n_queries: int) -> Corpus:
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghiklmnoprstuv", k=rng.randint(2, 9))) for _ in range(12_000)]
    text = " ".join(rng.choices(words, weights=[1 / (rank + 5) for rank in range(len(words))], k=900_000))
    documents = {f"https://news.example/{at}": text[at * 9000 : at * 9000 + 9000] for at in range(609)}
    rows = []
    for at in range(n_queries):
        cited = rng.sample(sorted(documents), 3)
        facts = tuple(Evidence(doc_id=doc, fact=documents[doc][2000:2150]) for doc in cited)
        query = Query(query_id=f"q{at:05d}", text=" ".join(rng.choices(words, k=35)) + "?")
        gold = Reference(query_id=query.query_id, query_type=f"type {at % 4}", answers=("Yes",), evidence=facts)
        rows.append(DatasetRow(query, gold, tuple(cited)))
    return Corpus(rows, documents)


def _rankings(corpus: Corpus) -> Iterator[list[Place]]:
    """Rankings of each query: its own documents, and some that many queries retrieve."""
    rng = random.Random(1)
    names = sorted(corpus.documents)
    weights = [1 / (rank + 30) for rank in range(len(names))]
    for row in corpus.rows:
        near = [name for name in row.doc_ids if name in corpus.documents] * 3
        others = rng.choices(names, weights, k=12)
        picked = [(name, rng.random()) for name in (*near, *others)]
        rng.shuffle(picked)
        yield picked


class _Maker:
    """Makes the run of one system."""

    def __init__(self, corpus: Corpus, name: str) -> None:
        self._corpus = corpus
        self._name = name
        self._rng = random.Random(name)

    def make(self, results: Path, sample: Sequence[SampleRow], rankings: Sequence[list[Place]]) -> RunDir:
        run = RunDir.create(results, _manifest(self._name), sample)
        run.append_records(
            RunRecord.model_validate_json(json.dumps(self._record(row, ranking)))
            for row, ranking in zip(self._corpus.rows, rankings, strict=True)
        )
        scores = [Score.model_validate(one) for row in self._corpus.rows for one in self._scores(row)]
        for evaluator, measures in _EVALUATORS.items():
            evaluation = EvaluationRecord(
                evaluator=evaluator, version="1", measures=measures, binary=_ANSWER[:3], cost=Cost(wall_s=1.0)
            )
            run.write_scores(evaluation, (one for one in scores if one.measure in measures))
        run.mark_done(Done(n_expected=len(sample), n_ok=len(sample), n_error=0, finished_at="2026-11-20"))
        return run

    def _record(self, row: DatasetRow, ranking: list[Place]) -> dict[str, Any]:
        rng = self._rng
        took = rng.uniform(0.5, 9)
        tokens = {"calls": 1, "input_tokens": rng.randint(900, 4000), "output_tokens": rng.randint(2, 60)}
        cost = {
            "wall_s": took,
            "throttled_s": took * 1e-5,
            "stages_s": {"embed_query": took * 0.01, "retrieve": took * 0.05, "generate": took * 0.9},
            "usage": {"generator": tokens},
        }
        key = {
            "query_id": row.query.query_id,
            "repeat": 0,
            "attempt": 1,
            "started_at": "2026-11-20T10:00:00+00:00",
        }
        if rng.random() < 0.01:
            failure = {"kind": "timeout", "message": "no answer within 600 s"}
            return {**key, "status": "timeout", "failure": failure, "cost": cost}
        answers = [row.reference.answers[0], "Insufficient information.", row.query.text[:60]]
        prediction = {
            "answer": rng.choices(answers, weights=[6, 2, 2])[0],
            "contexts": self._contexts(ranking),
            "trace": self._trace(row),
        }
        return {**key, "status": "ok", "prediction": prediction, "cost": cost}

    def _contexts(self, ranking: list[Place]) -> list[dict[str, Any]]:
        if self._name == "closed_book":
            return []
        # Rerankers return the same passages; other systems differ in a third of them.
        kept = [place for place in ranking if self._rng.random() < 2 / 3] or ranking
        found = [self._passage(*place) for place in kept[: 4 + len(self._name) % 7]]
        if self._name in {"kg", "community"}:
            found += [self._triplet(*place) for place in ranking[:6]]
        return found

    def _passage(self, doc: str, place: float) -> dict[str, Any]:
        text, size = self._corpus.documents[doc], _CHUNKS.get(self._name, _CHUNK)
        start = int(place * max(1, len(text) // size)) * size
        return {"text": text[start : start + size], "doc_ids": [doc], "score": self._rng.random()}

    def _triplet(self, doc: str, place: float) -> dict[str, Any]:
        words = self._corpus.documents[doc][int(place * 20) * 200 :].split()[:9] or ["nothing"]
        head, relation, tail = " ".join(words[:3]), "_".join(words[3:5]).upper(), " ".join(words[5:])
        text = f"({head})-[{relation}]->({tail})"
        return {"text": text, "doc_ids": [doc], "kind": "triplet", "triplets": [[head, relation, tail]]}

    def _trace(self, row: DatasetRow) -> list[dict[str, str]]:
        if self._name not in {"recursive", "kg", "community"}:
            return []
        words = row.query.text.split()
        self._rng.shuffle(words)
        return [{"name": f"round {at}", "content": " ".join(words[at : at + 14])} for at in (1, 2)]

    def _scores(self, row: DatasetRow) -> Iterator[dict[str, Any]]:
        """The scores of one query. They are consistent: a ranking has one first hit, and explanations of an answer
        belong to that answer.
        """
        rng, gold = self._rng, max(1, len(row.reference.evidence))
        first = rng.randint(1, 4)
        found = sorted(rng.randint(0, gold) for _ in range(3))
        within = dict(zip(("1", "4", "10"), found, strict=True))
        compared = f"'{row.query.text[:20].lower()}' against '{row.reference.answers[0].lower()}'"
        for measure in (name for names in _EVALUATORS.values() for name in names):
            key = {"query_id": row.query.query_id, "repeat": 0, "measure": measure, "status": "scored"}
            if measure in _RETRIEVAL and not row.reference.evidence:
                yield {**key, "status": "not_applicable", "explanation": "no gold evidence"}
            elif measure in _RETRIEVAL:
                n, depth = within[measure.rpartition("@")[2]], measure.rpartition("@")[2]
                why = f"{n} of {gold} gold documents in the first {depth}; first at {first}"
                yield {**key, "value": n / gold, "explanation": why}
            elif measure in _ANSWER:
                yield {**key, "value": float(rng.random() < 0.6), "explanation": compared}
            elif measure.startswith("triplet"):
                why = f"{found[0]} of {gold} stated; not: {' | '.join(rng.sample(row.query.text.split(), 3))}"
                yield {**key, "value": found[0] / gold, "explanation": why}
            elif measure in _GRADED:
                grade = rng.randint(0, 5)
                yield {**key, "value": grade / 5, "explanation": f"{grade} of 5"}
            else:
                yield {**key, "value": rng.random(), "explanation": ""}


def _manifest(name: str) -> Manifest:
    dataset = {"name": "multihop_rag", "subset": "default", "digest": "d" * 64}
    generator = {"provider": "openai", "model": "gpt-4o-mini"}
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=f"multihop_rag--{name}",
        identity={
            "dataset": dataset,
            "system": {"name": name, "version": "1", "index": {}, "answer": {}},
            "models": {"generator": generator, "embedder": {"provider": "minilm", "model": "minilm"}},
            "repeats": 1,
        },
        config={"evaluators": list(_EVALUATORS)},
        dataset={**dataset, "primary_measure": "accuracy"},
        index_id="",
        machine={},
        packages={},
        git_commit="c0ffee",
        created_at="2026-11-20T10:00:00+00:00",
    )
