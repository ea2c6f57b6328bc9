#!/usr/bin/env python3
"""Does the confidence of RAG-Eval fall where it should, and do one call and five give the same grades?

    .venv/bin/python scripts/check_confidence.py RUN_DIR [--rows 8] [--answers reference] [--calls one parallel]

The same contexts are graded three times: with their query and answer; with the query of another row (every row
gets one, by a seeded rotation); and with an answer that says nothing. RAG-Eval published a confidence of 1.00 that
falls to .58-.68 and to .30-.38. `--answers reference` takes the reference answers in place of the run's own: what
a good generator would have said. Abstentions and null queries are left out.

Every call is kept in --folder: interrupted, the same command goes on; seconds are shown only where every call was
made now.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from harness.analysis.intervals import Interval, bootstrap_mean
from harness.analysis.paired import difference_interval
from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.evaluators.base import Scorer, score_run
from harness.evaluators.normalise import abstains, normalise
from harness.evaluators.rag_eval import SPEC, RagEvalParams
from harness.evaluators.rag_eval.confidence import band_of
from harness.evaluators.rag_eval.grades import HIGHEST
from harness.evaluators.rag_eval.prompts import METRICS, spoken
from harness.evaluators.sides import is_null, reference_answer
from harness.models.providers import resolve_embedder, resolve_generator
from harness.records import Prediction, Query, RunRecord, Usage
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.store import RunDir, SampleRow

GENERIC = "This is an interesting question with many aspects."
Calls = Literal["one", "parallel"]
Answered = tuple[SampleRow, RunRecord]
Values = dict[tuple[str, str], float]
"""By query id and measure, of what was scored."""


@dataclass(frozen=True)
class Outcome:
    """One condition, graded in one way."""

    condition: str
    calls: Calls
    values: Values
    usage: Usage
    seconds: float | None
    """None: some calls were there already."""
    reasons: list[str]
    """Why scores failed."""

    def of(self, name: str) -> list[float]:
        """Every value of a measure."""
        return [value for (_, measure), value in self.values.items() if measure == f"rag_eval_{name}"]


def main() -> None:
    """Grade every condition in every way, then print tables."""
    asked = _arguments()
    rows = gradable(RunDir(asked.run), asked.rows, asked.answers)
    if len(rows) < 2:
        raise SystemExit(f"{asked.run} has {len(rows)} rows to grade; two are needed to swap their queries")
    options = {"context_tokens": asked.context_tokens} if asked.provider == "local" else {}
    judge = resolve_generator(
        JudgeConfig(provider=asked.provider, model=asked.model, base_url=asked.base_url, options=options)
    )
    plan = EvaluationPlan((), judge, resolve_embedder(JudgeEmbedderConfig()), {})
    outcomes = asyncio.run(_outcomes(rows, plan, asked))
    print(f"\n{len(rows)} rows of {asked.run.name}, {asked.answers} answers, judge {judge.model}\n")
    _print_outcomes(outcomes, len(rows))
    for calls in asked.calls:
        _print_falls([one for one in outcomes if one.calls == calls])
    if len(asked.calls) == len(get_args(Calls)):
        _print_agreement(outcomes)
    for one in outcomes:
        for reason in dict.fromkeys(one.reasons):
            print(f"failed: {one.condition}, {one.calls}: {reason!r}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--answers", choices=("own", "reference"), default="own")
    parser.add_argument("--calls", nargs="+", choices=get_args(Calls), default=["one"])
    parser.add_argument("--seed", type=int, default=0, help="which query a row gets when they are swapped")
    parser.add_argument("--folder", type=Path, default=Path("results/check_confidence"), help="keeps every call")
    parser.add_argument("--provider", default="local")
    parser.add_argument("--model", default=None, help="default: the provider's judge")
    parser.add_argument("--base-url", default=None)
    parser.add_argument("--context-tokens", type=int, default=8192, help="of a local model")
    return parser.parse_args()


def gradable(run: RunDir, count: int, answers: str) -> list[Answered]:
    """The first rows of the sample with an answer and contexts, in its order."""
    records, found = run.records(), []
    for row in run.sample():
        record = records.get((row.query.query_id, 0))
        if record is None or record.prediction is None or is_null(row.reference):
            continue
        answer = reference_answer(row.reference) if answers == "reference" else record.prediction.answer or ""
        if (
            normalise(answer)
            and not abstains(answer)
            and any(one.text.strip() for one in record.prediction.contexts)
        ):
            found.append((row, _answering(record, answer)))
    if len(found) < count:
        print(f"only {len(found)} rows have an answer and contexts")
    return found[:count]


def conditions(rows: Sequence[Answered], seed: int) -> dict[str, list[Answered]]:
    """The rows as they are, with each other's queries, and with an answer that fits any query."""
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)  # noqa: S311 - no secret
    texts = {own: rows[other][0].query.text for own, other in zip(order, order[1:] + order[:1], strict=True)}
    return {
        "as is": list(rows),
        "queries swapped": [(_asking(row, texts[at]), record) for at, (row, record) in enumerate(rows)],
        "generic answer": [(row, _answering(record, GENERIC)) for row, record in rows],
    }


