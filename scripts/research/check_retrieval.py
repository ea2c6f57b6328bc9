"""Which retrieval method finds more of the evidence in a prompt of the same size?

MultiHop-RAG's articles are divided by a seeded hash of their id. A query that cites only articles of one half
belongs to it, so the halves share no evidence; queries that cite both are left out. Choices are made on `--half
tuning` and reported on `--half reported`. naive and kg index the same articles, kg's graph by rules, and retrieve
without a language model through the harness's own systems; the `retrieval` evaluator scores the prompt: the facts
that are verbatim in its first N characters.

Each step of kg is compared with the row before it, naive's searches with the first. Passages precede triplets in
the prompt, so triplets have an effect only in the graph and at the larger sizes. Intervals are of the paired
difference, at 95 % and for other queries on these articles. In `p new`, the test for new documents, queries with
the same most cited article are flipped together.

--articles keeps the most cited articles of each half, and the queries that cite no other; --others adds random
articles with the seed. Both halves search the same corpus, so one index in --folder serves both.

Examples:
  export RAG_HARNESS_DATA=data
  .venv/bin/python scripts/research/check_retrieval.py --half tuning --articles 40 --others 40
  .venv/bin/python scripts/research/check_retrieval.py --half reported --articles 40 --others 40 --only reranked
"""

import argparse
import asyncio
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from common import command_line, machine, mean, print_table, started
from judging import made_up

from harness.config import EmbedderConfig
from harness.core.hashing import digest, short_digest
from harness.core.records import Document, Prediction
from harness.evaluators.gold_ranks import CHARACTERS, size_measure
from harness.evaluators.retrieval import RetrievalEvaluator, RetrievalParams, rules
from harness.models.embedders import build_embedder
from harness.models.embedding_cache import EmbeddingCache, embedder_cache_key
from harness.models.metering import Meter, metered
from harness.models.providers import resolve_embedder
from harness.models.transport import CallContext
from harness.models.weights import cache_dir
from harness.protocols import DatasetRow, ScoringInput, System
from harness.registry import DATASETS, SYSTEMS
from harness.runner.executing.system_runtime import WorkerRuntime
from harness.runner.progress import Reporter
from harness.statistics.paired_comparison import ComparedPair, PairedMeasure, compare_measure
from harness.statistics.query_values import QueryValues
from harness.statistics.sampling_design import SamplingDesign, clusters_of
from harness.store import Journal

HALVES = ("tuning", "reported")
SIZES = (1000, 2000, 4000, 6000, 8000)
_NLP = {"extractor": "nlp"}
_TOP_K = 8
"""Passages: enough for the largest size."""
_THESIS = {"names_by": "rules", "mentions": False, "rank": "words", "hops": 1}


@dataclass(frozen=True)
class Variant:
    """A system with parameters, and the variant that it is compared with."""

    name: str
    system: str
    answer: Mapping[str, Any]
    index: Mapping[str, Any] = field(default_factory=dict)
    against: str = ""


@dataclass(frozen=True)
class Scored:
    """The retrieval results of one variant."""

    characters: float
    """Median length of the retrieved context."""
    gold_triplets: float | None
    """Share of the retrieved triplets whose document is cited; None: no triplets."""
    recall: Mapping[int, Mapping[str, float]]
    """Size -> query id -> share of the facts within it."""

    def all_evidence(self, size: int) -> dict[str, float]:
        """1 for each query with all facts within the size, else 0."""
        return {query: float(value == 1.0) for query, value in self.recall[size].items()}


def variants(rerank: str | None) -> list[Variant]:
    """In the order of the table."""
    searches = ("dense", "bm25", "hybrid")
    found = [_naive(f"naive {search}", "naive dense", search=search) for search in searches]
    named, fused = {**_THESIS, "names_by": "graph"}, {**_THESIS, "names_by": "graph", "mentions": True}
    for search in ("dense", "hybrid"):
        rows = {"as in the thesis": _THESIS, "names by the graph": named, "+ mentions": fused}
        found += _kg_steps(f"kg {search}", {"search": search, "top_k": _TOP_K}, rows)
    said = {"rank": "meaning"}
    alone = {"triplets by words": named, "by meaning": named | said, "+ two hops": named | said | {"hops": 2}}
    found += _kg_steps("kg's graph alone", {"mode": "triplets", "max_triplets": 40}, alone)
    bare, worded = {**fused, "top_k": 4, "max_triplets": 20}, {**fused, **said, "top_k": 3, "max_triplets": 10}
    found += _kg_steps("kg", {}, {"4 passages, 20 by words": bare, "3 passages, 10 by meaning": worded})
    if rerank:
        reranked = {"search": "hybrid", "rerank": rerank, "fetch_k": 30}
        found.append(_naive("naive hybrid, reranked", "naive hybrid", **reranked))
    return found


