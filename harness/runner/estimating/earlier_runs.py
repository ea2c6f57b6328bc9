"""Measurements of earlier runs under --results, used to estimate new ones. Damaged runs are skipped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.core.errors import HarnessError
from harness.core.records import (
    OWN_MODELS,
    AnswerStyle,
    Document,
    EvaluationRecord,
    Expected,
    IndexRecord,
    RunRecord,
)
from harness.models.model_identity import server_digests
from harness.protocols import Corpus, Workload
from harness.registry import SYSTEMS
from harness.statistics.estimate import (
    SAME_PARAMETERS,
    Earlier,
    Rates,
    answers_spent,
    covered_seconds,
    index_spent,
    measured_range,
)
from harness.store import IndexDir, Manifest, RunDir, find_runs
from harness.store.asked_calls import AskedCall, latest_calls
from harness.store.index_dir import Corpora

R = TypeVar("R")
T = TypeVar("T")
GENERATOR = "generator"
_MOST_RUNS = 12
"""Maximum runs used to estimate one configuration, the latest first."""
_MOST_READ = 4
"""Maximum runs of which records are read."""
_MOST_RECORDS = 1000
"""Maximum records per run; more do not improve a mean."""
_LARGEST_CORPUS = 64_000_000
"""Bytes. A larger corpus is not read again to compute the expectation of a system."""


class EarlierRun:
    """An earlier run, read lazily."""

    def __init__(self, run: RunDir, manifest: Manifest, results: Path) -> None:
        self.run = run
        self.identity: Mapping[str, Any] = manifest.identity
        self.manifest = manifest
        self._results = results

    @property
    def system(self) -> Mapping[str, Any]:
        """Name, version, index and answer parameters of its system."""
        return dict(self.identity.get("system") or {})

    @cached_property
    def index_kind(self) -> str:
        """The kind of its index, which systems may share. Empty if its system is not installed."""
        return str(_read(str(self.system.get("name")), lambda name: SYSTEMS.load(name).stored_index_kind) or "")

    @property
    def _answer_style(self) -> AnswerStyle:
        asked: AnswerStyle = (self.identity.get("answers") or {}).get("style", "short")
        return asked

    @property
    def server(self) -> str:
        """The digest of the server and model of its generator."""
        return server_of(self.identity)

    @cached_property
    def records(self) -> list[RunRecord]:
        """The first records."""
        return list(islice(self.run.iter_records(), _MOST_RECORDS))

    @cached_property
    def index(self) -> IndexRecord | None:
        """The record of its index, which another run may have built."""
        return self.run.index()

    @cached_property
    def calls(self) -> list[AskedCall]:
        """The latest generator calls of its answers."""
        return [call for call in latest_calls(self.run.journal_path) if call.role == GENERATOR]

    @cached_property
    def expected(self) -> Expected | None:
        """The work that its system expected: stored in the run, or computed if its corpus is available."""
        kept = self.run.estimate()
        return kept.expected if kept and kept.expected else self._worked_out()

    def _worked_out(self) -> Expected | None:
        spec = SYSTEMS.load(str(self.system.get("name")))
        corpus = _stored_corpus(self._results, str(self.manifest.dataset.get("corpus_digest", "")))
        if spec.expect is None or corpus is None or spec.version != self.system.get("version"):
            return None
        generator = (self.identity.get("models") or {}).get(GENERATOR) or {}
        queries = [row.query for row in self.run.sample()]
        return spec.expect(
            spec.index_params.model_validate(self.system["index"]),
            spec.answer_params.model_validate(self.system["answer"]),
            Workload(corpus, queries, int(generator.get("max_tokens") or 1), self._answer_style),
        )


@dataclass(frozen=True)
class SimilarityKey:
    """The properties of a cell by which similar earlier runs are selected."""

    system: str
    index_kind: str
    index: Mapping[str, Any]
    answer: Mapping[str, Any]
    dataset: str
    server: str
    is_local: bool
    """The generator runs on this machine, so all its calls measure its speed."""
    concurrency: int
    machine: Mapping[str, Any]


class EarlierRuns:
    """All runs in a results folder except imported ones, the latest first."""

    def __init__(self, results: Path, *, without: Sequence[str] = ()) -> None:
        """`without`: run ids to skip."""
        self._results = results
        self._rates: dict[tuple[str, int], Rates] = {}
        self._runs = [run for run in _found(results) if run.run.run_id not in without]

    def alike(self, wanted: SimilarityKey) -> list[EarlierRun]:
        """The latest runs of the same system and generator."""
        own = [run for run in self._served_by(wanted) if run.system.get("name") == wanted.system]
        return own[:_MOST_RUNS]

    def same_kind(self, wanted: SimilarityKey) -> list[EarlierRun]:
        """The latest runs with the same generator and the same kind of index."""
        own = [run for run in self._served_by(wanted) if run.index_kind == wanted.index_kind]
        return own[:_MOST_RUNS]

    def rates(self, wanted: SimilarityKey) -> Rates:
        """What the journals say of the generator: lengths of prompts and replies, and seconds per call. Calls of a
        local model count on this machine only.
        """
        key = (wanted.server, wanted.concurrency)
        if key not in self._rates:
            self._rates[key] = self._measure(wanted)
        return self._rates[key]

    def _measure(self, wanted: SimilarityKey) -> Rates:
        runs = self._served_by(wanted)[:_MOST_RUNS]
        journals = [self._index_calls({run.run.run_id for run in runs}), *(run.calls for run in runs)]
        calls = [call for journal in journals for call in journal]
        input_tokens = sum(call.input_tokens for call in calls)
        if not input_tokens:
            return Rates()
        replies: dict[int, list[int]] = {}
        for call in calls:
            replies.setdefault(call.max_tokens, []).append(call.output_tokens)
        timed = [run.calls for run in runs if self._is_as_fast(run, wanted)]
        n_timed = sum(map(len, timed))
        if n_timed:
            busy = sum(
                covered_seconds((one.started_s, one.started_s + one.wall_s) for one in own) for own in timed
            )
            call_s = busy / n_timed
        else:
            call_s = sum(call.wall_s for call in calls) / len(calls) / wanted.concurrency
        is_known = n_timed or not wanted.is_local
        return Rates(
            characters_per_token=sum(call.characters for call in calls) / input_tokens,
            reply_tokens={limit: sum(tokens) / len(tokens) for limit, tokens in replies.items()},
            call_s=measured_range(call_s, is_speed=False) if is_known else None,
        )

    def index_phases(self, wanted: SimilarityKey, *, per_document: bool) -> list[Earlier]:
        """Earlier index builds, each once. `per_document`: the unit is a document instead of a whole index, for
        systems that give no expectation.
        """
        found: dict[str, Earlier] = {}
        for run in self.same_kind(wanted):
            record = _read(run, lambda one: one.index)
            if record is None or record.index_id in found:
                continue
            spent = index_spent(record)
            expected = _read(run, lambda one: one.expected)
            if not self._is_as_fast(run, wanted):
                spent = replace(spent, seconds=None)
            documents = record.stats.documents
            found[record.index_id] = Earlier(
                spent=replace(spent, units=documents) if per_document else spent,
                work=expected.index if expected else None,
                closeness=_closeness(run, wanted, ("index",)),
            )
        return list(found.values())

    def answer_phases(self, wanted: SimilarityKey) -> list[Earlier]:
        """The answers of the few most similar runs; reading more records would take too long."""
        phases: list[Earlier] = []
        halves = ("index", "answer")
        for run in sorted(self.alike(wanted), key=lambda one: -_closeness(one, wanted, halves)):
            closeness = _closeness(run, wanted, halves)
            if len(phases) == _MOST_READ or (phases and closeness < phases[0].closeness):
                break
            spent = answers_spent(_read(run, lambda one: one.records) or [])
            if not self._is_as_fast(run, wanted):
                spent = replace(spent, seconds=None)
            if spent.units and (spent.is_metered or OWN_MODELS in spent.usage):
                expected = _read(run, lambda one: one.expected)
                work = expected.query if expected else None
                phases.append(Earlier(spent, work, closeness))
        return phases

    def judged(
        self,
        evaluator: str,
        models: Mapping[str, Mapping[str, Any]],
        closeness: Callable[[EvaluationRecord, str], int],
    ) -> list[tuple[EvaluationRecord, int]]:
        """The latest evaluations by these models, each with its number of judged answers. Only those with the
        highest `closeness(record, name of the evaluated system)`.
        """
        found: dict[int, list[tuple[EvaluationRecord, int]]] = {}
        for run in self._runs:
            for record in _read(run.run, RunDir.evaluations) or []:
                done = _read(run.run, RunDir.done)
                played = record.models
                same = all(_is_same(played.get(role) or {}, model) for role, model in models.items())
                if record.evaluator == evaluator and same and done and done.n_ok:
                    near = closeness(record, str(run.system.get("name", "")))
                    found.setdefault(near, []).append((record, done.n_ok))
        return found[max(found)][:_MOST_RUNS] if found else []

    def _served_by(self, wanted: SimilarityKey) -> list[EarlierRun]:
        return [run for run in self._runs if run.server == wanted.server]

    def _is_as_fast(self, run: EarlierRun, wanted: SimilarityKey) -> bool:
        if wanted.is_local:
            return _is_here(run, wanted)
        return (run.identity.get("limits") or {}).get("concurrency") == wanted.concurrency

    def _index_calls(self, payers: set[str]) -> list[AskedCall]:
        calls = latest_calls(IndexDir(self._results, "any").journal_path)
        return [call for call in calls if call.role == GENERATOR and call.paid_by in payers]


def server_of(identity: Mapping[str, Any]) -> str:
    """A digest of the generator of a run: provider, model, weights and URL, without decoding parameters."""
    models = identity.get("models") or {}
    return server_digests({GENERATOR: models.get(GENERATOR) or {}})[GENERATOR]


def _found(results: Path) -> list[EarlierRun]:
    runs = []
    for run in find_runs(results, []):
        manifest = _read(run, RunDir.manifest)
        if manifest is not None and not manifest.is_imported:
            runs.append(EarlierRun(run, manifest, results))
    return sorted(runs, key=lambda one: (one.manifest.created_at, one.run.run_id), reverse=True)


def _stored_corpus(results: Path, digest: str) -> Corpus | None:
    path = Corpora(results).path(digest)
    if not path.is_file() or path.stat().st_size > _LARGEST_CORPUS:
        return None
    documents: list[Document] = Corpora(results).documents(digest)
    return Corpus(digest, documents)


def _closeness(run: EarlierRun, wanted: SimilarityKey, halves: Sequence[str]) -> int:
    same_params = all(run.system.get(half) == getattr(wanted, half) for half in halves)
    same_dataset = (run.identity.get("dataset") or {}).get("name") == wanted.dataset
    return SAME_PARAMETERS * same_params + same_dataset


def _is_here(run: EarlierRun, wanted: SimilarityKey) -> bool:
    return all(run.manifest.machine.get(key) == wanted.machine.get(key) for key in ("processor", "cores"))


def _read(of: R, what: Callable[[R], T]) -> T | None:
    """what(of), or None if the run is damaged or incomplete, or its system is not installed."""
    try:
        return what(of)
    except (HarnessError, ValidationError, KeyError, TypeError, ValueError):
        return None


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(key) == other.get(key) for key in ("provider", "model"))
