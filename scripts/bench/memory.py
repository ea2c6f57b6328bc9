"""How much memory do the runner, evaluators and the report take, by the number of records?

The harness's own commands read generated runs of so many queries, each in a separate process, whose peak memory
(as counted by the operating system) is printed; the last column is the memory per additional record, from the two
largest sizes. Memory grows with data that is needed at once: a paired test needs a number for each query and
measure, and the page has the list of all queries.

- runner: a run that lacks its last 20 records is resumed (retrieval alone, fake vectors, three documents);
  `worker` is the process that answers, according to its records.
- evaluator: the run is scored again, by a measure without a model.
- report: two runs, five measures, the page with its explorer.
- comparison: the same two runs, paired.

Examples:
  .venv/bin/python scripts/bench/memory.py
  .venv/bin/python scripts/bench/memory.py --records 1000 10000 100000
  .venv/bin/python scripts/bench/memory.py --only report --records 1000 10000
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benching import HARNESS, ended, in_own_process, set_keys
from common import command_line, machine, print_table, started

from harness.core.errors import ConfigError
from harness.core.records import Context, Cost, Prediction, RunRecord, Usage
from harness.store import RunDir
from harness.store.record_lines import with_check

_LEFT = 20
"""Queries that a resumed run still has to answer."""
_CONTEXTS, _CHARS = 8, 1_000
_MEASURES = ("accuracy", "em", "contains", "token_f1", "false_abstention_rate")
Peaks = Mapping[str, float]
"""Part of the table -> bytes."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--records", nargs="+", type=int, default=[1000, 4000], help="sizes (default 1000 4000)")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS), help="what is measured")
    chosen = parser.parse_args()
    sizes = sorted(set(chosen.records))
    if len(sizes) < 2 or sizes[0] <= _LEFT:
        raise ConfigError("growth needs two sizes", f"--records with two numbers above {_LEFT}")
    print(f"{machine()}; {_CONTEXTS} contexts of {_CHARS:,} characters a record\n", flush=True)
    header = ("what", *(f"MB at {size:,}" for size in sizes), "bytes a record")
    print_table(header, (row for name in chosen.only for row in rows(PARTS[name], sizes)))


def rows(measure: Callable[[Path, int], Peaks], sizes: Sequence[int]) -> Iterator[Sequence[str]]:
    found: list[Peaks] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            found.append(measure(Path(folder), size))
    for name in found[0]:
        peaks = [one[name] for one in found]
        growth = (peaks[-1] - peaks[-2]) / (sizes[-1] - sizes[-2])
        yield (name, *(f"{peak / 1e6:,.0f}" for peak in peaks), f"{growth:,.0f}")


# What is measured


def runner(folder: Path, n: int) -> Peaks:
    """Resume a run."""
    (folder / "docs").mkdir()
    for name in ("a", "b", "c"):
        (folder / "docs" / f"{name}.txt").write_text(f"{_text(_random(name), 3_000)}\n")
    questions = folder / "questions.jsonl"
    lines = (json.dumps({"question": f"Which word is number {at}?"}) for at in range(n))
    questions.write_text("\n".join(lines) + "\n")
    asked = ["--docs", folder / "docs", "--questions", questions, "-s", "naive", "--results", folder / "results"]
    asked += set_keys({"models.generator.provider": "none", "models.embedder.provider": "fake"})
    planned = ended([HARNESS, "plan", *asked, "--json"]).printed
    run_id = json.loads(planned)["cells"][0]["run_id"]
    run = RunDir(folder / "results" / run_id)
    run.path.mkdir(parents=True)
    ids = [f"q-{at:04d}" for at in range(1, n + 1)]
    _write_records(run.path / "records.jsonl", run_id, ids[:-_LEFT])
    peak = _peak("run", *asked, "--records-only", "--quiet")
    worker = max(one.cost.peak_rss_bytes or 0 for one in run.iter_records())
    return {"runner": peak, "its worker": worker}


