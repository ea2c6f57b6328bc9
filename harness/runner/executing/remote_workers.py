"""Workers on other machines: one extracts triplets by rules, one scores answers and relays its model calls."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from harness.core.current_process import Stopwatch
from harness.core.errors import ConfigError
from harness.evaluators.run_answers import RunAnswers
from harness.evaluators.run_scoring import Scorer
from harness.extraction.nlp import NlpExtractor, pipeline_digest
from harness.extraction.remote_extraction import TextsRead, TextsToRead
from harness.models.metering import current_meter, metered_apart
from harness.models.remote_calls import RemoteCall, RemoteCallClient, RemoteCallContext
from harness.protocols import EvaluatorSpec
from harness.registry import EVALUATORS
from harness.runner.costs import cost_of
from harness.runner.evaluating.models import SCOPE, MeteredEvaluation, OpenedModels
from harness.runner.executing.messages import (
    AnswersScored,
    ExtractionTurn,
    JobWorker,
    ScoringJob,
    ScoringTurn,
    TextsExtracted,
)
from harness.store import RunDir

RULES = "rules"
"""Used as a role, because extraction requests are relayed like model calls."""


class ExtractionWorker(JobWorker):
    """A worker that extracts triplets, turn by turn. It makes no model calls."""

    def __init__(self, events: BinaryIO) -> None:
        super().__init__(events)
        self._extractors: dict[tuple[str, bool], NlpExtractor] = {}

    async def work(self) -> None:
        async for turn in self.turns(ExtractionTurn):
            self.send(TextsExtracted(found=await self._read(TextsToRead.model_validate_json(turn.texts))))

    async def _read(self, asked: TextsToRead) -> str:
        cpu = time.process_time()
        found = await self._extractor(asked).read(asked.texts)
        return TextsRead(found=tuple(found), cpu_s=time.process_time() - cpu).model_dump_json()

    def _extractor(self, asked: TextsToRead) -> NlpExtractor:
        """ConfigError if this machine has another version of the pipeline."""
        kind = asked.pipeline, asked.every_phrase
        if kind not in self._extractors:
            if pipeline_digest(asked.pipeline) != asked.digest:
                what = f"the spaCy pipeline {asked.pipeline} differs from the one where the index is built"
                raise ConfigError(what, "install the same version on every machine of the cluster")
            self._extractors[kind] = NlpExtractor(
                pipeline=asked.pipeline, progress=lambda _done, _total: None, every_phrase=asked.every_phrase
            )
        return self._extractors[kind]


class RelayedReaders:
    """Implements `harness.extraction.remote_extraction.Readers` through the process that started this worker."""

    def __init__(self, n: int, remote_calls: RemoteCallClient) -> None:
        self.n, self._remote_calls = n, remote_calls

    async def read(self, asked: TextsToRead) -> TextsRead | None:
        """The phrases of these texts; None if no machine is available. Their CPU time is charged to the index."""
        answer = await self._relayed_call(asked.model_dump_json().encode())
        read = TextsRead.model_validate_json(answer) if answer else None
        current_meter().cpu_elsewhere_s += read.cpu_s if read else 0.0
        return read

    async def leave(self) -> None:
        """End the remote workers with an empty request."""
        await self._relayed_call(b"")

    async def _relayed_call(self, body: bytes) -> bytes:
        with self._remote_calls.request(RemoteCall(number=0, role=RULES, body=body)) as (_, updates):
            while not (update := await updates.get()).is_last:
                continue
        return update.content


class ScoringWorker(JobWorker):
    """Scores answers with one evaluator, turn by turn."""

    def __init__(self, job: ScoringJob, events: BinaryIO) -> None:
        super().__init__(events)
        self._job = job
        self._answers: tuple[Path, RunAnswers] | None = None

    async def work(self) -> None:
        job, spec = self._job, _spec_of(self._job)
        params = spec.params.model_validate(job.params)
        with ExitStack() as stack:
            call_context = RemoteCallContext(self.remote_calls)
            models = OpenedModels(job.judge, job.embedder, stack, job.concurrency, lambda: call_context)
            runtime = _RelayedEvaluation(models, _ignore_progress, self.remote_calls)
            evaluator = stack.enter_context(closing(spec.build(params, runtime)))
            scorer = Scorer(spec.name, spec.measures(params), evaluator)
            async for turn in self.turns(ScoringTurn):
                await self._score(scorer, turn, runtime)
                if call_context.budget_error:
                    # Some evaluators catch this error and record failed scores. It is not a failure of the judge.
                    raise call_context.budget_error
            await models.disconnect()

    async def _score(self, scorer: Scorer, turn: ScoringTurn, runtime: "_RelayedEvaluation") -> None:
        run = Path(turn.of_run)
        answers = self._answers_of(run)
        runtime.begin(run.name)
        watch = Stopwatch()
        scores = await answers.scored_of(scorer, {todo.query_id for todo in turn.todo})
        cost = cost_of(runtime.meter, watch.wall_s, watch.cpu_s)
        self.send(AnswersScored(scores=tuple(scores), cost=cost, paid=runtime.meter.paid))

    def _answers_of(self, run: Path) -> RunAnswers:
        if self._answers is None or self._answers[0] != run:
            self._answers = run, RunAnswers(RunDir(run))
        return self._answers[1]


class _RelayedEvaluation(MeteredEvaluation):
    """A metered evaluation whose repeated calls within one judgement are counted by another process."""

    def __init__(
        self, models: OpenedModels, tell: Callable[[int, int, str], None], remote_calls: RemoteCallClient
    ) -> None:
        super().__init__(models, tell)
        self._remote_calls, self._blocks = remote_calls, itertools.count(1)

    @contextmanager
    def charge(self) -> Iterator[None]:
        block = next(self._blocks)
        try:
            with metered_apart(SCOPE, self.meter, block):
                yield
        finally:
            self._remote_calls.end_block(SCOPE, block)


def _ignore_progress(_done: int, _total: int, _doing: str) -> None:
    """Progress is counted by the process that distributes the answers."""


def _spec_of(job: ScoringJob) -> EvaluatorSpec:
    """ConfigError if this machine has another version of the evaluator."""
    spec = EVALUATORS.load(job.evaluator)
    if spec.version != job.version:
        what = f"evaluator '{spec.name}' has version {spec.version} on the worker, but {job.version} in the plan"
        raise ConfigError(what, "install the same version on every machine of the cluster")
    return spec
