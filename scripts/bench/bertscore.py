"""How much faster is the bertscore evaluator than the bert-score package called for each system?

The contexts of four systems for the same queries are scored against the gold evidence in one process with the same
model (MiniLM), loaded before the clocks start. The package's BERTScorer.score is called once for each system, with
its defaults (64 texts a batch, torch's own number of threads), in three ways:

  windows     all contexts of a query as one text, cut between words so that each part fits the encoder: nothing is
              truncated, and the parts' precisions, weighted by tokens, give the precision of the query
  pairs       every context of a query separately: the package embeds a text once per call, so that passages which
              several queries of a system share cost nothing more; gives no score per query
  truncating  all contexts of a query as one text, which the package cuts off at 512 tokens: less work
  evaluator   every distinct text embedded once over all queries and systems

The contexts are retrieved here, by MiniLM over the MultiHop-RAG articles that the queries cite
(RAG_HARNESS_DATA names the data directory): 4 passages; 10 passages; the union of three searches; 4 passages and
12 triplets.

Examples:
  RAG_HARNESS_DATA=data .venv/bin/python scripts/bench/bertscore.py --queries 100
"""

from __future__ import annotations

import asyncio
import re
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from benching import command_line, import_from_tests, machine, started
from judging import made_up

from harness.core.records import Context, Prediction
from harness.evaluators.bertscore.encoder import TokenEncoder
from harness.evaluators.bertscore.evaluator import MEASURES, BertScoreEvaluator
from harness.evaluators.bertscore.loading import load, minilm_folder
from harness.evaluators.bertscore.matching import TokenTable
from harness.models.weights import cache_dir
from harness.protocols import DatasetRow, ScoringInput
from systems.common.chunking import ChunkParams, iter_chunks

SYSTEMS = ("4 passages", "10 passages", "three searches", "4 passages and triplets")
CONTEXT_MEASURES = tuple(measure for measure in MEASURES if "_answer_" not in measure.name)
Pair = tuple[str, str]
"""Candidate and reference, as the package expects them."""
Taken = tuple[float, float]
"""Wall seconds, and CPU seconds of all threads, which vary less on a busy machine."""


@dataclass(frozen=True)
class System:
    """A system's contexts for every query."""

    name: str
    cases: list[ScoringInput]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--queries", type=int, default=100, help="how many (default 100)")
    report(retrieved(parser.parse_args().queries))


# The contexts


