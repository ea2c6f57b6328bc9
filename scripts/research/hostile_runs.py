"""Can a run that should not lead be made to lead, or to change what is said of others?

Two honest systems answer a sample of a data set: made-up ones, right on a set share of the queries. Then come runs
that a benchmark has to withstand, each by itself and all together: one that refuses everything, one that always
says yes, one that answers from the wording of the question alone, one that times out on the slowest queries, one
that crashes on most of them and is quick on the rest, and one that is not finished. Everything goes through the
command line: `import`, `evaluate`, `report`. For each report the script prints the headline and checks that

- no hostile run has the first rank, unless it shares it;
- the difference between the honest two and its p are those without any hostile run, and so is the verdict: only
  Holm's correction, over more pairs, may have left less of it, which is said;
- the run that is not finished has no rank and is in no pair;
- no sentence calls a run that failed on more than 1 % of its queries the cheapest or the fastest.

The honest systems are made up: the numbers say nothing of any real one.

Examples:

  .venv/bin/python scripts/research/hostile_runs.py --folder hostile
  .venv/bin/python scripts/research/hostile_runs.py --per-type 10
"""

import csv
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from common import command_line, print_table, started

from harness.core.records import Query, Reference
from harness.datasets import load_dataset
from harness.datasets.sampling import Dataset, QuerySample
from harness.registry import DATASETS
from harness.store import RunDir, find_runs

Row = Mapping[str, object]
HONEST = {"honest-good": 0.85, "honest-fair": 0.55}
"""The share of queries that it gets right, nearly."""
FAILING = ("hostile-timeouts", "hostile-crashes")
UNFINISHED = "hostile-unfinished"
_SLOWEST = 0.3
"""The share of queries that time out: those whose answer would take the longest."""
_CRASHED = 0.6
"""The share of queries that crash."""
_REDRAWN = 0.1
"""The share of queries on which chance decides, not how hard they are."""
_DONE = 0.2
"""Of the run that is not finished."""
_ASKS_YES_NO = (
    "do ",
    "does ",
    "did ",
    "is ",
    "are ",
    "was ",
    "were ",
    "has ",
    "have ",
    "between ",
    "considering ",
)


@dataclass(frozen=True)
class Asked:
    """One query, and what an honest system would take to answer it."""

    query: Query
    reference: Reference
    hardness: float
    """Its place among all queries, from 0 to 1 in even steps: below any share lies just that share of them. The
    same for every system: a system gets right what lies below its share, and takes the longest over the
    hardest."""
    luck: float
    """Likewise, in an order of the system's own."""

    @property
    def right(self) -> str:
        """A reference answer."""
        return self.reference.answers[0] if self.reference.answers else "nothing"


def honest(share: float) -> Callable[[Asked], Row]:
    """Right where the query is easy enough for it."""

    def answer(asked: Asked) -> Row:
        place = asked.luck / _REDRAWN if asked.luck < _REDRAWN else asked.hardness
        return row(asked.right if place < share else "something else")

    return answer


def row(answer: str, seconds: float = 2.0, tokens: int = 2000) -> Row:
    """An answer as a file of another program has it."""
    return {"answer": answer, "latency_s": seconds, "input_tokens": tokens, "output_tokens": 10, "model_calls": 1}


def failed(kind: str) -> Row:
    """A query without an answer, which took next to nothing."""
    return {"error": kind, "latency_s": 0.01, "input_tokens": 1, "output_tokens": 0, "model_calls": 1}


def by_wording(asked: Asked) -> Row:
    """From the question alone."""
    text = asked.query.text.lower()
    return row("Yes" if text.startswith(_ASKS_YES_NO) or " or " in text else "Google", 0.1, 50)


def times_out(asked: Asked) -> Row:
    """Right wherever it answers in time; it does not on the slowest."""
    return failed("timeout") if asked.hardness > 1 - _SLOWEST else row(asked.right, 0.2, 100)