def evaluator(folder: Path, n: int) -> Peaks:
    """Score one measure again."""
    (run,) = _made(folder, n, ["naive"])
    return {"evaluator": _peak("evaluate", run, "-e", "answer", "--results", folder / "results", "--quiet")}


def report(folder: Path, n: int) -> Peaks:
    """Two runs."""
    runs = _made(folder, n, ["naive", "kg"])
    return {"report": _peak("report", *runs, "--out", folder / "report")}


def comparison(folder: Path, n: int) -> Peaks:
    """Two runs."""
    return {"comparison": _peak("compare", *_made(folder, n, ["naive", "kg"]))}


PARTS: Mapping[str, Callable[[Path, int], Peaks]] = {
    one.__name__: one for one in (runner, evaluator, report, comparison)
}


# Runs


def _write_records(path: Path, run_id: str, query_ids: Sequence[str]) -> None:
    rng = _random(0)
    cost = Cost(wall_s=1.0, usage={"generator": Usage(calls=1, input_tokens=900, output_tokens=9)})
    with path.open("wb") as file:
        for query_id in query_ids:
            contexts = tuple(Context(text=_text(rng, _CHARS), doc_ids=("a",)) for _ in range(_CONTEXTS))
            said = Prediction(answer="Yes", contexts=contexts)
            about: dict[str, Any] = {"query_id": query_id, "repeat": 0, "status": "ok", "attempt": 1}
            record = RunRecord(**about, prediction=said, cost=cost, started_at="2026-11-24T00:00:00+00:00")
            file.write(with_check(record, run_id))


def _random(seed: object) -> random.Random:
    return random.Random(str(seed))  # noqa: S311 - made-up texts, no secret


def _text(rng: random.Random, n_chars: int) -> str:
    return " ".join(f"{rng.getrandbits(24):06x}" for _ in range(n_chars // 7))


def _made(folder: Path, n: int, names: Sequence[str]) -> list[str]:
    return in_own_process(_make, folder / "results", n, names)


def _make(results: Path, n: int, names: Sequence[str]) -> list[str]:
    from harness.core.records import EvaluationRecord, Query, Reference, Score
    from harness.store import SCHEMA_VERSION, Done, Manifest, SampleRow

    rng = _random(1)
    ids = [f"q{at:06d}" for at in range(n)]
    sample = [
        SampleRow(
            query=Query(query_id=one, text=f"Is {one} so?"),
            reference=Reference(query_id=one, query_type=f"type {at % 4}", answers=("Yes",)),
        )
        for at, one in enumerate(ids)
    ]
    paths = []
    for name in names:
        dataset = {"name": "made up", "digest": "d" * 64, "n_queries": n}
        identity = {
            "dataset": dataset,
            "system": {"name": name, "version": "1", "index": {}, "answer": {}},
            "models": {"generator": {"provider": "openai", "model": "gpt-4o-mini"}},
            "repeats": 1,
        }
        about: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "identity": identity, "dataset": dataset}
        about |= {"index_id": "", "machine": {}, "packages": {}, "git_commit": "", "created_at": ""}
        run = RunDir.create(results, Manifest(run_id=f"made-up--{name}", config={}, **about), sample)
        _write_records(run.path / "records.jsonl", run.run_id, ids)
        scores = (
            Score(query_id=one, repeat=0, measure=measure, status="scored", value=float(rng.random() < 0.6))
            for one in ids
            for measure in _MEASURES
        )
        evaluation = EvaluationRecord(evaluator="answer", version="1", measures=_MEASURES, cost=Cost(wall_s=1.0))
        run.write_scores(evaluation, scores)
        run.mark_done(Done(n_expected=n, n_ok=n, n_error=0, finished_at=""))
        paths.append(str(run.path))
    return paths


def _peak(*command: object) -> float:
    return ended([HARNESS, *command]).peak_bytes


if __name__ == "__main__":
    started(main)
