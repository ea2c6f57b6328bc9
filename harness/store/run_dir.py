"""One run on disk."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from sys import intern

from harness.core.bounded_files import open_to_append
from harness.core.errors import DISTRIBUTION, StoreError, explained_io
from harness.core.records import Estimate, EvaluationRecord, IndexRecord, RaceRecord, RunRecord, Score
from harness.store import atomic_files, checksums, lock
from harness.store.attempts import Ending, RecordKey, counting, endings_of
from harness.store.checksums import FileSeal
from harness.store.cluster_info import SpreadFile
from harness.store.completion import Closing
from harness.store.compressed_records import PackedByKey
from harness.store.manifest import SCHEMA_VERSION, Done, Manifest, SampleRow
from harness.store.model_dialects import Dialect, SpokenDialects
from harness.store.partial_run import Reach, ReachFile
from harness.store.record_lines import RecordLines
from harness.store.score_files import read_evaluations, score_lines
from harness.store.score_lines import ScoreLines
from harness.store.score_writer import ScoreWriter, refuse_link, score_key
from harness.store.stat_cache import Remembered

_Header = tuple[Manifest, Mapping[str, FileSeal] | None]
_NEW_MANIFEST = (
    "restore it, or delete it and run the same command again, `rag-harness run` or `import`: it is written anew,"
    " and no answer is lost"
)
_NEW_DIALECTS = "delete it and run the same command again: what the model refuses is learnt again"
_NEW_INDEX = "delete it and run the same command again: it is copied from the stored index"


class RunDir:
    """Reads and writes one run directory. Every writing method survives kill -9 at any moment.

    What is read back fits what closed it (see `seals`) or is one `StoreError` line that says the way out: the
    manifest closes the sample, done.json the records, and what made scores closes the scores.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = path.name
        self.journal_path = path / "calls.sqlite"
        self.log_path = path / "worker.log"
        self._manifest_path = path / "manifest.json"
        self._sample_path = path / "sample.jsonl"
        self._index_path = path / "index.json"
        self._lines = RecordLines(path / "records.jsonl", lambda: self._told_id)
        self._resources_path = path / "resources.csv"
        self._estimate_path = path / "estimate.json"
        self._scores_path = path / "scores"
        self._reach = ReachFile(path / "reach.json")
        self._race_path = path / "race.json"
        self._dialects_path = path / "dialects.json"
        self.spread = SpreadFile(path / "spread.json")
        """Whether it was answered on several machines."""
        self._closing = Closing(path / "done.json")
        self._read_header = Remembered[_Header]()
        self._fitting_sample = Remembered[None]()

    @classmethod
    def create(
        cls,
        results: Path,
        manifest: Manifest,
        sample: Sequence[SampleRow],
        tell: Callable[[str], None] = lambda _: None,
    ) -> "RunDir":
        """Start a run, or open the one of the same id that is already there: its files stay as they are, but for a
        sample that is no longer what its manifest says, which is written again, and told in a line.
        """
        run = cls(results / manifest.run_id)
        if run._manifest_path.exists():
            if run.manifest().identity != manifest.identity:
                raise StoreError(
                    f"{run.path} holds another run with the same id", "move it away or use another --results"
                )
            if lost := run._lost(sample):
                atomic_files.write_jsonl(run._sample_path, sample)
                tell(f"{run.run_id}: {lost}; the sample is written again")
            return run
        # The manifest comes last: where it stands, the sample is complete.
        atomic_files.write_jsonl(run._sample_path, sample)
        atomic_files.write_json(run._manifest_path, manifest, [run._sample_path])
        return run

    def _lost(self, sample: Sequence[SampleRow]) -> str:
        """What is wrong with the sample that is kept; empty: nothing."""
        try:
            n_rows = sum(1 for _ in self._drawn())
            return "" if n_rows or not sample else f"{self._sample_path} is empty"
        except StoreError as error:
            return error.what

    def manifest(self) -> Manifest:
        """The header; another schema version is refused in one line."""
        return self._header()[0]

    def _header(self) -> _Header:
        return self._read_header.get([self._manifest_path], self._checked_header)

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
        return atomic_files.checked(path, tree, Manifest, _NEW_MANIFEST), closes

    @cached_property
    def _told_id(self) -> str:
        """Its id as its manifest has it, wherever the directory was moved."""
        return self.manifest().run_id if self._manifest_path.exists() else self.run_id

    def exclusive(self, *, wait_s: float = 10.0) -> AbstractContextManager[int]:
        """Be the only writer; yields a descriptor that keeps the lock in a child that inherits it.

        StoreError where scores would be written elsewhere, before they are paid for.
        """
        refuse_link(self._scores_path)
        return lock.exclusive(self.path / ".lock", wait_s=wait_s)

    def sample(self) -> list[SampleRow]:
        """The sampled queries with their references, in the data set's order; of a run that was closed early those
        that it is closed over.
        """
        return list(self.iter_sample())

    def iter_sample(self) -> Iterator[SampleRow]:
        """Likewise, one after the other."""
        reached = self._reached()
        return self._drawn() if reached is None else self._reached_rows(reached)

    def sample_by_id(self) -> PackedByKey[str, SampleRow]:
        """Likewise by query id: a tenth as large as the rows themselves."""
        return rows_by_id(self.iter_sample())

    def sample_digest(self) -> str | None:
        """The same for two runs whose samples are the same, which need not be read twice; None: not known, as of a
        run that was closed early.
        """
        _, closes = self._header()
        seal = None if closes is None or self._reached() is not None else closes.get(self._sample_path.name)
        if closes is None or seal is None:
            return None
        self._fitting_sample.get([self._manifest_path, self._sample_path], lambda: self._check_sample(closes))
        return seal.sha256

    def _reached_rows(self, reached: Collection[str]) -> Iterator[SampleRow]:
        n_found = 0
        for row in self._drawn():
            if row.query.query_id in reached:
                n_found += 1
                yield row
        if n_found < len(reached):
            raise StoreError(f"{self._reach.path} names queries that sample.jsonl lacks", atomic_files.RUN_AGAIN)

    def _drawn(self) -> Iterator[SampleRow]:
        manifest, closes = self._header()
        if closes is not None:
            self._fitting_sample.get([self._manifest_path, self._sample_path], lambda: self._check_sample(closes))
        n_found = 0
        for row in atomic_files.iter_jsonl(self._sample_path, SampleRow):
            n_found += 1
            yield row
        expected = manifest.dataset.get("n_queries")
        if closes is None and isinstance(expected, int) and n_found != expected:
            raise StoreError(
                f"{self._sample_path} holds {n_found:,} of {expected:,} queries", atomic_files.RUN_AGAIN
            )

    def _check_sample(self, closes: Mapping[str, FileSeal]) -> None:
        checksums.check_closed(self._sample_path, closes, "manifest.json", atomic_files.RUN_AGAIN)

    def mend(self) -> list[str]:
        """Take away what is damaged, so that it is made again, and say it: a torn or damaged record, an index.json
        that cannot be read, a done.json that does not fit. Only for the writer; nothing that is whole is lost.
        """
        said = []
        if self._lines.repair():
            said.append("cut a torn last record; its query is answered again")
        if damaged := self._lines.set_aside():
            said.append(
                f"{damaged:,} damaged records now stand in records.damaged.jsonl; their queries are answered again"
            )
        try:
            self.index()
        except StoreError as error:
            said.append(f"{error.what}; it is written again")
            with explained_io("remove", self._index_path):
                self._index_path.unlink(missing_ok=True)
        try:
            if reach := self._reach.read():
                deque(self._reached_rows(frozenset(reach.query_ids)), maxlen=0)
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

    def repair(self) -> bool:
        """Cut a torn last line of the records; True if there was one."""
        return self._lines.repair()

    def append_record(self, record: RunRecord) -> None:
        """Append one record; it is on the disk when this returns."""
        self.append_records([record])

    def append_records(self, records: Iterable[RunRecord]) -> None:
        """Append records; all are on the disk when this returns. A crash meanwhile leaves the first of them."""
        self._lines.append(records)

    def iter_records(self) -> Iterator[RunRecord]:
        """Every line, earlier attempts included, in the order written; of a run that was closed early those of the
        queries that it is closed over.
        """
        return (record for _, record in self.iter_placed_records())

    def iter_placed_records(self) -> Iterator[tuple[int, RunRecord]]:
        """Likewise, each behind its place: what `records_at` finds it by, for who cannot hold them all."""
        self.done()
        reached = self._reached()
        placed = self._lines.placed()
        return placed if reached is None else (one for one in placed if one[1].query_id in reached)

    def records_at(self, places: Sequence[int]) -> list[RunRecord]:
        """The records at these places, in that order."""
        return self._lines.at(places)

    def records(self) -> dict[RecordKey, RunRecord]:
        """The record that counts for each (query_id, repeat): the one of the highest attempt."""
        return counting(self.iter_records())

    def endings(self) -> dict[RecordKey, Ending]:
        """How each of those ended: for who needs no more of them, and may not have room for them all."""
        return endings_of(self.iter_records())

    def whole_endings(self) -> dict[RecordKey, Ending]:
        """Likewise, of all lines that are whole: what a resumed run goes on from."""
        return endings_of(self._lines.whole())

    def records_since(self, start: int) -> tuple[list[RunRecord], int]:
        """Likewise, from byte `start` of their file, and where to go on: for the writer, who has mended them."""
        return self._lines.since(start)

    def write_index(self, index: IndexRecord) -> None:
        """Write index.json."""
        atomic_files.write_json(self._index_path, index)

    def index(self) -> IndexRecord | None:
        """index.json, or None where the index is not built yet."""
        path = self._index_path
        if not path.exists():
            return None
        index = atomic_files.read_json(path, IndexRecord, _NEW_INDEX)
        if self._manifest_path.exists() and index.index_id != self.manifest().index_id:
            raise StoreError(f"{path} is of another index than manifest.json says", _NEW_INDEX)
        return index

    def append_resources(self, header: str, line: str) -> None:
        """Append one sample to resources.csv; the header is written first."""
        with explained_io("append to", self._resources_path), open_to_append(self._resources_path) as file:
            begun = "" if file.tell() else f"{header}\n"
            file.write(f"{begun}{line}\n".encode())

    def resources_path(self) -> Path | None:
        """resources.csv, or None where nothing was sampled."""
        if not self._resources_path.exists():
            return None
        self._closing.check(self._resources_path, "delete it: the report then leaves out CPU and RAM")
        return self._resources_path

    def write_scores(self, evaluation: EvaluationRecord, scores: Iterable[Score]) -> None:
        """Write scores/<evaluator>.jsonl, sorted, so that the same scores give the same bytes.

        What made them stands beside it as .json and closes it.
        """
        with self.scores_to_write(evaluation.evaluator) as writer:
            writer.add(sorted(scores, key=score_key))
            writer.close(evaluation)

    def scores_to_write(self, evaluator: str) -> AbstractContextManager[ScoreWriter]:
        """Likewise, part by part."""
        return ScoreWriter(self._scores_path, evaluator)

    def evaluations(self) -> list[EvaluationRecord]:
        """What made the scores, by the evaluator's name."""
        return [one.evaluation for one in read_evaluations(self._scores_path, self._evaluate_again)]

    def scores(self) -> list[Score]:
        """Every score of every evaluator that has run."""
        return [score for batch in self.score_lines().batches() for score in batch.scores]

    def score_lines(self) -> ScoreLines:
        """Likewise, for who cannot hold them all."""
        return score_lines(self._scores_path, self._evaluate_again)

    @property
    def _evaluate_again(self) -> str:
        return f"run `rag-harness evaluate {self.run_id}` again: judgements that were paid are not paid again"

    def write_estimate(self, estimate: Estimate) -> None:
        """Keep what the run is expected to take; the first one stays, however often the run is resumed."""
        if not self._estimate_path.exists():
            atomic_files.write_json(self._estimate_path, estimate)

    def estimate(self) -> Estimate | None:
        """What the run was expected to take when it began, or None where nobody estimated it."""
        if not self._estimate_path.exists():
            return None
        return atomic_files.read_json(self._estimate_path, Estimate, "delete it: the run goes on without it")

    def keep_dialect(self, role: str, dialect: Dialect) -> None:
        """Keep how the model of a role is asked otherwise than the config says: it holds for the whole run."""
        kept = self.dialects()
        if kept.get(role) != dialect:
            atomic_files.write_json(self._dialects_path, SpokenDialects(roles={**kept, role: dialect}))

    def dialects(self) -> Mapping[str, Dialect]:
        """Role -> how its model was asked, where it refused what the config says."""
        path = self._dialects_path
        return atomic_files.read_json(path, SpokenDialects, _NEW_DIALECTS).roles if path.exists() else {}

    def write_race(self, race: RaceRecord | None) -> None:
        """Keep what a race established, or forget an earlier one."""
        if race is not None:
            atomic_files.write_json(self._race_path, race)
        else:
            with explained_io("remove", self._race_path):
                self._race_path.unlink(missing_ok=True)

    def race(self) -> RaceRecord | None:
        """What the race in which the run was closed established; None: it was in none, or is open."""
        if not self._race_path.exists() or not self.done():
            return None
        return atomic_files.read_json(self._race_path, RaceRecord)

    def mark_done(self, done: Done, reached: Sequence[str] = (), why: str = "") -> None:
        """Write done.json, the footer, which closes the records and what stands beside them.

        `reached`: the queries over which the run is closed, where these are not all, and `why`. The others may
        have records, which nobody is shown until the run is closed over them.
        """
        self._reach.close(tuple(reached), why)
        closed = (self._manifest_path, self._index_path, self._lines.path, self._resources_path)
        beside = (self._reach.path, self._race_path, self._dialects_path, self.spread.path)
        self._closing.write(done, (*closed, *beside))

    def done(self) -> Done | None:
        """The footer, or None where the run can still be resumed; one that does not fit what it closed is a
        `StoreError`.
        """
        closed = (self._manifest_path, self._index_path, self._lines.path)
        beside = (self._reach.path, self._race_path, self._dialects_path, self.spread.path)
        return self._closing.read((*closed, *beside), lambda: self.whole_endings().values())

    def reach(self) -> Reach | None:
        """Where a closed run was ended and looked at before; None: it is open, or was never closed early."""
        return self._reach.read() if self._reach.path.exists() and self.done() else None

    def _reached(self) -> frozenset[str] | None:
        """The queries that a closed run is closed over; None: all."""
        reach = self.reach()
        return frozenset(reach.query_ids) if reach and reach.query_ids else None

    def is_closed(self) -> bool:
        """Whether the run is done, and nothing of it is damaged or lost."""
        try:
            return self.done() is not None
        except StoreError:
            return False

    def reopen(self) -> None:
        """Make a finished run resumable again (to retry its failed queries)."""
        self._closing.remove()


def rows_by_id(rows: Iterable[SampleRow]) -> PackedByKey[str, SampleRow]:
    """Sampled queries by their id, in their order."""
    found: PackedByKey[str, SampleRow] = PackedByKey(SampleRow)
    for row in rows:
        found.put(intern(row.query.query_id), row)
    return found
