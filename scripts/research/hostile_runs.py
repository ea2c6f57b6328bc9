"""Can an adversarial run get the first rank, or change the results of others?

Two honest systems answer a sample of a data set; they are simulated and right on a fixed share of the queries.
Then adversarial runs are added, each alone and all together: one that always abstains, one that always says yes,
one that answers from the wording of the question alone, one that times out on the slowest queries, one that
crashes on most of them and is quick on the rest, and one that is not finished. Everything goes through the command
line: `import`, `evaluate`, `report`. For each report the script prints the headline and checks that

- no hostile run has the first rank, unless it shares it;
- the difference between the honest two and its p are as without any hostile run, and so is the verdict: only
  Holm's correction over more pairs may weaken it, which is reported;
- the unfinished run has no rank and is in no pair;
- no sentence calls a run that failed on more than 1 % of its queries the cheapest or the fastest.

The honest systems are simulated: the numbers say nothing about any real one.

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
"""Approximate share of queries that it answers correctly."""
FAILING = ("hostile-timeouts", "hostile-crashes")
UNFINISHED = "hostile-unfinished"
_SLOWEST = 0.3
"""Share of queries that time out: those whose answers would take the longest."""
_CRASHED = 0.6
"""Share of queries that crash."""
_REDRAWN = 0.1
"""Share of queries that chance decides instead of their difficulty."""
_DONE = 0.2
"""Share of queries that the unfinished run has answered."""
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
    """One query, and the time that an honest system needs to answer it."""

    query: Query
    reference: Reference
    hardness: float
    """Difficulty: its rank among all queries, from 0 to 1 in even steps, the same for every system. A system
    answers correctly below its share, and takes longest on the hardest queries.
    """
    luck: float
    """Likewise, in an order of the system's own."""

    @property
    def right(self) -> str:
        """A reference answer."""
        return self.reference.answers[0] if self.reference.answers else "nothing"


def honest(share: float) -> Callable[[Asked], Row]:
    """Right if the query is easy enough for the system."""

    def answer(asked: Asked) -> Row:
        place = asked.luck / _REDRAWN if asked.luck < _REDRAWN else asked.hardness
        return row(asked.right if place < share else "something else")

    return answer


def row(answer: str, seconds: float = 2.0, tokens: int = 2000) -> Row:
    """An answer in the format of an imported file."""
    return {"answer": answer, "latency_s": seconds, "input_tokens": tokens, "output_tokens": 10, "model_calls": 1}


def failed(kind: str) -> Row:
    """A failed query, at almost no cost."""
    return {"error": kind, "latency_s": 0.01, "input_tokens": 1, "output_tokens": 0, "model_calls": 1}


def by_wording(asked: Asked) -> Row:
    """From the question alone."""
    text = asked.query.text.lower()
    return row("Yes" if text.startswith(_ASKS_YES_NO) or " or " in text else "Google", 0.1, 50)


def times_out(asked: Asked) -> Row:
    """Right whenever it answers in time; times out on the slowest queries."""
    return failed("timeout") if asked.hardness > 1 - _SLOWEST else row(asked.right, 0.2, 100)


def crashes(asked: Asked) -> Row:
    """Cheap, quick and right on the queries that do not crash."""
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
    """Every query, with the random values of the system of that name."""
    hardness, luck = places(len(sample.queries), "hardness"), places(len(sample.queries), name)
    return [Asked(*one) for one in zip(sample.queries, sample.references, hardness, luck, strict=True)]


def places(n: int, seed: str) -> list[float]:
    """The midpoints of `n` even steps from 0 to 1, in an order seeded with `seed`."""
    middles = [(place + 0.5) / n for place in range(n)]
    random.Random(seed).shuffle(middles)  # noqa: S311 - no secret
    return middles


class Bench:
    """A folder of results that is filled only by commands."""

    def __init__(self, folder: Path, dataset: str, subset: Dataset) -> None:
        self._folder, self._dataset, self._sample = folder, dataset, subset
        self.results = folder / "results"

    def call(self, *words: str) -> str:
        """The output of `rag-harness`; an error ends the script."""
        command = [sys.executable, "-P", "-m", "harness.cli.main", *words, "--results", str(self.results)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in {0, 3}:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def add(self, name: str, answer: Callable[[Asked], Row], like: str | None) -> str:
        """Import a system's answers; returns the run id."""
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
        """Make a run look interrupted, with a part of its records."""
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
    """The findings of a report."""

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
    """A report, from its files."""
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
    """Whether a verdict claims less in the same direction: for fewer documents, or nothing."""
    steps = [alone.verdict, alone.verdict.replace("also on new documents", "on these documents"), "tie"]
    return told.n_pairs > alone.n_pairs and told.verdict in steps[1:]


def corrected(told: Told, alone: Told) -> str:
    """How the correction over more pairs weakened the verdict on the honest two; empty: not at all."""
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
    """Make the runs and their reports; exit with 1 if any hostile run succeeded."""
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
