"""One run on disk."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

from harness.errors import DISTRIBUTION, ConfigError, StoreError, explained_io, nearest
from harness.records import Estimate, EvaluationRecord, IndexRecord, RunRecord, Score
from harness.store import files, lock, migration
from harness.store.manifest import SCHEMA_VERSION, Done, Manifest, SampleRow

RecordKey = tuple[str, int]
"""(query_id, repeat)."""
Records = Mapping[RecordKey, RunRecord]
"""What `RunDir.records` gives."""


class RunDir:
    """Reads and writes one run directory. Every writing method survives kill -9 at any moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = path.name
        self.journal_path = path / "calls.sqlite"
        self.log_path = path / "worker.log"
        self._records_path = path / "records.jsonl"
        self._resources_path = path / "resources.csv"
        self._done_path = path / "done.json"
        self._estimate_path = path / "estimate.json"

    @classmethod
    def create(cls, results: Path, manifest: Manifest, sample: Sequence[SampleRow]) -> "RunDir":
        """Start a run, or open the one of the same id that is already there (its files stay as they are)."""
        run = cls(results / manifest.run_id)
        if (run.path / "manifest.json").exists():
            if run.manifest().identity != manifest.identity:
                raise StoreError(
                    f"{run.path} holds another run with the same id", "move it away or use another --results"
                )
            return run
        # The manifest comes last: where it stands, the sample is complete.
        files.write_jsonl(run.path / "sample.jsonl", sample)
        files.write_json(run.path / "manifest.json", manifest)
        return run

    def manifest(self) -> Manifest:
        """The header; a newer schema version is refused in one line."""
        path = self.path / "manifest.json"
        if not path.exists():
            raise StoreError(f"{self.path} is not a run directory (no manifest.json)", "name a run id or path")
        tree = files.read_object(path)
        version = tree.get("schema_version")
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer version (schema {version}, this one reads {SCHEMA_VERSION})",
                f"upgrade {DISTRIBUTION}",
            )
        return files.checked(
            path, migration.migrated_manifest(tree, version) if migration.is_old(version) else tree, Manifest
        )

    @cached_property
    def _old_version(self) -> int | None:
        """The schema of its lines; None: this one."""
        path = self.path / "manifest.json"
        version = files.read_object(path).get("schema_version") if path.exists() else SCHEMA_VERSION
        return version if isinstance(version, int) and migration.is_old(version) else None

    def exclusive(self, *, wait_s: float = 10.0) -> AbstractContextManager[int]:
        """Be the only writer; yields a descriptor that keeps the lock in a child that inherits it."""
        return lock.exclusive(self.path / ".lock", wait_s=wait_s)

    def sample(self) -> list[SampleRow]:
        """The sampled queries with their references, in the order they are answered."""
        return list(files.iter_jsonl(self.path / "sample.jsonl", SampleRow))

    def repair(self) -> bool:
        """Cut a torn last line of the records; True if there was one."""
        return files.repair_tail(self._records_path)

    def append_record(self, record: RunRecord) -> None:
        """Append one record; it is on the disk when this returns."""
        files.append_line(self._records_path, record.model_dump_json())

    def iter_records(self) -> Iterator[RunRecord]:
        """Every line, earlier attempts included, in the order written."""
        records, version = files.iter_jsonl(self._records_path, RunRecord), self._old_version
        return records if version is None else (migration.migrated_record(one, version) for one in records)

    def records(self) -> dict[RecordKey, RunRecord]:
        """The record that counts for each (query_id, repeat): the one of the highest attempt."""
        return counting(self.iter_records())

    def write_index(self, index: IndexRecord) -> None:
        """Write index.json."""
        files.write_json(self.path / "index.json", index)

    def index(self) -> IndexRecord | None:
        """index.json, or None where the index is not built yet."""
        path, version = self.path / "index.json", self._old_version
        if not path.exists():
            return None
        index = files.read_json(path, IndexRecord)
        return index if version is None else migration.migrated_index(index, version)

    def append_resources(self, header: str, line: str) -> None:
        """Append one sample to resources.csv; the header is written first."""
        with explained_io("append to", self._resources_path), self._resources_path.open("a") as file:
            if file.tell() == 0:
                file.write(header + "\n")
            file.write(line + "\n")

    def resources_path(self) -> Path | None:
        """resources.csv, or None where nothing was sampled."""
        return self._resources_path if self._resources_path.exists() else None

    def write_scores(self, evaluation: EvaluationRecord, scores: Iterable[Score]) -> None:
        """Write scores/<evaluator>.jsonl, sorted, so that the same scores give the same bytes.

        What made them stands beside it as .json.
        """
        ordered = sorted(scores, key=lambda score: (score.query_id, score.repeat, score.measure))
        files.write_jsonl(self.path / "scores" / f"{evaluation.evaluator}.jsonl", ordered)
        files.write_json(self.path / "scores" / f"{evaluation.evaluator}.json", evaluation)

    def evaluations(self) -> list[EvaluationRecord]:
        """What made the scores, by the evaluator's name."""
        paths = sorted((self.path / "scores").glob("*.json"))
        return [files.read_json(path, EvaluationRecord) for path in paths]

    def scores(self) -> list[Score]:
        """Every score of every evaluator that has run."""
        paths = sorted((self.path / "scores").glob("*.jsonl"))
        scores, version = (one for path in paths for one in files.iter_jsonl(path, Score)), self._old_version
        return list(scores if version is None else (migration.migrated_score(one, version) for one in scores))

    def write_estimate(self, estimate: Estimate) -> None:
        """Keep what the run is expected to take; the first one stays, however often the run is resumed."""
        if not self._estimate_path.exists():
            files.write_json(self._estimate_path, estimate)

    def estimate(self) -> Estimate | None:
        """What the run was expected to take when it began, or None where nobody estimated it."""
        return files.read_json(self._estimate_path, Estimate) if self._estimate_path.exists() else None

    def mark_done(self, done: Done) -> None:
        """Write done.json, the footer."""
        files.write_json(self._done_path, done)

    def done(self) -> Done | None:
        """The footer, or None where the run can still be resumed."""
        return files.read_json(self._done_path, Done) if self._done_path.exists() else None

    def reopen(self) -> None:
        """Make a finished run resumable again (to retry its failed queries)."""
        with explained_io("reopen", self.path):
            self._done_path.unlink(missing_ok=True)


