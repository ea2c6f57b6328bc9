"""The directory of one run."""

import shlex
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from pathlib import Path

from harness.core.bounded_files import open_to_append
from harness.core.errors import DISTRIBUTION, StoreError, explained_io
from harness.core.hashing import short_digest
from harness.core.records import Estimate, EvaluationRecord, IndexRecord, RaceRecord, RunRecord, Score
from harness.store import atomic_files, checksums, lock, untrusted_file_reader
from harness.store.checksums import FileChecksum, StatCache
from harness.store.compressed_memory import CompressedByKey
from harness.store.manifest import SCHEMA_VERSION, Done, Manifest, SampleRow, rows_by_id
from harness.store.model_dialects import Dialect, RunDialects
from harness.store.record_lines import AttemptStatus, RecordKey, RecordLines, latest_records, latest_statuses
from harness.store.run_files import EXTENSION_FILES, SCORES, RunFile
from harness.store.run_state import ClusterInfo, CompletionMarker, NameAndTags, PartialRun, R, StateFile
from harness.store.score_files import (
    ScoreLines,
    ScoreWriter,
    read_evaluations,
    refuse_link,
    score_key,
    score_lines,
)

_Header = tuple[Manifest, Mapping[str, FileChecksum]]
_NEW_MANIFEST = f"restore it, or delete it and {atomic_files.RUN_AGAIN}"
_NEW_INDEX = "delete it and run the same command again: it is copied from the stored index"
_NEW_DIALECTS = "delete it and run the same command again: rejected parameters are learnt again"
_NEW_REACH = "run the same command again: it continues with all of its queries"
_NEW_CLUSTER = "delete it and run the same command again: the run then counts as answered on one machine"
_NEW_TAGS = "delete it: the run then has the name of its config, and no tags"


