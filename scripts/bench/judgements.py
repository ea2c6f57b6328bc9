"""How much time do evaluators need beyond their judge calls, compared with the limit and with ragas.evaluate()?

100 answers with three contexts each, 64 judgements at once, a judge over HTTP that takes 50 ms for each call and
finds something in every text. In turn:

- `rag-harness evaluate` with the seven metrics of ragas, then with kg, triplet and rag_eval, as users call it:
  every call in the journal. Its seconds go from its first call to its saved scores, for each evaluator;
- `ragas.evaluate()` over the same answers with the same seven metrics, through LangChain's clients, without a
  journal, warmed up by one answer.

So neither includes the time to start and to load. The ideal is all calls, including embeddings, in 64 slots
without a gap; the table shows its share of the measured seconds. Calls are those that the server answered: a
judgement that several measures need is made once. CPU milliseconds are of scoring, without the server; for
`rag-harness evaluate` the time of the same command for one answer is subtracted.

Examples:
  .venv/bin/python scripts/bench/judgements.py
  .venv/bin/python scripts/bench/judgements.py --rows 20 --latency-s 0.2
"""

import argparse
import json
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benching import counted, ended, seconds, set_keys, spread
from common import command_line, machine, print_table
from model_server import served, serving

from harness.store import RunDir

_SEVEN = "the seven of ragas"
HEADER = ("what", "way", "scores", "calls", "seconds", "of the ideal", "processor ms a call")
Took = dict[str, Any]
"""wall_s, calls, scored and cpu_ms, of a call."""
Measured = Callable[[Path, str, argparse.Namespace], Took]
"""measured(folder of the answers, URL of the judge, options)."""


def main() -> None:
    asked = _arguments()
    print(f"{machine()}\n")
    found = [{"what": what, "way": way, "took": list[Took]()} for what, way, _ in WAYS]
    with TemporaryDirectory(prefix="bench-judging-") as made, serving(asked.latency_s, "judge") as url:
        # In turn, so that other load of the machine affects all ways.
        for repeat in range(asked.repeats):
            folder = Path(made, str(repeat))
            write_rows(folder / "all", asked.rows)
            write_rows(folder / "one", 1)
            for place, (_, _, measured) in enumerate(WAYS):
                found[place]["took"].append(measured(folder, url, asked))
    print_table(HEADER, (line(one["what"], one["way"], one["took"], asked) for one in found), words=2)


def by_ragas(folder: Path, url: str, asked: argparse.Namespace) -> Took:
    """Its evaluate(), in its own process."""
    words = [url, str(folder / "all" / "rows.jsonl"), "--at-once", str(asked.at_once)]
    said = ended([sys.executable, Path(__file__).with_name("ragas_evaluate.py"), *words]).printed
    took: Took = json.loads(said.splitlines()[-1])
    return {**took, "cpu_ms": 1000 * took["cpu_s"] / took["calls"]}


def by_the_harness(evaluators: Sequence[str], folder: Path, url: str, asked: argparse.Namespace) -> Took:
    """`rag-harness evaluate`, minus the CPU time of the same command for a single answer."""
    whole, one = (_evaluated(folder / name, url, evaluators, asked.at_once) for name in ("all", "one"))
    cpu_s, calls = (whole[name] - one[name] for name in ("cpu_s", "calls"))
    return {**whole, "cpu_ms": 1000 * max(0.0, cpu_s) / max(1, calls)}


