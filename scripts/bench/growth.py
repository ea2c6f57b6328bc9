"""How do tokens, seconds, bytes and dollars of an index and its answers grow with documents and queries?

The first articles of MultiHop-RAG in one seeded order, so that each size contains the previous one, are indexed
and queried by the harness's own runner, each index built anew. For systems without a model, CPU seconds, bytes and
memory are measured, with MiniLM as their embedder. Systems with a model get the scripted fake: its replies are
meaningless, so only prompts are counted, not seconds or bytes, and dollars are those of the prompts alone.

Each row ends with the exponent of a power law through its points (least squares of logarithms), its 95 %
interval by Student's t, and the law's prediction for 1,000,000 documents, with the interval of a single
prediction: an extrapolation over more decades than were measured. Two points have no interval. Queries grow
at the smallest number of documents: the sums over the first of them. In corpora of a few articles, fixed costs
flatten the curve.

Examples:
  export RAG_HARNESS_DATA=data
  .venv/bin/python scripts/bench/growth.py
  .venv/bin/python scripts/bench/growth.py --documents 10 40 160 609 --queries 10 160 2556 --plot results/growth
  .venv/bin/python scripts/bench/growth.py --only kg community --documents 10 40 160 --keep /tmp/growth
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import benching  # noqa: F401 - makes `common` importable
from common import command_line, machine, started
from power_laws import Points, draw, tell

import harness.api as rag
from harness.core.errors import ConfigError
from harness.core.hashing import digest
from harness.core.records import IndexRecord, RunRecord, Usage
from harness.registry import DATASETS
from harness.statistics.prices import Price, load_prices

_RULES = {"index.extractor": "nlp"}


VARIANTS: dict[str, dict[str, Any]] = {
    "naive": {},
    "recursive": {},
    "kg, rules": _RULES,
    "community, rules": {**_RULES, "index.reports": "rules", "answer.mode": "local"},
    "naive, model": {},
    "recursive, model": {},
    "kg, model": {},
    "community, model": {},
}
"""Systems with their settings, by name."""


def _asks_model(variant: str) -> bool:
    return variant.endswith(", model")


def _same_index(variant: str) -> bool:
    """Whether it reuses the index of the variant before it."""
    return variant.startswith("recursive")


class Measured(NamedTuple):
    """One variant over one corpus."""

    index: IndexRecord
    answers: Sequence[RunRecord]


Take = Callable[[Measured], float | None]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--documents", nargs="+", type=int, default=[10, 40], help="sizes (default 10 40)")
    parser.add_argument("--queries", nargs="+", type=int, default=[5, 20], help="numbers (default 5 20)")
    parser.add_argument("--only", nargs="*", default=[], help="only variants whose names begin with such a word")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the runs there, and resume from them")
    parser.add_argument("--price", default="openai/gpt-4o-mini", help="of this model (default openai/gpt-4o-mini)")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write growth.svg, .png and points.json there")
    chosen = parser.parse_args()
    sizes, numbers = sorted(set(chosen.documents)), sorted(set(chosen.queries))
    price = _price(chosen.price)
    kept = [name for name in VARIANTS if not chosen.only or name.startswith(tuple(chosen.only))]
    if not kept:
        raise ConfigError("no variant is called that", f"one of: {', '.join(VARIANTS)}")
    print(f"{machine()}; processor seconds; prompts at the price of {chosen.price}\n", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        found = measured(kept, chosen.keep or Path(temporary), sizes, numbers)
    points = [*of_documents(found, sizes, numbers[0], price), *of_queries(found, sizes[0], numbers, price)]
    tell(points, sizes, numbers)
    if chosen.plot:
        chosen.plot.mkdir(parents=True, exist_ok=True)
        told = json.dumps([point._asdict() for point in points], indent=2)
        (chosen.plot / "points.json").write_text(f"{told}\n")
        print("\n" + str(draw(points, chosen.plot)))


# Measuring


def measured(
    variants: Sequence[str], folder: Path, sizes: Sequence[int], numbers: Sequence[int]
) -> dict[tuple[str, int], Measured]:
    """By variant and number of documents; all queries are asked at the smallest size, else the smallest number."""
    data = DATASETS.load("multihop_rag").load("default")
    articles = sorted(data.documents, key=lambda one: digest(["growth", one.doc_id]))
    if sizes[-1] > len(articles) or numbers[-1] > len(data.rows):
        what = f"MultiHop-RAG has {len(articles):,} articles and {len(data.rows):,} queries"
        raise ConfigError(what, "ask for fewer")
    found = {}
    for size in sizes:
        docs = folder / f"{size}"
        docs.mkdir(parents=True, exist_ok=True)
        (docs / "articles.jsonl").write_text("".join(_line(one.model_dump()) for one in articles[:size]))
        questions = folder / f"{size}.jsonl"
        asked = data.rows[: numbers[-1] if size == sizes[0] else numbers[0]]
        questions.write_text("".join(_line({"question": row.query.text}) for row in asked))
        for variant in variants:
            print(f"{variant}, {size:,} documents", file=sys.stderr, flush=True)
            found[variant, size] = _measure(variant, docs, questions)
    return found


def _measure(variant: str, docs: Path, questions: Path) -> Measured:
    generator, embedder, kind = ("fake", "fake", "model") if _asks_model(variant) else ("none", "minilm", "rules")
    models = {"models.generator.provider": generator, "models.embedder.provider": embedder}
    (run,) = rag.run(
        systems=[variant.partition(",")[0]],
        docs=docs,
        questions=questions,
        settings={**models, **VARIANTS[variant]},
        results=docs.with_name(f"{docs.name}-{kind}"),
        fresh_index=not _same_index(variant),
        records_only=True,
        quiet=True,
    )
    index = run.index()
    if index is None:
        raise ConfigError(f"{variant} wrote no index", f"look at {run.log_path}")
    return Measured(index, [one for one in run.iter_records() if one.status == "ok"])


def _line(row: Mapping[str, Any]) -> str:
    kept = {name: value for name, value in row.items() if isinstance(value, str)}
    return json.dumps({**kept, **row.get("metadata", {})}) + "\n"


def of_documents(
    found: Mapping[tuple[str, int], Measured], sizes: Sequence[int], n_asked: int, price: Price
) -> Iterator[Points]:
    for variant in dict.fromkeys(name for name, _ in found):
        for quantity, take in _quantities(variant, n_asked, price).items():
            taken = [(size, take(found[variant, size])) for size in sizes]
            known = [(size, value) for size, value in taken if value]
            if known:
                yield Points(variant, quantity, "documents", *map(tuple, zip(*known, strict=True)))


def of_queries(
    found: Mapping[tuple[str, int], Measured], size: int, numbers: Sequence[int], price: Price
) -> Iterator[Points]:
    """The sums over the first queries."""
    for (variant, own), one in found.items():
        takes = _of_an_answer(variant, price) if own == size else {}
        for quantity, take in takes.items():
            sums = list(accumulate(take(record) or 0.0 for record in one.answers))
            known = [(number, sums[number - 1]) for number in numbers if number <= len(sums) and sums[number - 1]]
            if known:
                yield Points(variant, quantity, "queries", *map(tuple, zip(*known, strict=True)))


def _quantities(name: str, n_asked: int, price: Price) -> dict[str, Take]:
    answers = {
        f"{quantity} a query": lambda one, take=take: _mean([take(record) for record in one.answers[:n_asked]])
        for quantity, take in _of_an_answer(name, price).items()
    }
    if _same_index(name):
        return answers
    if _asks_model(name):
        return {
            "index: prompt tokens": lambda one: float(_prompts(one.index.cost.usage).input_tokens),
            "index: $": lambda one: price.usd(_prompts(one.index.cost.usage)),
            **answers,
        }
    return {
        "index: s": lambda one: one.index.cost.cpu_s,
        "index: bytes": lambda one: float(one.index.bytes_on_disk),
        "index: peak memory, bytes": lambda one: one.index.cost.peak_rss_bytes,
        **answers,
    }


def _of_an_answer(name: str, price: Price) -> dict[str, Callable[[RunRecord], float | None]]:
    if _asks_model(name):
        return {
            "answers: prompt tokens": lambda one: float(_prompts(one.cost.usage).input_tokens),
            "answers: $": lambda one: price.usd(_prompts(one.cost.usage)),
        }
    return {
        "answers: s": lambda one: one.cost.cpu_s,
        "answers: bytes of records": lambda one: float(len(one.model_dump_json())),
    }


def _prompts(usage: Mapping[str, Usage]) -> Usage:
    """Prompt tokens of the generator."""
    return usage.get("generator", Usage()).model_copy(update={"output_tokens": 0, "cached_tokens": 0})


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _price(name: str) -> Price:
    provider, _, model = name.partition("/")
    found = load_prices().find(model, provider)
    if found is None:
        raise ConfigError(f"'{name}' has no price", "name an entry of configs/prices.yaml as provider/model")
    return found


if __name__ == "__main__":
    started(main)
