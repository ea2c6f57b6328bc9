"""Attributes model calls: a context variable holds the query (or the index) that pays for them."""

import heapq
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime

from harness.core.records import OWN_MODELS, Usage
from harness.store import StoredCall

Elapsed = tuple[float, float]
"""Start and end, in seconds of one clock."""
_MERGED_FROM = 1_000


def merged(spans: Iterable[Elapsed]) -> list[Elapsed]:
    """The union as disjoint spans, in order; a span that ends before it starts is ignored."""
    found: list[Elapsed] = []
    for start, end in sorted(spans):
        if end <= start:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def covered_s(spans: Iterable[Elapsed]) -> float:
    """Length of the union in seconds."""
    return sum(end - start for start, end in merged(spans))


class Spans:
    """Spans of any number of calls, merged to disjoint ones."""

    def __init__(self) -> None:
        self._spans: list[Elapsed] = []
        self._merge_at = _MERGED_FROM

    def add(self, start_s: float, end_s: float) -> None:
        self._spans.append((start_s, end_s))
        if len(self._spans) >= self._merge_at:
            self._spans = merged(self._spans)
            self._merge_at = 2 * len(self._spans) + _MERGED_FROM

    def __iadd__(self, others: "Spans") -> "Spans":
        for span in others.list():
            self.add(*span)
        return self

    def list(self) -> list[Elapsed]:
        """The spans, unordered; some may have been merged."""
        return list(self._spans)


class OpenCall:
    """A model call in progress, which is at any moment waiting for a limit of its provider or not.

    A provider's limit is a 429, the time in its Retry-After, and a rate that the user set because of the provider.
    Our own concurrency limit, a retry after any other failure and the server's processing count as latency.
    """

    def __init__(self, waiting: Spans, working: Spans) -> None:
        self._waiting, self._working = waiting, working
        self._since, self._waits = time.monotonic(), False

    def turn(self, *, waits: bool) -> None:
        """Switch to waiting for the provider's limit, or away from it."""
        if waits != self._waits:
            self.note()
            self._waits = waits

    def mark_waiting_since(self, moment_s: float) -> None:
        """Count the time from that moment (time.monotonic) until now as waiting for the provider."""
        if not self._waits and moment_s > self._since:
            self._working.add(self._since, moment_s)
            self._since = moment_s
        was, self._waits = self._waits, True
        self.note()
        self._waits = was

    def note(self) -> None:
        now = time.monotonic()
        (self._waiting if self._waits else self._working).add(self._since, now)
        self._since = now


