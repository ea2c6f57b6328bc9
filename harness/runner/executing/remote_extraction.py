"""Extraction of triplets by rules on other machines, for a worker that builds an index."""

import time
from typing import BinaryIO

from harness.core.errors import ConfigError
from harness.extraction.nlp import NlpExtractor, pipeline_digest
from harness.extraction.remote_extraction import TextsRead, TextsToRead
from harness.models.metering import current_meter
from harness.models.remote_calls import RemoteCall, RemoteCallClient
from harness.runner.executing.messages import (
    ExtractionJob,
    ExtractionTurn,
    JobCompleted,
    JobWorker,
    NoMoreTurns,
    TextsExtracted,
    Turn,
)

RULES = "rules"
"""Used as a role, because extraction requests are relayed like model calls."""


class ExtractionWorker(JobWorker):
    """A worker that extracts triplets, turn by turn. It makes no model calls."""

    def __init__(self, job: ExtractionJob, events: BinaryIO) -> None:
        super().__init__(events, stays=job.stays)
        self._job = job
        self._extractors: dict[tuple[str, bool], NlpExtractor] = {}

    async def work(self) -> None:
        turn: Turn | NoMoreTurns = ExtractionTurn(texts=self._job.texts)
        while isinstance(turn, ExtractionTurn):
            self.send(TextsExtracted(found=await self._read(TextsToRead.model_validate_json(turn.texts))))
            turn = await self._next_turn()
        self.send(JobCompleted())

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