def _naive(name: str, against: str, **answer: Any) -> Variant:
    return Variant(name, "naive", {"top_k": _TOP_K, **answer}, against=against)


def _kg_steps(name: str, shared: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> list[Variant]:
    """Each compared with the one before it."""
    names = [f"{name}, {row}" for row in rows]
    return [
        Variant(each, "kg", {**answer, **shared}, _NLP, against=before)
        for each, before, answer in zip(names, ["", *names], rows.values(), strict=False)
    ]


def main() -> None:
    asked = _arguments()
    whole = DATASETS.load("multihop_rag").load("default")
    halves = {half: most_cited(half_of(whole.rows, half, asked.seed), asked.articles) for half in HALVES}
    rows = halves[asked.half]
    cited = {doc_id for each in halves.values() for row in each for doc_id in row.doc_ids}
    documents = corpus_of(whole.documents, cited, asked.others, asked.seed)
    chosen = [each for each in variants(asked.rerank) if all(part in each.name for part in asked.only)]
    print(
        f"{asked.half} half, seed {asked.seed}: {len(rows)} queries over {len(documents)} articles; {machine()}\n"
    )
    found = asyncio.run(_scored(chosen, rows, documents, asked.folder))
    _print(chosen, found, rows, asked.size)


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--half", choices=HALVES, required=True)
    parser.add_argument("--articles", type=int, help="articles of each half (default: all)")
    parser.add_argument("--others", type=int, help="additional articles (default: all)")
    parser.add_argument(
        "--size", type=int, default=4000, choices=SIZES, help="characters of the prompt in comparisons"
    )
    parser.add_argument(
        "--only", nargs="*", default=[], help="only variants whose names contain all of these words"
    )
    parser.add_argument("--rerank", help="a cross-encoder for one more row: a folder, or a name on the hub")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("results", "check_retrieval"), help="keeps indexes")
    return parser.parse_args()


def half_of(rows: Sequence[DatasetRow], half: str, seed: int) -> list[DatasetRow]:
    """The rows whose cited articles are all in that half, in a seeded order."""
    wanted = {HALVES.index(half)}
    kept = [row for row in rows if {_number(doc_id, seed) % 2 for doc_id in row.doc_ids} == wanted]
    return sorted(kept, key=lambda row: _number(row.query.query_id, seed))


def most_cited(rows: Sequence[DatasetRow], count: int | None) -> list[DatasetRow]:
    """The rows that cite only the `count` most cited articles."""
    cited = Counter(doc_id for row in rows for doc_id in row.doc_ids)
    kept = {doc_id for doc_id, _ in cited.most_common(count)}
    return [row for row in rows if kept.issuperset(row.doc_ids)]


def corpus_of(documents: Sequence[Document], cited: set[str], others: int | None, seed: int) -> list[Document]:
    """The cited articles and so many others, in the order of the data set."""
    free = [each.doc_id for each in documents if each.doc_id not in cited]
    kept = {*cited, *sorted(free, key=lambda one: _number(one, seed))[:others]}
    return [each for each in documents if each.doc_id in kept]


def _number(name: str, seed: int) -> int:
    return int(digest([seed, name])[:12], 16)


async def _scored(
    chosen: Sequence[Variant], rows: Sequence[DatasetRow], documents: Sequence[Document], folder: Path
) -> dict[str, Scored]:
    corpus = short_digest([each.doc_id for each in documents])
    found: dict[str, Scored] = {}
    for each in chosen:
        place = folder / corpus / f"{each.system}-{short_digest(dict(each.index))}"
        if not (place / "done").exists():
            with _opened(each, place, "index") as system, metered(Meter("index")):
                await system.index(documents)
            (place / "done").touch()
        found[each.name] = await _score(rows, await _predictions(each, place, rows))
    return found


