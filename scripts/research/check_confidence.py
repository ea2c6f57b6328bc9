"""Does the confidence of RAG-Eval fall as expected, and do one call and five give the same grades?

The same contexts are graded three times: with their query and answer; with the query of another row (every row
gets one, by a seeded rotation); and with a generic answer. RAG-Eval published a confidence of 1.00 that falls to
.58-.68 and to .30-.38. `--answers reference` uses the reference answers instead of the run's own, as answers of a
good generator. Abstentions and null queries are left out.

If interrupted, the same command resumes; seconds are shown only if no call was replayed.

Examples:
  .venv/bin/python scripts/research/check_confidence.py results/RUN --rows 8
  .venv/bin/python scripts/research/check_confidence.py results/RUN --answers reference --calls one parallel
"""

import argparse
import asyncio
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Literal, get_args

from common import command_line, limits, mean, print_table, started
from judging import Answered, Change, Judged, answered_rows, judge_arguments, judge_of, judged, opened, tokens

from harness.config import JudgeConfig
from harness.core.records import Query
from harness.evaluators.rag_eval import SPEC, RagEvalParams
from harness.evaluators.rag_eval.confidence import Band, band_of
from harness.evaluators.rag_eval.criteria import METRICS
from harness.evaluators.rag_eval.grades import HIGHEST
from harness.evaluators.rag_eval.prompts import spoken
from harness.evaluators.score_preconditions import reference_answer
from harness.statistics.confidence_intervals import mean_interval
from harness.statistics.permutation_test import flip_test
from harness.store import SampleRow

GENERIC = "This is an interesting question with many aspects."
ANSWERS: dict[str, Change] = {
    "own": lambda _row, said: said,
    "reference": lambda row, said: said.model_copy(update={"answer": reference_answer(row.reference)}),
}
Calls = Literal["one", "parallel"]
BANDS: tuple[Band, ...] = get_args(Band)


@dataclass(frozen=True)
class Outcome:
    """One condition, graded in one way."""

    condition: str
    calls: Calls
    judged: Judged

    @cached_property
    def values(self) -> dict[tuple[str, str], float]:
        """Scores by query id and measure."""
        scores = self.judged.scores
        return {(one.query_id, one.measure): one.value for one in scores if one.value is not None}

    def of(self, name: str) -> list[float]:
        """Every value of a measure."""
        return [value for (_, measure), value in self.values.items() if measure == f"rag_eval_{name}"]


def main() -> None:
    """Grade every condition in every way, then print tables."""
    asked = _arguments()
    rows = answered_rows(asked.run, asked.rows, ANSWERS[asked.answers])
    if len(rows) < 2:
        raise SystemExit(f"{asked.run} has {len(rows)} rows to grade; two are needed to swap their queries")
    judge = judge_of(asked)
    outcomes = asyncio.run(_outcomes(rows, judge, asked))
    print(f"\n{len(rows)} rows of {asked.run.name}, {asked.answers} answers, judge {judge.model}\n")
    _print_outcomes(outcomes, len(rows))
    for calls in asked.calls:
        _print_falls([one for one in outcomes if one.calls == calls])
    if len(asked.calls) == len(get_args(Calls)):
        _print_agreement(outcomes)
    for one in outcomes:
        for reason in dict.fromkeys(one.judged.reasons):
            print(f"failed: {one.condition}, {one.calls}: {reason!r}")


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("run", type=Path, help="a run directory")
    parser.add_argument("--rows", type=int, default=8, help="how many (default 8)")
    parser.add_argument("--answers", choices=ANSWERS, default="own")
    parser.add_argument("--calls", nargs="+", choices=get_args(Calls), default=["one"])
    parser.add_argument("--seed", type=int, default=0, help="seed of the swapped queries")
    judge_arguments(parser)
    return parser.parse_args()


def conditions(rows: Sequence[Answered], seed: int) -> dict[str, list[Answered]]:
    """The rows unchanged, with swapped queries, and with a generic answer."""
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)  # noqa: S311 - no secret
    texts = {own: rows[other][0].query.text for own, other in zip(order, order[1:] + order[:1], strict=True)}
    return {
        "as is": list(rows),
        "queries swapped": [(_asking(row, texts[at]), said) for at, (row, said) in enumerate(rows)],
        "generic answer": [(row, said.model_copy(update={"answer": GENERIC})) for row, said in rows],
    }