class Meter:
    """Collects the usage of the calls within a scope. Child tasks inherit it with the context."""

    def __init__(self, scope: str, number: int = 0, part_of: "Meter | None" = None) -> None:
        self.scope = scope
        """`index`, or `answer/<query_id>/<repeat>/<attempt>`: the journal's scope."""
        self.number = number
        """Distinguishes several blocks with that scope; 0: there is one."""
        self.usage: dict[str, Usage] = {}
        self.replayed_from: dict[str, dict[str, Usage]] = {}
        """Usage of replayed calls, by the run that paid, then by role."""
        self.cached_usage: dict[str, dict[str, Usage]] = {}
        """Usage of the calls that computed the cached vectors, by payer and role."""
        self.paid: dict[str, Usage] = {}
        """Usage of the calls made now."""
        self.reasoning: list[str] = []
        """Reasoning of the models, which is not part of their replies."""
        self._own: Usage | None = None
        self._own_beside: frozenset[str] = frozenset()
        self.embedded_texts = 0
        self._embedded: set[int] = part_of._embedded if part_of else set()
        """Digests of the texts whose vectors this scope, or the whole, has used: each counts once as computed or
        cached.
        """
        self.cached_from: Counter[str] = Counter()
        self.replayed_calls = 0
        self._replayed, self._cached_s = Spans(), 0.0
        self._saved_is_known = True
        self.stages_s: defaultdict[str, float] = defaultdict(float)
        self.cpu_elsewhere_s = 0.0
        """Processor seconds on other machines."""
        self._occurrences: Counter[tuple[str, str]] = Counter()
        self._given_back: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._open: set[OpenCall] = set()
        self._waiting, self._working = Spans(), Spans()

    def next_occurrence(self, role: str, request_digest: str) -> int:
        """0 for the first call with this request in this scope, then 1, 2, ...: a repetition is a new call."""
        key = (role, request_digest)
        if self._given_back[key]:
            return heapq.heappop(self._given_back[key])
        self._occurrences[key] += 1
        return self._occurrences[key] - 1

    def give_back_occurrence(self, role: str, request_digest: str, occurrence: int) -> None:
        """The call failed: the next call with the same request gets its number, as on resume."""
        heapq.heappush(self._given_back[(role, request_digest)], occurrence)

    def add_call(self, role: str, usage: Usage, *, paid_by: str | None = None) -> None:
        """Count one answered call. A replayed one (`paid_by` an earlier run) counts too, since the query needed
        it.
        """
        self.usage[role] = self.usage.get(role, Usage()) + usage
        counted = self.paid if paid_by is None else self.replayed_from.setdefault(paid_by, {})
        counted[role] = counted.get(role, Usage()) + usage

    def report_unmetered_usage(self, usage: Usage | None, beside: Collection[str] = ()) -> None:
        """Usage of unmetered models, as reported by the pipeline; None: unknown. It counts if no call was metered,
        except for roles in `beside`.
        """
        told = usage or Usage()
        self._own = told.model_copy(update={"unmetered_calls": max(1, told.calls)})
        self._own_beside = frozenset(beside)

    @property
    def whole_usage(self) -> dict[str, Usage]:
        """Metered usage by role, and reported usage of unmetered models."""
        embeds = self.embedded_texts or self.cached_texts
        roles = {role for role, used in self.usage.items() if used.calls} | ({"embedder"} if embeds else set())
        if self._own is None or roles - self._own_beside:
            return self.usage
        return {**self.usage, OWN_MODELS: self._own}

    def add_replayed(self, role: str, call: StoredCall) -> None:
        """Count a call answered from the journal, with its original time."""
        self.add_call(role, call.usage, paid_by=call.paid_by)
        self.replayed_calls += 1
        if (heard := _replays.get()) is not None:
            heard.append(call)
        try:
            began = datetime.fromisoformat(call.started_at).timestamp()
        except (ValueError, OverflowError):
            self._saved_is_known = False
        else:
            self._replayed.add(began, began + call.wall_s)

    def add_embedded(self, texts: Sequence[str]) -> None:
        self.embedded_texts += len(texts)
        self._embedded.update(map(hash, texts))

    def has_embedded(self, text: str) -> bool:
        """Whether its vector was used in this scope before, so that it counts for no other run."""
        return hash(text) in self._embedded

    def add_cached(self, payers: Mapping[str, str], seconds: float) -> None:
        """Count texts with cached vectors, the runs that computed them, and the time that took."""
        self._embedded.update(map(hash, payers))
        self.cached_from.update(payers.values())
        self._cached_s += seconds

    def add_cached_usage(self, payer: str, role: str, usage: Usage) -> None:
        for counted in (self.usage, self.cached_usage.setdefault(payer, {})):
            counted[role] = counted.get(role, Usage()) + usage

    def absorb(self, other: "Meter") -> None:
        """Add the counts of `other`: a whole evaluation is the sum of its judgements."""
        for role, usage in other.paid.items():
            self.add_call(role, usage)
        for payer, roles in other.replayed_from.items():
            for role, usage in roles.items():
                self.add_call(role, usage, paid_by=payer)
        for payer, roles in other.cached_usage.items():
            for role, usage in roles.items():
                self.add_cached_usage(payer, role, usage)
        self.replayed_calls += other.replayed_calls
        self.embedded_texts += other.embedded_texts
        self.cached_from.update(other.cached_from)
        self._replayed += other._replayed
        self._cached_s += other._cached_s
        self._saved_is_known = self._saved_is_known and other._saved_is_known
        other._note_open()
        self._waiting += other._waiting
        self._working += other._working

    @property
    def cached_texts(self) -> int:
        """Number of texts with cached vectors."""
        return self.cached_from.total()

    @property
    def saved_s(self) -> float | None:
        """Original time of replayed calls and cached vectors: for calls the seconds in which any of them ran, for
        vectors the sum. None if nothing was saved or it is unknown.
        """
        if not self._saved_is_known or not (self.replayed_calls or self.cached_texts):
            return None
        return covered_s(self._replayed.list()) + self._cached_s

    @contextmanager
    def call(self) -> Iterator[OpenCall]:
        """One call of a model, from request to answer."""
        call = OpenCall(self._waiting, self._working)
        self._open.add(call)
        try:
            yield call
        finally:
            call.note()
            self._open.discard(call)

    @property
    def throttled_s(self) -> float:
        """Seconds in which calls were open and all of them waited for their provider's limit.

        So it is at most the wall time. Moments do not count if a call progresses, or waits for us or a server.
        """
        self._note_open()
        working = self._working.list()
        return max(0.0, covered_s([*working, *self._waiting.list()]) - covered_s(working))

    def _note_open(self) -> None:
        for call in tuple(self._open):
            call.note()


LOADING = "load"
"""The scope of work before the first query, which is charged to no query."""
_opened: Counter[Meter] = Counter()
_current: ContextVar[Meter | None] = ContextVar("meter", default=None)
_replays: ContextVar[list[StoredCall] | None] = ContextVar("replays", default=None)


def current_meter() -> Meter:
    """The meter of the current query or index. A call outside any scope is a bug and raises."""
    meter = _current.get()
    if meter is None:
        raise RuntimeError("a model was called outside `metered(...)`: nobody would be charged for it")
    return meter


@contextmanager
def metered(meter: Meter) -> Iterator[Meter]:
    """Charge every call made inside, in this task and the tasks and threads it starts, to `meter`."""
    _opened[meter] += 1
    try:
        with charged(meter):
            yield meter
    finally:
        _opened[meter] -= 1
        if not _opened[meter]:
            del _opened[meter]


@contextmanager
def metered_apart(scope: str, total: Meter, number: int = 0) -> Iterator[None]:
    """Count calls within in their own meter, so that the same request in another block is the same call, and then
    add them to `total`, however the block ends.
    """
    meter = Meter(scope, number, part_of=total)
    try:
        with metered(meter):
            yield
    finally:
        total.absorb(meter)


@contextmanager
def charged(meter: Meter) -> Iterator[None]:
    """The same for a part of a `metered` block that may last longer than the block."""
    token = _current.set(meter)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def collect_replayed_calls() -> Iterator[list[StoredCall]]:
    """The calls of the enclosed work, in this task, that a journal answered."""
    heard: list[StoredCall] = []
    token = _replays.set(heard)
    try:
        yield heard
    finally:
        _replays.reset(token)


def open_meters() -> list[Meter]:
    return list(_opened)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Time the enclosed work as a stage of the current query or index."""
    meter = current_meter()
    start = time.monotonic()
    try:
        yield
    finally:
        meter.stages_s[name] += time.monotonic() - start