def _evaluated(folder: Path, url: str, evaluators: Sequence[str], at_once: int) -> Took:
    """Imports and scores a run, with its own journal and cache."""
    results = folder / "-".join(evaluators)
    variables = {"RAG_HARNESS_CACHE": str(results / "cache")}
    command = [sys.executable, "-P", "-m", "harness.cli.main"]
    data = ["--docs", "docs", "--questions", "questions.jsonl", "--results", str(results)]
    ended([*command, "import", "answers.jsonl", "--name", "bench", "-e", "answer", *data], folder, variables)
    (path,) = (one.parent for one in results.glob("*/manifest.json"))
    settings: dict[str, object] = {"models.judge.max_concurrency": at_once}
    for role in ("judge", "judge_embedder"):
        server = {"provider": "openai-compatible", "base_url": url, "model": "fake"}
        settings |= {f"models.{role}.{key}": value for key, value in server.items()}
    words = ["evaluate", path, "-e", ",".join(evaluators), "--results", results, "-q", *set_keys(settings)]
    before = served(url)
    ended([*command, *words], folder, variables)
    calls, run = served(url) - before, RunDir(path)
    made = [one for one in run.evaluations() if one.evaluator in evaluators]
    measures = {name for one in made for name in one.measures}
    # Only scoring: the command also writes a report.
    cpu_s = sum(one.cost.cpu_s or 0.0 for one in made)
    scored = sum(one.value is not None for one in run.scores() if one.measure in measures)
    written = sorted((path / "scores" / f"{name}.jsonl").stat().st_mtime for name in evaluators)
    wall_s = _since_first_calls(results / "judge" / "calls.sqlite", written)
    return {"wall_s": wall_s, "cpu_s": cpu_s, "calls": calls, "scored": scored}


def _since_first_calls(journal: Path, written: Sequence[float]) -> float:
    """Seconds from the first call of each evaluator until its scores were `written`; evaluators run one by one."""
    with closing(sqlite3.connect(journal)) as db:
        rows = db.execute("SELECT started_at FROM calls WHERE role IN ('judge', 'judge_embedder')").fetchall()
    starts = sorted(datetime.fromisoformat(started_at).timestamp() for (started_at,) in rows)
    total = after = 0.0
    for end in written:
        if within := [start for start in starts if after < start < end]:
            total += end - within[0]
        after = end
    return total


WAYS: tuple[tuple[str, str, Measured], ...] = (
    (_SEVEN, "rag-harness evaluate", partial(by_the_harness, ("ragas",))),
    (_SEVEN, "ragas.evaluate()", by_ragas),
    ("kg, triplet, rag_eval", "rag-harness evaluate", partial(by_the_harness, ("kg", "triplet", "rag_eval"))),
)


def line(what: str, way: str, took: Sequence[Took], asked: argparse.Namespace) -> list[str]:
    """Medians, with minimum and maximum of seconds and milliseconds if there are several."""
    walls, cpus = ([one[name] for one in took] for name in ("wall_s", "cpu_ms"))
    calls = median(one["calls"] for one in took)
    ideal_s = calls * asked.latency_s / asked.at_once
    scored = f"{median(one['scored'] for one in took):,.0f}"
    return [what, way, scored, f"{calls:,.0f}", spread(walls), f"{ideal_s / median(walls):.0%}", spread(cpus)]


def write_rows(folder: Path, count: int) -> None:
    """Generated answers: documents, questions with reference answers, answers with three contexts."""
    (folder / "docs").mkdir(parents=True)
    questions, answers, rows = [], [], []
    for number in range(count):
        passages = [_passage(number, part) for part in range(3)]
        (folder / "docs" / f"bakery-{number:04d}.md").write_text("\n\n".join(passages) + "\n", encoding="utf-8")
        question = f"Who has run the bakery number {number} since when?"
        reference = f"Marta Lind has run the bakery number {number} since 1921."
        answer = f"The bakery number {number} is run by Marta Lind, who opened it at the harbour in 1921."
        questions.append({"question": question, "answers": [reference]})
        answers.append({"query": question, "answer": answer, "contexts": passages})
        rows.append({"question": question, "answer": answer, "contexts": passages, "reference": reference})
    for name, lines in {"questions": questions, "answers": answers, "rows": rows}.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def _passage(number: int, part: int) -> str:
    told = f"Part {part} of the story of bakery number {number}: Marta Lind opened it at the harbour in 1921. "
    return told + f"Anna Berg of Malmo sold her its oven {number}, for which Lind paid {part} crowns. " * 5


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=counted, default=100)
    parser.add_argument("--repeats", type=counted, default=1, help="repeats of each way; medians are shown")
    parser.add_argument("--latency-s", type=seconds, default=0.05, help="of each judge call (default 0.05)")
    parser.add_argument("--at-once", type=counted, default=64, help="judgements under way")
    return parser.parse_args()


if __name__ == "__main__":
    main()