class RunDir:
    """Reads and writes one run directory. Every writing method survives kill -9 at any moment.

    Data read back match their checksums, or raise a one-line `StoreError` with a fix. The manifest has the
    checksum of the sample, done.json those of the records, and each evaluation that of its scores.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = path.name
        self.journal_path = path / RunFile.JOURNAL
        self.log_path = path / RunFile.LOG
        self._manifest_path = path / RunFile.MANIFEST
        self._sample_path = path / RunFile.SAMPLE
        self._index = StateFile(path / RunFile.INDEX, IndexRecord, _NEW_INDEX)
        self._lines = RecordLines(path / RunFile.RECORDS, lambda: self._manifest_run_id)
        self._resources_path = path / RunFile.RESOURCES
        self._estimate = StateFile(path / RunFile.ESTIMATE, Estimate, "delete it: the run goes on without it")
        self._scores_path = path / SCORES
        self._reach = StateFile(path / RunFile.REACH, PartialRun, _NEW_REACH)
        self._race = StateFile(path / RunFile.RACE, RaceRecord)
        self._dialects = StateFile(path / RunFile.DIALECTS, RunDialects, _NEW_DIALECTS)
        self._cluster = StateFile(path / RunFile.CLUSTER, ClusterInfo, _NEW_CLUSTER)
        self._tags = StateFile(path / RunFile.TAGS, NameAndTags, _NEW_TAGS)
        self._closing = CompletionMarker(path / RunFile.DONE)
        self._read_header = StatCache[_Header]()
        self._fitting_sample = StatCache[str]()

    @classmethod
    def create(
        cls,
        results: Path,
        manifest: Manifest,
        sample: Sequence[SampleRow],
        tell: Callable[[str], None] = lambda _: None,
    ) -> "RunDir":
        """Start a run, or open the existing one with the same id. A sample that does not match the manifest is
        written again and reported; all other existing files are kept.
        """
        run = cls(results / manifest.run_id)
        if run._manifest_path.exists():
            if run.manifest().identity != manifest.identity:
                raise StoreError(
                    f"{run.path} contains another run with the same id", "move it away or use another --results"
                )
            try:
                run._check_sample()
            except StoreError as error:
                atomic_files.write_jsonl(run._sample_path, sample)
                tell(f"{run.run_id}: {error.what}; the sample is written again")
            return run
        # The manifest is written last: if it exists, the sample is complete.
        atomic_files.write_jsonl(run._sample_path, sample)
        atomic_files.write_json(run._manifest_path, manifest, [run._sample_path])
        return run

    def manifest(self) -> Manifest:
        """The manifest, with the name that `rename` gave the run; StoreError for another schema version."""
        return self._header()[0]

    def _header(self) -> _Header:
        return self._read_header.get([self._manifest_path, self._tags.path], self._checked_header)

    def _checked_header(self) -> _Header:
        path = self._manifest_path
        if not path.exists():
            raise StoreError(f"{self.path} is not a run directory (no manifest.json)", "name a run id or path")
        tree = atomic_files.read_object(path, _NEW_MANIFEST)
        version = tree.get("schema_version")
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} has schema {version}, this version of {DISTRIBUTION} reads {SCHEMA_VERSION}",
                "read it with the version that wrote it, or run its config again in another results folder",
            )
        tree, closes = checksums.opened(path, tree, _NEW_MANIFEST)
        manifest = atomic_files.checked(path, tree, Manifest, _NEW_MANIFEST)
        if (name := self.name_and_tags().name) is not None:
            manifest = manifest.model_copy(update={"config": {**manifest.config, "name": name}})
        return manifest, closes

    @cached_property
    def _manifest_run_id(self) -> str:
        """The run id in the manifest, which stays the same if the directory is moved."""
        return self.manifest().run_id if self._manifest_path.exists() else self.run_id

    def exclusive(self, *, wait_s: float = 10.0) -> AbstractContextManager[int]:
        """Hold the writer's lock; yields a descriptor that keeps the lock in a child process that inherits it.

        StoreError if scores would be written elsewhere (a link), before they are paid for.
        """
        refuse_link(self._scores_path)
        return lock.exclusive(self.path / RunFile.LOCK, wait_s=wait_s)

    def sample(self) -> list[SampleRow]:
        """The sampled queries with references, in data-set order. For a run that was closed early, only the
        queries over which it is complete.
        """
        return list(self.iter_sample())

    def iter_sample(self) -> Iterator[SampleRow]:
        return self._rows(self._reached())

    def sample_by_id(self) -> CompressedByKey[str, SampleRow]:
        """The same by query id, compressed to a tenth of the size."""
        return rows_by_id(self.iter_sample())

    def sample_digest(self) -> str | None:
        """A digest that is equal for equal samples, to avoid reading both. None: the run was closed early."""
        return None if self._reached() is not None else self._check_sample()

    def _rows(self, reached: Collection[str] | None) -> Iterator[SampleRow]:
        """The rows of these queries; None: all."""
        self._check_sample()
        n_found = 0
        for row in atomic_files.iter_jsonl(self._sample_path, SampleRow):
            if reached is None or row.query.query_id in reached:
                n_found += 1
                yield row
        if n_found < len(reached or ()):
            raise StoreError(f"{self._reach.path} names queries that sample.jsonl lacks", atomic_files.RUN_AGAIN)

    def _check_sample(self) -> str:
        """The digest of sample.jsonl; StoreError if it does not match its checksum in the manifest."""

        def check() -> str:
            closes = self._header()[1]
            checksums.check_closed(self._sample_path, closes, RunFile.MANIFEST, atomic_files.RUN_AGAIN)
            return closes[self._sample_path.name].sha256

        return self._fitting_sample.get([self._manifest_path, self._sample_path], check)

    def remove_damaged(self) -> list[str]:
        """Remove damaged parts, so that they are made again, and return messages about them: damaged records, an
        unreadable index.json, a done.json that does not match. Only for the writer; intact data are kept.
        """
        said = []
        if self.cut_torn_line():
            said.append("removed an incomplete last record; its query is answered again")
        if damaged := self._lines.set_aside():
            said.append(
                f"moved {damaged:,} damaged records to records.damaged.jsonl; their queries are answered again"
            )
        try:
            self.index()
        except StoreError as error:
            said.append(f"{error.what}; it is written again")
            self._index.remove()
        try:
            if reach := self._reach.read():
                deque(self._rows(frozenset(reach.query_ids)), maxlen=0)
        except StoreError as error:
            said.append(f"{error.what}; the run is open again")
            self._reach.remove()
            self.reopen()
        try:
            self.done()
        except StoreError as error:
            said.append(f"{error.what}; the run is open again")
            self.reopen()
        return said

    def cut_torn_line(self) -> bool:
        """Cut an incomplete last line of the records; returns True if there was one."""
        return atomic_files.repair_tail(self._lines.path)

    def append_record(self, record: RunRecord) -> None:
        """Append one record; it is on disk when this returns."""
        self.append_records([record])

    def append_records(self, records: Iterable[RunRecord]) -> None:
        """Append records; they are on disk when this returns. A crash meanwhile leaves the first of them."""
        self._lines.append(records)

    def iter_records(self) -> Iterator[RunRecord]:
        """All records including earlier attempts, in the order written. For a run that was closed early, only
        those of the queries over which it is complete.
        """
        return (record for _, record in self.iter_placed_records())

    def iter_placed_records(self) -> Iterator[tuple[int, RunRecord]]:
        """The same with the offset of each record for `records_at`, if they do not fit into memory."""
        self.done()
        reached = self._reached()
        placed = self._lines.placed()
        return placed if reached is None else (one for one in placed if one[1].query_id in reached)

    def records_at(self, places: Sequence[int]) -> list[RunRecord]:
        """The records at these offsets, in this order."""
        return self._lines.at(places)

    def records(self) -> dict[RecordKey, RunRecord]:
        """The record with the highest attempt for each (query_id, repeat)."""
        return latest_records(self.iter_records())

    def first_records(self) -> dict[str, RunRecord]:
        """By query id those of the first repeat."""
        return {query_id: record for (query_id, repeat), record in self.records().items() if not repeat}

    def latest_attempts(self) -> dict[RecordKey, AttemptStatus]:
        """Attempt and status of those records, if their content is not needed or does not fit into memory."""
        return latest_statuses(self.iter_records())

    def intact_statuses(self) -> dict[RecordKey, AttemptStatus]:
        """The same for all intact lines, for resuming a run."""
        return latest_statuses(self._lines.whole())

    def records_since(self, start: int) -> tuple[list[RunRecord], int]:
        """Records from byte offset `start` of the file, and the next offset, for the writer of undamaged ones."""
        return self._lines.since(start)

    def write_index(self, index: IndexRecord) -> None:
        self._index.write(index)

    def index(self) -> IndexRecord | None:
        """index.json; None if the index is not built yet."""
        index = self._index.read()
        if index and self._manifest_path.exists() and index.index_id != self.manifest().index_id:
            raise StoreError(f"{self._index.path} belongs to another index than manifest.json says", _NEW_INDEX)
        return index

    def append_resources(self, header: str, line: str) -> None:
        """Append one sample to resources.csv, with the header if the file is new."""
        with explained_io("append to", self._resources_path), open_to_append(self._resources_path) as file:
            begun = "" if file.tell() else f"{header}\n"
            file.write(f"{begun}{line}\n".encode())

    def resources_path(self) -> Path | None:
        """resources.csv; None if nothing was sampled."""
        if not self._resources_path.exists():
            return None
        if self._closing.path.exists():
            self._closing.checked([self._resources_path], "delete it: the report then leaves out CPU and RAM")
        return self._resources_path

    def write_scores(self, evaluation: EvaluationRecord, scores: Iterable[Score]) -> None:
        """Write both files of an evaluator, sorted, so that equal scores give equal bytes."""
        with self.scores_to_write(evaluation.evaluator) as writer:
            writer.add(sorted(scores, key=score_key))
            writer.close(evaluation)

    def scores_to_write(self, evaluator: str) -> AbstractContextManager[ScoreWriter]:
        """The same for scores that arrive in parts."""
        return ScoreWriter(self._scores_path, evaluator)

    def evaluations(self) -> list[EvaluationRecord]:
        return read_evaluations(self._scores_path, self._evaluate_again)

    def scores(self) -> list[Score]:
        return [score for batch in self.score_lines().batches() for score in batch.scores]

    def score_lines(self) -> ScoreLines:
        """The same, if they do not fit into memory."""
        return score_lines(self._scores_path, self._evaluate_again)

    @property
    def _evaluate_again(self) -> str:
        return f"run `rag-harness evaluate {shlex.quote(str(self.path))}` again: paid judgements are replayed"

    def write_estimate(self, estimate: Estimate) -> None:
        """Save the estimate of the run, unless an earlier one exists."""
        if not self._estimate.path.exists():
            self._estimate.write(estimate)

    def estimate(self) -> Estimate | None:
        """The estimate made when the run started; None if there is none."""
        return self._estimate.read()

    def keep_dialect(self, role: str, dialect: Dialect) -> None:
        """Save how calls to the model of a role differ from the config, for the whole run."""
        kept = self.dialects()
        if kept.get(role) != dialect:
            self._dialects.write(RunDialects(roles={**kept, role: dialect}))

    def dialects(self) -> Mapping[str, Dialect]:
        """Differences from the config in how models were called, by role."""
        kept = self._dialects.read()
        return kept.roles if kept else {}

    def keep_cluster_info(self, n_workers: int) -> None:
        """Save on how many workers the run was answered, if they are more than before."""
        before = self.cluster_info()
        if before is None or before.n_workers < n_workers:
            self._cluster.write(ClusterInfo(n_workers=n_workers))

    def cluster_info(self) -> ClusterInfo | None:
        """None: the run was answered on one machine."""
        return self._cluster.read()

    def write_race(self, race: RaceRecord | None) -> None:
        """Save the result of a race; None: delete an earlier one."""
        self._race.write(race)

    def race(self) -> RaceRecord | None:
        """The result of the race in which the run was closed; None if there is none, or the run is open."""
        return self._race.read() if self._race.path.exists() and self.done() else None

    def extension_file(self, name: RunFile, kind: type[R], fix: str) -> StateFile[R]:
        """The file in which an extension keeps what it measured with this run; `fix` as in `StateFile`.

        ValueError if `name` is none of `EXTENSION_FILES`.
        """
        if name not in EXTENSION_FILES:
            raise ValueError(f"{name} is no file of an extension")
        return StateFile(self.path / name, kind, fix)

    def mark_done(self, done: Done, reached: Sequence[str] = (), why: str = "") -> None:
        """Write done.json, the completion marker, with the checksums of the other files.

        `reached`: the queries over which the run is closed, if not all, and `why`. Records of other queries are
        hidden until the run is closed over them.
        """
        earlier = self._reach.read()
        if earlier or reached:
            self._reach.write((earlier or PartialRun()).closed_again(tuple(reached), why))
        atomic_files.write_json(self._closing.path, done, (*self._closed, self._resources_path))

    def done(self) -> Done | None:
        """The completion marker; None if the run can be resumed. StoreError if it does not match other files."""
        return self._closing.read(self._closed)

    @property
    def _closed(self) -> tuple[Path, ...]:
        beside = (self._reach.path, self._race.path, self._dialects.path, self._cluster.path)
        return (self._manifest_path, self._index.path, self._lines.path, *beside)

    def records_checksum(self) -> str:
        """The checksum of records.jsonl of a closed run; empty if it is open."""
        if not self._closing.path.exists():
            return ""
        _, closes = atomic_files.read_closing(self._closing.path, Done)
        return closes[self._lines.path.name].sha256 if self._lines.path.name in closes else ""

    def fingerprint(self) -> str:
        """Changes with the records, settings and scores of a closed run; empty if it is open."""
        if not self.records_checksum():
            return ""
        evaluations = sorted(self._scores_path.glob("*.json"))
        fixes = {self.path / RunFile.DONE: atomic_files.RUN_AGAIN, self._tags.path: _NEW_TAGS}
        fixes |= dict.fromkeys(evaluations, self._evaluate_again)
        there = ((path, fix) for path, fix in fixes.items() if path.exists())
        return short_digest([untrusted_file_reader.text(path, fix) for path, fix in there])

    def reach(self) -> PartialRun | None:
        """Over which queries a closed run is complete; None if it is open or was never closed early."""
        return self._reach.read() if self._reach.path.exists() and self.done() else None

    def _reached(self) -> frozenset[str] | None:
        """The queries over which a closed run is complete; None: all."""
        reach = self.reach()
        return frozenset(reach.query_ids) if reach and reach.query_ids else None

    def is_closed(self) -> bool:
        """Whether the run is done and intact."""
        with suppress(StoreError):
            return self.done() is not None
        return False

    def reopen(self) -> None:
        """Make a finished run resumable again, to retry its failed queries."""
        with explained_io("reopen", self.path):
            self._closing.path.unlink(missing_ok=True)

    def rename(self, name: str) -> None:
        """Give the run a name, also if it is finished. Hold the lock."""
        if self.manifest().name != name:
            self.change_name_and_tags(name=name)

    def name_and_tags(self) -> NameAndTags:
        """StoreError if tags.json is damaged."""
        return self._tags.read() or NameAndTags()

    def change_name_and_tags(self, **changes: object) -> None:
        """Replace some of the fields. Hold the lock. A crash leaves the old or the new ones."""
        self._tags.write(self.name_and_tags().model_copy(update=changes))
