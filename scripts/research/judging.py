"""Scoring outside a run: the rows, the judge, and the loop over them.

Every call is saved in the folder of `opened`: an interrupted command resumes, and no call is repeated. Usage
counts saved calls as if they had been made.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.core.errors import DataError
from harness.core.records import Cost, Prediction, RunRecord, Score, Usage
from harness.evaluators.answer_normalisation import abstains, normalise
from harness.evaluators.run_scoring import Scorer, score_run
from harness.evaluators.score_preconditions import is_null
from harness.models.providers import resolve_embedder, resolve_generator
from harness.protocols import EvaluatorSpec, Params
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.store import RunDir, SampleRow

Answered = tuple[SampleRow, Prediction]
Change = Callable[[SampleRow, Prediction], Prediction]


class Judged(NamedTuple):
    """An evaluator's scores of some rows, and their cost."""

    scores: list[Score]
    """Every measure of each row, in the order of the rows."""
    usage: Usage
    """Usage of the judge."""
    replayed: int
    """Calls that were saved before."""


def judge_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `judge_of` and `opened`."""
    folder = Path("results", Path(parser.prog).stem)
    parser.add_argument("--folder", type=Path, default=folder, help=f"saves every call (default {folder})")
    parser.add_argument("--provider", default="local", help="provider of the judge (default local)")
    parser.add_argument("--model", help="model of the judge (default: the provider's)")
    parser.add_argument("--base-url", help="URL of the judge's server, if the provider has none")
    parser.add_argument(
        "--context-tokens", type=int, default=8192, help="context length of a local judge (default 8192)"
    )


def judge_of(asked: argparse.Namespace) -> JudgeConfig:
    """The judge of the command line, with defaults filled in."""
    options = {"context_tokens": asked.context_tokens} if asked.provider == "local" else {}
    return resolve_generator(
        JudgeConfig(provider=asked.provider, model=asked.model, base_url=asked.base_url, options=options)
    )


@contextmanager
def opened(judge: JudgeConfig, folder: Path) -> Iterator[EvaluationModels]:
    """The judge and the default embedder, started on first use; for one event loop only."""
    plan = EvaluationPlan((), judge, resolve_embedder(JudgeEmbedderConfig()), {})
    with ExitStack() as stack:
        yield EvaluationModels(plan, folder, Reporter(), stack)


def metered(models: EvaluationModels, tell: Callable[[int, int, str], None] | None = None) -> MeteredEvaluation:
    """The runtime of an evaluator; its meter begins at zero. `tell(done, total, doing)` reports progress."""
    runtime = MeteredEvaluation(models, tell or (lambda _done, _total, _doing: None))
    runtime.begin("check")
    return runtime


async def judged(
    rows: Sequence[Answered], spec: EvaluatorSpec, params: Params, models: EvaluationModels
) -> Judged:
    """All scores of these rows, with a progress bar. HarnessError: the evaluator lacks a requirement."""
    if spec.preflight:
        spec.preflight(params)
    places = {row.query.query_id: place for place, (row, _) in enumerate(rows)}
    records = {(name, 0): made_up(name, rows[place][1]) for name, place in places.items()}
    with Reporter().bar(spec.name) as bar:
        runtime = metered(models, bar.update)
        with closing(spec.build(params, runtime)) as evaluator:
            scorer = Scorer(spec.name, spec.measures(params), evaluator)
            scores = await score_run(scorer, [row for row, _ in rows], records)
    scores.sort(key=lambda score: places[score.query_id])
    return Judged(scores, runtime.meter.usage.get("judge", Usage()), runtime.meter.replayed_calls)


def answered_rows(path: Path, count: int, change: Change) -> list[Answered]:
    """The first rows of a run's sample, in order, that a judge can grade after `change`: no null query, no
    abstention, and at least one context with text. DataError: there are none.
    """
    run, found = RunDir(path), []
    records = run.records()
    for row in run.sample():
        record = records.get((row.query.query_id, 0))
        if record is None or record.prediction is None or is_null(row.reference):
            continue
        said = change(row, record.prediction)
        answer = said.answer or ""
        if normalise(answer) and not abstains(answer) and any(one.text.strip() for one in said.contexts):
            found.append((row, said))
    if not found:
        raise DataError(f"no row of {path} has an answer and contexts", "name the directory of a finished run")
    if len(found) < count:
        print(f"only {len(found)} rows have an answer and contexts")
    return found[:count]


def made_up(name: str, said: Prediction) -> RunRecord:
    """A record of no real run; `name` is the id of its query."""
    return RunRecord(
        query_id=name, repeat=0, status="ok", prediction=said, cost=Cost(wall_s=0), attempt=1, started_at=""
    )