async def _outcomes(rows: Sequence[Answered], plan: EvaluationPlan, asked: argparse.Namespace) -> list[Outcome]:
    outcomes = []
    with ExitStack() as stack:
        models = EvaluationModels(plan, asked.folder, Reporter(), stack)
        for calls, (condition, changed) in product(asked.calls, conditions(rows, asked.seed).items()):
            outcomes.append(await graded(changed, condition, calls, models))
            print(f"{condition}, {calls}: {len(outcomes[-1].of('confidence'))} of {len(rows)} scored", flush=True)
    return outcomes


async def graded(rows: Sequence[Answered], condition: str, calls: Calls, models: EvaluationModels) -> Outcome:
    """Every score of these rows, and what the judge was asked for them."""
    runtime = MeteredEvaluation(models, lambda _done, _total, _doing: None)
    runtime.begin("check")
    params = RagEvalParams(calls=calls)
    scorer = Scorer(SPEC.name, SPEC.measures(params), SPEC.build(params, runtime))
    records = {(row.query.query_id, 0): record for row, record in rows}
    start = time.monotonic()
    scores = await score_run(scorer, [row for row, _ in rows], records)
    seconds = time.monotonic() - start
    return Outcome(
        condition=condition,
        calls=calls,
        values={(one.query_id, one.measure): one.value for one in scores if one.value is not None},
        usage=runtime.meter.usage.get("judge", Usage()),
        seconds=None if runtime.meter.replayed_calls else seconds,
        reasons=[one.explanation for one in scores if one.status == "failed"],
    )


def _answering(record: RunRecord, answer: str) -> RunRecord:
    contexts = record.prediction.contexts if record.prediction else ()
    return record.model_copy(update={"prediction": Prediction(answer=answer, contexts=contexts)})


def _asking(row: SampleRow, text: str) -> SampleRow:
    return row.model_copy(update={"query": Query(query_id=row.query.query_id, text=text)})


def _print_outcomes(outcomes: Sequence[Outcome], n_rows: int) -> None:
    columns = ["condition", "calls", "scored", *map(spoken, METRICS), "confidence", "bands"]
    _print_row([*columns, "calls a row", "tokens a row", "s a row"])
    _print_row(["--"] * (len(columns) + 3))
    for one in outcomes:
        confidences, tokens = one.of("confidence"), one.usage.input_tokens + one.usage.output_tokens
        cells = [one.condition, one.calls, f"{len(confidences)} of {n_rows}"]
        cells += [_mean(one.of(name)) for name in METRICS]
        cells += [_mean(confidences) + _limits(bootstrap_mean(confidences)), _bands(confidences)]
        cells += [f"{one.usage.calls / n_rows:.1f}", f"{tokens / n_rows:,.0f}"]
        _print_row([*cells, "-" if one.seconds is None else f"{one.seconds / n_rows:.1f}"])
    print("\nbands: trustworthy, grounded but partial, misaligned; in brackets 95 % intervals\n")


def _print_falls(outcomes: Sequence[Outcome]) -> None:
    before, *changed = outcomes
    for after in changed:
        pairs = _paired(before, after, lambda measure: measure == "rag_eval_confidence")
        falls = [a - b for a, b in pairs]
        limits = _limits(difference_interval(np.asarray(falls)))
        print(f"{after.condition} ({after.calls}): the confidence falls by {_mean(falls)}{limits}")


def _print_agreement(outcomes: Sequence[Outcome]) -> None:
    """Of one call with five, over every grade that both gave."""
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
    """Cohen's, weighted by squared differences: 1 all equal, 0 no better than chance."""
    by_chance = statistics.fmean((a - b) ** 2 for (a, _), (_, b) in product(pairs, pairs))
    return f"{1 - statistics.fmean((a - b) ** 2 for a, b in pairs) / by_chance:.2f}" if by_chance else "-"


def _paired(one: Outcome, other: Outcome, wanted: Callable[[str], bool]) -> list[tuple[float, float]]:
    shared = [key for key in one.values if key in other.values and wanted(key[1])]
    return [(one.values[key], other.values[key]) for key in shared]


def _bands(confidences: Sequence[float]) -> str:
    bands = [band_of(value) for value in confidences]
    return ", ".join(str(bands.count(name)) for name in ("trustworthy", "grounded but partial", "misaligned"))


def _mean(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):.3f}" if values else "-"


def _limits(interval: Interval) -> str:
    return "" if interval.low is None or interval.high is None else f" [{interval.low:.3f}, {interval.high:.3f}]"


def _print_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