def counting(records: Iterable[RunRecord]) -> dict[RecordKey, RunRecord]:
    """Of every attempt, in the order written, those that count: see `RunDir.records`."""
    counts: dict[RecordKey, RunRecord] = {}
    for record in records:
        key = (record.query_id, record.repeat)
        if key not in counts or record.attempt > counts[key].attempt:
            counts[key] = record
    return counts


def find_runs(results: Path, names: Sequence[str]) -> list[RunDir]:
    """The runs that `names` mean: a path, a run id under `results`, or the unique beginning or end of one.

    No names: every run under `results`. A name that fits none or several is one `ConfigError` line.
    """
    known = sorted(path.parent for path in results.glob("*/manifest.json"))
    if not names:
        return [RunDir(path) for path in known]
    return [_find_run(results, known, name) for name in names]


def _find_run(results: Path, known: Sequence[Path], name: str) -> RunDir:
    as_path = Path(name)
    if name and (as_path / "manifest.json").exists():
        return RunDir(as_path.resolve())
    fitting = [path for path in known if path.name == name]
    if name and not fitting:
        fitting = [path for path in known if path.name.startswith(name) or path.name.endswith(name)]
    if len(fitting) == 1:
        return RunDir(fitting[0])
    if fitting:
        raise ConfigError(f"'{name}' fits {len(fitting)} runs", "name one: " + ", ".join(p.name for p in fitting))
    raise ConfigError(f"no run '{name}' under {results}", nearest(name, [path.name for path in known]))