def crashes(asked: Asked) -> Row:
    """Cheap, quick and right on what it survives."""
    return failed("crash") if asked.luck < _CRASHED else row(asked.right, 0.1, 20)


HOSTILE: Mapping[str, Callable[[Asked], Row]] = {
    "hostile-abstains": lambda _: row("Insufficient information.", 0.05, 10),
    "hostile-yes": lambda _: row("Yes", 0.05, 10),
    "hostile-wording": by_wording,
    "hostile-timeouts": times_out,
    "hostile-crashes": crashes,
    UNFINISHED: lambda asked: row(asked.right, 0.05, 10),
}


def met(sample: Dataset, name: str) -> list[Asked]:
    """Every query, as the system of that name meets it."""
    hardness, luck = places(len(sample.queries), "hardness"), places(len(sample.queries), name)
    return [Asked(*one) for one in zip(sample.queries, sample.references, hardness, luck, strict=True)]


def places(n: int, seed: str) -> list[float]:
    """The middles of `n` even steps from 0 to 1, in an order that `seed` says."""
    middles = [(place + 0.5) / n for place in range(n)]
    random.Random(seed).shuffle(middles)  # noqa: S311 - no secret
    return middles


class Bench:
    """A folder of results that is filled by commands alone."""

    def __init__(self, folder: Path, dataset: str, subset: Dataset) -> None:
        self._folder, self._dataset, self._sample = folder, dataset, subset
        self.results = folder / "results"

    def call(self, *words: str) -> str:
        """What `rag-harness` prints; its complaint ends the script."""
        command = [sys.executable, "-P", "-m", "harness.cli.main", *words, "--results", str(self.results)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in {0, 3}:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def add(self, name: str, answer: Callable[[Asked], Row], like: str | None) -> str:
        """Import what a system answers; the run id."""
        path = self._folder / f"{name}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for one in met(self._sample, name):
                file.write(json.dumps({"query_id": one.query.query_id, **answer(one)}) + "\n")
        words = ["import", str(path), "--dataset", self._dataset, "--name", name]
        before = self._runs()
        self.call(*words, *(["--like", like] if like else []), "--evaluators", "answer")
        (run,) = self._runs() - before
        return run

    def cut(self, name: str) -> None:
        """Leave a run as one that was interrupted, with a part of its records."""
        run = RunDir(self.results / name)
        records = run.path / "records.jsonl"
        lines = records.read_text(encoding="utf-8").splitlines(keepends=True)
        records.write_text("".join(lines[: int(_DONE * len(lines))]), encoding="utf-8")
        (run.path / "done.json").unlink()

    def report(self, runs: Sequence[str], name: str) -> Path:
        """The folder of a report."""
        out = self._folder / "reports" / name
        self.call("report", *runs, "--out", str(out))
        return out

    def _runs(self) -> set[str]:
        return {run.run_id for run in find_runs(self.results, [])} if self.results.exists() else set()


@dataclass(frozen=True)
class Told:
    """What a report says."""

    headline: str
    sentences: tuple[str, ...]
    ranks: Mapping[str, str]
    """By the system's name."""
    verdict: str
    """Between the honest two."""
    uncorrected: tuple[str, str]
    """Their difference and its p before any correction."""
    n_pairs: int
    paired: frozenset[str]
    """The systems in any pair."""


def read(report: Path) -> Told:
    """A report as its files have it."""
    lines = (report / "summary.md").read_text(encoding="utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("### "))
    said = [line for line in lines[start + 1 :] if line and not line.startswith(("|", "#"))]
    board = table(report, "leaderboard")
    pairs = table(report, "pairs-accuracy")
    first, second = HONEST
    (own,) = [pair for pair in pairs if set(names_of(pair)) == {first, second}]
    a, b = names_of(own)
    verdict = own["result"].replace("A is", f"{a} is").replace("B is", f"{b} is")
    uncorrected = own["A - B [CI]"].split(" ")[0], own["p"]
    ranks = {one["system"].split(" (")[0]: one["rank"] for one in board}
    paired = frozenset(name for pair in pairs for name in names_of(pair))
    return Told(said[0], tuple(said), ranks, verdict, uncorrected, len(pairs), paired)


def names_of(pair: Mapping[str, str]) -> list[str]:
    """The two systems of a row of pairs."""
    return pair["A, B"].split(", ")


def table(report: Path, name: str) -> list[dict[str, str]]:
    """The rows of one of its tables."""
    with (report / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_weaker(told: Told, alone: Told) -> bool:
    """Whether a verdict says less of the same: of fewer documents, or nothing."""
    steps = [alone.verdict, alone.verdict.replace("also on new documents", "on these documents"), "tie"]
    return told.n_pairs > alone.n_pairs and told.verdict in steps[1:]


def corrected(told: Told, alone: Told) -> str:
    """What the correction over more pairs took from the verdict of the honest two; empty: nothing."""
    if told.verdict == alone.verdict or faults(told, alone):
        return ""
    return f"nothing; corrected over {told.n_pairs} pairs and not {alone.n_pairs}, '{told.verdict}'"


def faults(told: Told, alone: Told) -> list[str]:
    """What a hostile run achieved."""
    found = [
        f"{name} has rank 1 alone"
        for name, rank in told.ranks.items()
        if name.startswith("hostile") and rank == "1"
    ]
    if told.uncorrected != alone.uncorrected or (told.verdict != alone.verdict and not is_weaker(told, alone)):
        found.append(f"the verdict of the honest two was '{alone.verdict}' and is '{told.verdict}'")
    if UNFINISHED in told.paired or told.ranks.get(UNFINISHED, "") not in {"", "–"}:  # noqa: RUF001 - not known
        found.append("what is not finished is ranked or compared")
    for sentence in told.sentences:
        for name in FAILING:
            before, fewest, _ = sentence.partition(" the fewest ")
            cheap = (fewest and name in before) or f"times the tokens of {name}" in sentence
            if cheap:
                found.append(f"{name} is called cheap: {sentence}")
    return found


def main() -> None:
    """Make the runs, report them, and exit with 1 if any got through."""
    parser = command_line(__doc__)
    parser.add_argument(
        "--folder", type=Path, help="where the runs and reports are kept (default: a new one in /tmp)"
    )
    parser.add_argument("--dataset", default="multihop_rag")
    parser.add_argument("--per-type", type=int, default=50)
    options = parser.parse_args()
    folder = options.folder or Path(mkdtemp(prefix="hostile-"))
    shutil.rmtree(folder / "results", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    sample = load_dataset(DATASETS.load(options.dataset), sample=QuerySample(options.per_type, 42))
    bench = Bench(folder, options.dataset, sample)
    runs: dict[str, str] = {}
    for name, share in HONEST.items():
        runs[name] = bench.add(name, honest(share), next(iter(runs.values()), None))
    good = list(runs.values())
    for name, answer in HOSTILE.items():
        runs[name] = bench.add(name, answer, good[0])
    bench.cut(runs[UNFINISHED])
    bench.call("evaluate", *runs.values(), "--evaluators", "answer")
    alone = read(bench.report(good, "honest"))
    sets = {name: [*good, runs[name]] for name in HOSTILE} | {"all of them": list(runs.values())}
    rows, wrong = [("none", alone.headline, "-")], 0
    for name, chosen in sets.items():
        told = read(bench.report(chosen, name.replace(" ", "-")))
        found = faults(told, alone)
        wrong += len(found)
        rows.append((name, told.headline, "; ".join(found) or corrected(told, alone) or "nothing"))
    print_table(("beside the honest two", "headline", "what got through"), rows)
    print(f"\nruns and reports: {folder}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    started(main)