async def _outcomes(rows: Sequence[Answered], judge: JudgeConfig, asked: argparse.Namespace) -> list[Outcome]:
    outcomes = []
    with opened(judge, asked.folder) as models:
        for calls, (condition, changed) in product(asked.calls, conditions(rows, asked.seed).items()):
            graded = await judged(changed, SPEC, RagEvalParams(calls=calls), models)
            outcomes.append(Outcome(condition, calls, graded))
            print(f"{condition}, {calls}: {len(outcomes[-1].of('confidence'))} of {len(rows)} scored", flush=True)
    return outcomes


def _asking(row: SampleRow, text: str) -> SampleRow:
    return row.model_copy(update={"query": Query(query_id=row.query.query_id, text=text)})


def _print_outcomes(outcomes: Sequence[Outcome], n_rows: int) -> None:
    columns = ["condition", "calls", "scored", *map(spoken, METRICS), "confidence", "bands"]
    print_table([*columns, "calls a row", "tokens a row", "s a row"], (_line(one, n_rows) for one in outcomes))
    print(f"\nbands: {', '.join(BANDS)}; in brackets 95 % intervals\n")


def _line(one: Outcome, n_rows: int) -> list[str]:
    confidences, usage = one.of("confidence"), one.judged.usage
    bands = [band_of(value) for value in confidences]
    return [
        one.condition,
        one.calls,
        f"{len(confidences)} of {n_rows}",
        *(mean(one.of(name)) for name in METRICS),
        mean(confidences) + limits(*mean_interval(confidences)),
        ", ".join(str(bands.count(name)) for name in BANDS),
        f"{usage.calls / n_rows:.1f}",
        f"{tokens(usage) / n_rows:,.0f}",
        "-" if one.judged.replayed else f"{one.judged.seconds / n_rows:.1f}",
    ]


def _print_falls(outcomes: Sequence[Outcome]) -> None:
    before, *changed = outcomes
    for after in changed:
        pairs = _paired(before, after, lambda measure: measure == "rag_eval_confidence")
        falls = [a - b for a, b in pairs]
        spread = limits(*flip_test(falls).interval)
        print(f"{after.condition} ({after.calls}): the confidence falls by {mean(falls)}{spread}")


def _print_agreement(outcomes: Sequence[Outcome]) -> None:
    """Agreement of one call with five, over every grade that both gave."""
    graded_measures = {f"rag_eval_{name}" for name in METRICS}
    by_calls = {(one.condition, one.calls): one for one in outcomes}
    pairs = [
        (round(HIGHEST * a), round(HIGHEST * b))
        for one in outcomes
        if one.calls == "one"
        for a, b in _paired(one, by_calls[(one.condition, "parallel")], graded_measures.__contains__)
    ]
    if not pairs:
        return
    gaps = [a - b for a, b in pairs]
    print(
        f"\none call against five, {len(pairs)} grades: {sum(gap == 0 for gap in gaps) / len(gaps):.0%} equal, "
        f"{sum(abs(gap) <= 1 for gap in gaps) / len(gaps):.0%} within 1, mean difference "
        f"{statistics.fmean(gaps):+.2f}, mean absolute difference {statistics.fmean(map(abs, gaps)):.2f}, "
        f"kappa with quadratic weights {_kappa(pairs)}"
    )


def _kappa(pairs: Sequence[tuple[int, int]]) -> str:
    """Cohen's kappa, weighted by squared differences: 1 all equal, 0 no better than chance."""
    by_chance = statistics.fmean((a - b) ** 2 for (a, _), (_, b) in product(pairs, pairs))
    return f"{1 - statistics.fmean((a - b) ** 2 for a, b in pairs) / by_chance:.2f}" if by_chance else "-"


def _paired(one: Outcome, other: Outcome, wanted: Callable[[str], bool]) -> list[tuple[float, float]]:
    shared = [key for key in one.values if key in other.values and wanted(key[1])]
    return [(one.values[key], other.values[key]) for key in shared]


if __name__ == "__main__":
    started(main)