def retrieved(queries: int) -> list[System]:
    """Four ways to retrieve over the articles that the queries cite; deterministic."""
    from harness.datasets import multihop_rag

    data = multihop_rag.load("default")
    rows = [row for row in data.rows if row.reference.evidence]
    rows = [rows[number * len(rows) // queries] for number in range(queries)]
    cited = {doc_id for row in rows for doc_id in row.doc_ids}
    chunks = [chunk.text for chunk in iter_chunks([d for d in data.documents if d.doc_id in cited], ChunkParams())]
    search = searcher(chunks)
    found = [ways_to_retrieve(row, search) for row in rows]
    return [
        System(name, [case(row, ways[name]) for row, ways in zip(rows, found, strict=True)]) for name in SYSTEMS
    ]


def searcher(chunks: Sequence[str]) -> Callable[[str, int], list[str]]:
    """search(text, k) -> the k nearest chunks."""
    from harness.models.providers.minilm import MiniLM

    model = MiniLM()
    print(f"retrieving among {len(chunks):,} passages", flush=True)
    vectors = asyncio.run(model.embed(chunks))

    def search(text: str, k: int) -> list[str]:
        (query,) = asyncio.run(model.embed([text]))
        return [chunks[place] for place in np.argsort(-(vectors @ query), kind="stable")[:k]]

    return search


def ways_to_retrieve(row: DatasetRow, search: Callable[[str, int], list[str]]) -> dict[str, list[Context]]:
    """The contexts of one query by system."""
    question = row.query.text
    ten, half = search(question, 10), len(question) // 2
    union = dict.fromkeys([*ten[:4], *search(question[:half], 4), *search(question[half:], 4)])
    names = dict.fromkeys(name for text in ten for name in re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+", text))
    triplets = [f"{first} - mentioned with - {second}" for first, second in pairwise(list(names)[:13])]
    four = passages(ten[:4])
    kg = [*four, *(Context(text=text, doc_ids=(), kind="triplet") for text in triplets)]
    return dict(zip(SYSTEMS, (four, passages(ten), passages(list(union)), kg), strict=True))


def passages(texts: Sequence[str]) -> list[Context]:
    return [Context(text=text, doc_ids=()) for text in texts]


def case(row: DatasetRow, contexts: Sequence[Context]) -> ScoringInput:
    record = made_up(row.query.query_id, Prediction(answer=None, contexts=tuple(contexts)))
    return ScoringInput(row.query, row.reference, record, CONTEXT_MEASURES)


# The ways to score


def report(systems: Sequence[System]) -> None:
    import_from_tests()
    from scoring import BareEvaluation

    encoder, scorer = TokenEncoder(load("minilm-torch", None)), package_scorer()
    distinct = {context.text for system in systems for one in system.cases for context in one.prediction.contexts}
    print(f"{len(systems[0].cases)} queries, {len(systems)} systems, {len(distinct):,} distinct contexts")
    # The first computation is slower.
    scorer.score(["warm"], ["up"])
    table = TokenTable(encoder, cache_dir())
    evaluator = BertScoreEvaluator(table, BareEvaluation())
    taken: dict[str, list[Taken]] = {"windows": [], "pairs": [], "truncating": [], "evaluator": []}
    # System by system, so that other load of the machine affects all ways.
    for system in systems:
        taken["windows"].append(timed("windows", system, scorer, in_windows(as_whole_texts(system), encoder)))
        taken["pairs"].append(timed("pairs", system, scorer, in_windows(as_pairs(system), encoder)))
        taken["truncating"].append(timed("truncating", system, scorer, as_whole_texts(system)))
        taken["evaluator"].append(timed_evaluator(system, evaluator, table))
    evaluator.close()
    wall, cpu = ({who: sum(one[clock] for one in parts) for who, parts in taken.items()} for clock in (0, 1))
    print(f"\n{machine()}")
    for who in taken:
        ratios = f"{wall[who] / wall['evaluator']:.2f} and {cpu[who] / cpu['evaluator']:.2f} times the evaluator's"
        print(f"{who:10} {wall[who]:8.1f} s wall {cpu[who]:8.1f} s CPU: {ratios}")


def package_scorer() -> Any:
    with warnings.catch_warnings(action="ignore"):
        from bert_score import BERTScorer
    return BERTScorer(model_type=str(minilm_folder()), num_layers=6, device="cpu")


def as_pairs(system: System) -> list[Pair]:
    return [(context.text, facts(one)) for one in system.cases for context in one.prediction.contexts]


def as_whole_texts(system: System) -> list[Pair]:
    joined = [("\n".join(context.text for context in one.prediction.contexts), one) for one in system.cases]
    return [(text, facts(one)) for text, one in joined if text.strip()]


def in_windows(pairs: Sequence[Pair], encoder: TokenEncoder) -> list[Pair]:
    return [(part, reference) for text, reference in pairs for part in fitting(text, encoder)]


def facts(case: ScoringInput) -> str:
    return "\n".join(dict.fromkeys(one.fact for one in case.reference.evidence))


def fitting(text: str, encoder: TokenEncoder) -> list[str]:
    """The text in parts of one window each, cut between words; empty for a text without tokens."""
    windows, words = encoder.split(text) if text.strip() else [], text.split(" ")
    if len(windows) < 2 or len(words) < 2:
        return [text] if windows else []
    half = len(words) // 2
    return [part for side in (words[:half], words[half:]) for part in fitting(" ".join(side), encoder)]


def timed(who: str, system: System, scorer: Any, pairs: Sequence[Pair]) -> Taken:
    candidates, references = map(list, zip(*pairs, strict=True))
    texts = len(set(candidates + references))
    return clocked(who, system, texts, lambda: scorer.score(candidates, references))


def timed_evaluator(system: System, evaluator: BertScoreEvaluator, table: TokenTable) -> Taken:
    contexts = [context.text for one in system.cases for context in one.prediction.contexts]
    evidence = [item.fact for one in system.cases for item in one.reference.evidence]
    texts = len(table.missing([*contexts, *evidence]))
    return clocked("evaluator", system, texts, lambda: asyncio.run(evaluator.evaluate(system.cases)))


def clocked(who: str, system: System, texts: int, work: Callable[[], object]) -> Taken:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    taken = time.perf_counter() - wall, time.process_time() - cpu
    seconds = f"{taken[0]:8.1f} s wall {taken[1]:8.1f} s CPU"
    print(f"{who:10} {system.name:24} {texts:6,} texts embedded {seconds}", flush=True)
    return taken


if __name__ == "__main__":
    started(main)