@contextmanager
def _opened(variant: Variant, place: Path, phase: str) -> Iterator[System]:
    """As in the worker, without a generator."""
    spec, config = SYSTEMS.load(variant.system), resolve_embedder(EmbedderConfig())
    index, answer = spec.index_params(**variant.index), spec.answer_params(**variant.answer)
    (place / "store").mkdir(parents=True, exist_ok=True)
    with (
        Reporter().bar(f"{variant.name}: {phase}") as bar,
        closing(Journal(place / "calls.sqlite")) as journal,
        closing(EmbeddingCache(cache_dir() / "embeddings.sqlite", embedder_cache_key(config))) as cache,
    ):
        tell = partial(bar.update, note="embedding")
        embedder, reranker = build_embedder(config, CallContext(journal), cache, tell), spec.reranker(answer)
        runtime = WorkerRuntime(place / "store", 0, None, embedder, tell=bar.update, reranks_with=reranker)
        with closing(spec.build(index, answer, runtime)) as system:
            yield system


async def _predictions(variant: Variant, place: Path, rows: Sequence[DatasetRow]) -> list[Prediction]:
    found = []
    with _opened(variant, place, "answer") as system:
        with metered(Meter("load")):
            await system.load()
        for row in rows:
            with metered(Meter(row.query.query_id)):
                found.append(await system.answer(row.query))
    return found


async def _score(rows: Sequence[DatasetRow], predictions: Sequence[Prediction]) -> Scored:
    params = RetrievalParams(sizes=SIZES)
    wanted = {size_measure("fact", "Recall", size).name: size for size in SIZES}
    measures = tuple(
        rule.measure for rule in rules(params) if rule.measure.name in wanted or rule.measure.name == CHARACTERS
    )
    cases = [
        ScoringInput(row.query, row.reference, made_up(row.query.query_id, said), measures)
        for row, said in zip(rows, predictions, strict=True)
    ]
    recall: dict[int, dict[str, float]] = {size: {} for size in SIZES}
    lengths = []
    for score in await RetrievalEvaluator(params, None).evaluate(cases):  # type: ignore[arg-type]
        if score.measure == CHARACTERS:
            lengths.append(score.value or 0.0)
        elif score.value is not None:
            recall[wanted[score.measure]][score.query_id] = score.value
    return Scored(statistics.median(lengths), _gold_triplets(rows, predictions), recall)


def _gold_triplets(rows: Sequence[DatasetRow], predictions: Sequence[Prediction]) -> float | None:
    shown = [
        bool(set(context.doc_ids) & set(row.doc_ids))
        for row, said in zip(rows, predictions, strict=True)
        for context in said.contexts
        if context.kind == "triplet"
    ]
    return statistics.fmean(shown) if shown else None


def _print(chosen: Sequence[Variant], found: Mapping[str, Scored], rows: Sequence[DatasetRow], size: int) -> None:
    sizes = [f"{name} {each:,}" for each in SIZES for name in ("recall", "all")]
    print_table(("variant", "characters", "gold triplets", *sizes), map(_row, found, found.values()))
    print(f"\nWithin {size:,} characters, each less what it is compared with:\n")
    drawn = SamplingDesign(clusters=clusters_of(row.reference for row in rows))
    differences = []
    for each in chosen:
        if each.against in found and each.against != each.name:
            own, other = found[each.name], found[each.against]
            recall = _difference(own.recall[size], other.recall[size], drawn)
            every = _difference(own.all_evidence(size), other.all_evidence(size), drawn)
            differences.append((each.name, each.against, *recall, *every))
    header = ("variant", "less", "recall", "95 %", "p", "p new", "all evidence", "95 %", "p", "p new")
    print_table(header, differences)


def _row(name: str, found: Scored) -> list[str]:
    triplets = "-" if found.gold_triplets is None else f"{found.gold_triplets:.3f}"
    both = [shares for size in SIZES for shares in (found.recall[size], found.all_evidence(size))]
    return [name, f"{found.characters:,.0f}", triplets, *(mean(list(shares.values())) for shares in both)]


def _difference(a: Mapping[str, float], b: Mapping[str, float], drawn: SamplingDesign) -> tuple[str, ...]:
    asked = frozenset(a)
    measure = PairedMeasure("recall", True, (QueryValues.of(a, asked), QueryValues.of(b, asked)), range=(0.0, 1.0))
    pair: ComparedPair = compare_measure(measure, {(0, 1): asked}, drawn).pairs[0]
    low, high = pair.interval
    p_new = pair.p if pair.p_clusters is None else pair.p_clusters
    return f"{pair.difference:+.3f}", f"[{low:+.3f}, {high:+.3f}]", f"{pair.p:.3f}", f"{p_new:.3f}"


if __name__ == "__main__":
    started(main)
