"""Scoring outside a run: the rows, the judge, and the loop over them.

Every call is kept in the folder of `opened`: an interrupted command goes on where it was, and what was judged once
is not asked again. Usage counts such calls as if they had been made, seconds do not.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.core.errors import DataError
from harness.core.records import Cost, Prediction, RunRecord, Score, Usage
from harness.evaluators.answer_normalisation import abstains, normalise
from harness.evaluators.base import Scorer, score_run
from harness.evaluators.score_preconditions import is_null
from harness.models.providers import resolve_embedder, resolve_generator
from harness.protocols import EvaluatorSpec, Params
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.store import RunDir, SampleRow

Answered = tuple[SampleRow, Prediction]
Change = Callable[[SampleRow, Prediction], Prediction]


@dataclass(frozen=True)
class Judged:
    """What an evaluator gave for some rows, and what that took."""

    scores: list[Score]
    """Row by row in their order, every measure of each."""
    usage: Usage
    """The judge's."""
    seconds: float
    """Of scoring: the evaluator was built before, and its judge's server started."""
    replayed: int
    """Calls that were there already: the seconds are without theirs."""

    @property
    def reasons(self) -> list[str]:
        """Why scores failed."""
        return [score.explanation for score in self.scores if score.status == "failed"]


def judge_arguments(parser: argparse.ArgumentParser) -> None:
    """What `judge_of` and `opened` are told on the command line."""
    folder = Path("results", Path(parser.prog).stem)
    parser.add_argument("--folder", type=Path, default=folder, help=f"keeps every call (default {folder})")
    parser.add_argument("--provider", default="local", help="of the judge (default local)")
    parser.add_argument("--model", help="of the judge (default: the provider's)")
    parser.add_argument("--base-url", help="of the judge's server, where the provider has none")
    parser.add_argument("--context-tokens", type=int, default=8192, help="of a local judge (default 8192)")


def judge_of(asked: argparse.Namespace) -> JudgeConfig:
    """The judge that the command line names, with its defaults filled in."""
    options = {"context_tokens": asked.context_tokens} if asked.provider == "local" else {}
    return resolve_generator(
        JudgeConfig(provider=asked.provider, model=asked.model, base_url=asked.base_url, options=options)
    )


@contextmanager
def opened(judge: JudgeConfig, folder: Path) -> Iterator[EvaluationModels]:
    """The judge and the default embedder, started when first asked for; one event loop may use them."""
    plan = EvaluationPlan((), judge, resolve_embedder(JudgeEmbedderConfig()), {})
    with ExitStack() as stack:
        yield EvaluationModels(plan, folder, Reporter(), stack)


def metered(models: EvaluationModels, tell: Callable[[int, int, str], None] | None = None) -> MeteredEvaluation:
    """What an evaluator is built with; its meter begins at zero. `tell(done, total, doing)` hears of progress."""
    runtime = MeteredEvaluation(models, tell or (lambda _done, _total, _doing: None))
    runtime.begin("check")
    return runtime


async def judged(
    rows: Sequence[Answered], spec: EvaluatorSpec, params: Params, models: EvaluationModels
) -> Judged:
    """Every score of these rows, behind a progress bar; HarnessError where the evaluator lacks what it needs."""
    if spec.preflight:
        spec.preflight(params)
    places = {row.query.query_id: place for place, (row, _) in enumerate(rows)}
    records = {(name, 0): made_up(name, rows[place][1]) for name, place in places.items()}
    with Reporter().bar(spec.name) as bar:
        runtime = metered(models, bar.update)
        with closing(spec.build(params, runtime)) as evaluator:
            scorer, start = Scorer(spec.name, spec.measures(params), evaluator), time.monotonic()
            scores = await score_run(scorer, [row for row, _ in rows], records)
            seconds = time.monotonic() - start
    scores.sort(key=lambda score: places[score.query_id])
    usage, replayed = runtime.meter.usage.get("judge", Usage()), runtime.meter.replayed_calls
    return Judged(scores, usage, seconds, replayed)


def answered_rows(path: Path, count: int, change: Change) -> list[Answered]:
    """The first rows of a run's sample, in its order, that a judge can grade once `change`d: neither
    a null query nor an abstention, and some context says something. DataError where there is none.
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
    """A record of what no run said; `name` is the id of its query."""
    return RunRecord(
        query_id=name, repeat=0, status="ok", prediction=said, cost=Cost(wall_s=0), attempt=1, started_at=""
    )


def tokens(usage: Usage) -> int:
    """Read and written."""
    return usage.input_tokens + usage.output_tokens
