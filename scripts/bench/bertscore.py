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
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import benching  # noqa: F401 - makes the next two importable
import numpy as np
from common import command_line, import_from_tests, machine, started
from judging import made_up

from harness.core.records import Context, Prediction
from harness.evaluators.bertscore.evaluator import MEASURES, BertScoreEvaluator
from harness.evaluators.bertscore.loading import TokenEncoder, load, minilm_folder
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
Cases = Sequence[ScoringInput]
"""A system's contexts for every query."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--queries", type=int, default=100, help="how many (default 100)")
    report(retrieved(parser.parse_args().queries))


# The contexts


def retrieved(queries: int) -> dict[str, Cases]:
    """Four ways to retrieve over the articles that the queries cite; deterministic."""
    from harness.datasets import multihop_rag

    data = multihop_rag.load("default")
    rows = [row for row in data.rows if row.reference.evidence]
    rows = [rows[number * len(rows) // queries] for number in range(queries)]
    cited = {doc_id for row in rows for doc_id in row.doc_ids}
    chunks = [chunk.text for chunk in iter_chunks([d for d in data.documents if d.doc_id in cited], ChunkParams())]
    search = searcher(chunks)
    found = [ways_to_retrieve(row, search) for row in rows]
    return {name: [case(row, ways[name]) for row, ways in zip(rows, found, strict=True)] for name in SYSTEMS}


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


def report(systems: Mapping[str, Cases]) -> None:
    import_from_tests()
    from scoring import BareEvaluation

    encoder, scorer = TokenEncoder(load("minilm-torch", None)), package_scorer()
    distinct = {text for cases in systems.values() for one in cases for text in texts_of(one)}
    print(
        f"{len(next(iter(systems.values())))} queries, {len(systems)} systems, {len(distinct):,} distinct contexts"
    )
    # The first computation is slower.
    scorer.score(["warm"], ["up"])
    table = TokenTable(encoder, cache_dir())
    evaluator = BertScoreEvaluator(table, BareEvaluation())
    taken: dict[str, list[Taken]] = {"windows": [], "pairs": [], "truncating": [], "evaluator": []}
    # System by system, so that other load of the machine affects all ways.
    for name, cases in systems.items():
        whole = [("\n".join(texts_of(one)), facts(one)) for one in cases]
        pairs = [(text, facts(one)) for one in cases for text in texts_of(one)]
        ways = {"windows": in_windows(whole, encoder), "pairs": in_windows(pairs, encoder), "truncating": whole}
        for who, given in ways.items():
            candidates, references = map(list, zip(*[pair for pair in given if pair[0].strip()], strict=True))
            work = partial(scorer.score, candidates, references)
            taken[who].append(clocked(who, name, len({*candidates, *references}), work))
        evidence = [item.fact for one in cases for item in one.reference.evidence]
        new = table.missing([*(text for one in cases for text in texts_of(one)), *evidence])
        work = partial(lambda cases: asyncio.run(evaluator.evaluate(cases)), cases)
        taken["evaluator"].append(clocked("evaluator", name, len(new), work))
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


def texts_of(case: ScoringInput) -> list[str]:
    return [context.text for context in case.prediction.contexts]


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


def clocked(who: str, system: str, texts: int, work: Callable[[], object]) -> Taken:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    taken = time.perf_counter() - wall, time.process_time() - cpu
    seconds = f"{taken[0]:8.1f} s wall {taken[1]:8.1f} s CPU"
    print(f"{who:10} {system:24} {texts:6,} texts embedded {seconds}", flush=True)
    return taken


if __name__ == "__main__":
    started(main)
