"""Opens the system of a run and measures it under each load. The run itself stays as it is."""

import asyncio
import gc
import math
import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, Self, TypeVar

from harness.api.config_building import prices_of_runs
from harness.api.untrusted_config import reject_untrusted_system
from harness.config import BudgetConfig, ModelConfig
from harness.config.load import load_config, parse_setting
from harness.core.current_process import n_stops, usable_cores
from harness.core.errors import BudgetExhausted, ConfigError, HarnessError, StoreError
from harness.core.records import Usage
from harness.extensions.load.levels import (
    MOST_AT_ONCE,
    Level,
    Outcome,
    ask_closed,
    ask_open,
    load_name,
)
from harness.extensions.load.load_file import LoadFile, LoadTest, load_file, read_load, summarised
from harness.models.budget import Budget
from harness.models.metering import Meter, covered_s
from harness.models.providers import provider_of
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.costs import usage_together
from harness.runner.executing.jobs import servers_of
from harness.runner.executing.resources import ResourceSampler, Servers
from harness.runner.live_run_check import LiveRun, live_run, run_named
from harness.runner.live_system import LiveSystem, open_live
from harness.runner.progress import Bar, Reporter
from harness.statistics.prices import Prices, usage_usd
from harness.statistics.resource_usage import QUANTITIES, ResourceSample, parse_sample
from harness.store import CallKey, Journal, RunDir, StoredCall, lock
from harness.store.asked_calls import engine_timings
from harness.store.score_files import refuse_link

FOLDER = "load"
_SAMPLED_EVERY_S = 1.0
_LONGEST_REASON = 400
M = TypeVar("M", bound=ModelConfig)
_Span = tuple[float, float]
"""Of time.monotonic."""


class _LoadJournal(Journal):
    """Keeps no call, so that none is replayed, and notes when each was open, and when the engine worked on it."""

    def __init__(self) -> None:
        super().__init__(Path(":memory:"))
        self.calls: defaultdict[str, list[tuple[_Span, _Span | None]]] = defaultdict(list)
        """By scope. None: the engine does not say."""

    def find(self, key: CallKey) -> StoredCall | None:  # noqa: ARG002 - every call is made
        return None

    def add(self, key: CallKey, call: StoredCall, *, reservation: int | None = None) -> StoredCall:
        if reservation is not None:
            self.cancel(reservation)
        timings, now = engine_timings(call.response), time.monotonic()
        service = (now - timings["prompt_s"] - timings["completion_s"], now) if timings else None
        self.calls[key.scope].append(((now - call.wall_s, now), service))
        return call


class _Samples:
    """CPU and RAM of the system and its servers, sampled in a thread of its own until the end of its block."""

    def __init__(self, servers: Servers) -> None:
        self.taken: list[ResourceSample] = []
        self._sampler = ResourceSampler(self._append, "answer", _SAMPLED_EVERY_S, servers)
        self._sampler.watch(os.getpid())
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _append(self, _header: str, line: str) -> None:
        if sample := parse_sample(line.split(",")):
            self.taken.append(sample)

    def _sample(self) -> None:
        while not self._ended.wait(self._sampler.wait_s()):
            self._sampler.sample_if_due()

    def since(self, first: int) -> dict[str, float]:
        """The mean CPU and the largest RAM from a sample on, by name of `QUANTITIES`; only what was measured."""
        # The first sample is partly of the level before.
        rows, found = self.taken[first:], dict[str, float]()
        rows = rows[1:] if len(rows) > 1 else rows
        for at, name in enumerate(QUANTITIES):
            known = [value for row in rows if (value := row.quantities[at]) is not None]
            if known:
                found[name] = max(known) if name.endswith("bytes") else fmean(known)
        return found


class LoadSession:
    """The measurement of one run. `made` is what it measured so far, which is also in load.json, beside the last
    measurement of the other kind.
    """

    _system: LiveSystem
    _budget: Budget
    _samples: _Samples
    _bar: Bar

    def __init__(
        self,
        name: str,
        *,
        users: tuple[int, ...],
        rates: tuple[float, ...],
        queries: int | None,
        seconds: float | None,
        trust: bool,
        settings: Sequence[str],
        prices: Path | None,
        results: Path,
        quiet: bool,
    ) -> None:
        """HarnessError, before anything is started or paid, if its system cannot be opened, or is not trusted."""
        self.run, self._results, self._quiet = run_named(results, name), results, quiet
        self._levels = [Level(users=one, queries=queries, seconds=seconds) for one in users]
        self._levels += [Level(per_s=rate, queries=queries, seconds=seconds) for rate in rates]
        live = live_run(self.run)
        if not trust:
            reject_untrusted_system(live)
        self._models = self.run.manifest().identity["models"]
        self._prices: Prices = prices_of_runs([self.run], prices)
        self._live = _with_room(live, MOST_AT_ONCE if rates else max(users, default=1))
        self._queries = [row.query for row in self.run.iter_sample()]
        if not self._queries:
            raise ConfigError(f"{self.run.run_id} has no queries to ask", "name another run")
        # The same mixed order at each level.
        random.Random(0).shuffle(self._queries)  # noqa: S311 - an order, no secret
        self._spending = BudgetTracker(_budget_of(self.run, settings), self._prices, results, ())
        self._spending.check_prices({role: self._models[role] for role in live.configuration.models_in("answer")})
        self.made = LoadFile(run_id=self.run.manifest().run_id)
        self._kept = self.made
        # Each kind replaces the last measurement of its kind, and a damaged file is replaced.
        with suppress(StoreError):
            left_out = {kind: None for kind, loads in (("closed", users), ("open", rates)) if loads}
            self._kept = (read_load(self.run) or self.made).model_copy(update=left_out)
        self.used: dict[str, Usage] = {}
        """Tokens of all queries by model role, also of the warm-up."""
        self._journal, self._n_asked = _LoadJournal(), 0
        self._alone_s: float | None = None
        self._total, self._done = sum(map(_units, self._levels)), 0

    @property
    def usd(self) -> float | None:
        """The price of `used`; None if a model has none."""
        return usage_usd(self._prices, self._models, self.used)

    def measure(self) -> None:
        """Measure each load in turn. The level that an error or Ctrl-C ends is kept as far as it came.

        BudgetExhausted, or another HarnessError if no further query can be answered.
        """
        reporter = Reporter(quiet=self._quiet)
        # The output of systems goes to a log, and progress still to the terminal.
        reporter.console.file = reporter.console.file
        folder = self._results / FOLDER
        refuse_link(folder)
        self._spending.begin()
        self._budget = self._spending.budget(self._models)
        with (
            lock.exclusive(folder / ".lock", wait_s=0.2, of=folder),
            open_live(self._live, folder, reporter, journal=self._journal, budget=self._budget) as self._system,
            reporter.bar(f"{FOLDER} {self.run.run_id}") as self._bar,
            _frozen(),
        ):
            servers = servers_of(self._live.configuration, "answer", self._system.server)
            with _Samples(servers) as self._samples:
                usual_s = self._ask_alone()
                for level in self._levels:
                    self._measure_level(level, usual_s)
            for line in dict.fromkeys(self._system.messages):
                reporter.warn(line)

    def _ask_alone(self) -> float:
        """Ask a query alone, after another one that warms up: its seconds."""
        self._in_loop(self._ask(0))
        level = Level(users=1)
        self._in_loop(level.measure(lambda _: self._ask(1), time.monotonic()))
        (asked,) = level.asked
        self._alone_s = asked.outcome.model_s if asked.outcome and asked.is_answered else None
        return asked.latency_s

    def _measure_level(self, level: Level, usual_s: float) -> None:
        """`usual_s`: the latency of a query alone."""
        began, first_sample, stops = time.monotonic(), len(self._samples.taken), n_stops()
        units = _units(level)

        def tell() -> None:
            passed_s = time.monotonic() - (level.measured_from_s or began)
            done = len(level.asked) if level.queries else int(passed_s)
            self._bar.update(self._done + min(done, units), self._total, load_name(level.users, level.per_s))

        def keep(why: str = "") -> None:
            level.ended = why or level.ended
            if n_stops() != stops:
                level.ended = "the process was suspended meanwhile, so its times are too long"
            self._keep(level, time.monotonic() - began, self._samples.since(first_sample), why)

        level.tell = tell
        tell()
        try:
            if level.users is not None:
                self._in_loop(ask_closed(level, self._ask))
            else:
                self._in_loop(ask_open(level, self._ask, usual_s))
        except KeyboardInterrupt:
            keep("interrupted")
            raise
        except HarnessError as error:
            keep(error.what[:_LONGEST_REASON])
            raise
        self._done += units
        keep()

    def _keep(self, level: Level, seconds: float, resources: Mapping[str, float], why: str) -> None:
        """Add a level to load.json. `why`: the measurement ended in it."""
        kind = "closed" if level.users is not None else "open"
        test: LoadTest = getattr(self.made, kind) or self._new_test()
        levels = (*test.levels, summarised(level, seconds, resources)) if level.measured else test.levels
        if levels:
            update = {kind: test.model_copy(update={"levels": levels, "ended": why})}
            self.made, self._kept = (one.model_copy(update=update) for one in (self.made, self._kept))
            load_file(self.run).write(self._kept)

    def _new_test(self) -> LoadTest:
        configuration = self._live.configuration
        generator = configuration.generator if "generator" in configuration.roles.answer else None
        provider = provider_of(generator) if generator else None
        return LoadTest(
            measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
            cores=usable_cores(),
            slots=provider.parallel(generator) if generator and provider and provider.serve else None,
            n_queries=len(self._queries),
            alone_s=self._alone_s,
        )

    def _in_loop(self, work: Coroutine[Any, Any, object]) -> None:
        """Do work in the loop of the system, until the budget's time is over."""
        left_s = self._spending.seconds_left()

        async def limited() -> None:
            async with asyncio.timeout(left_s) as limit:
                try:
                    await work
                except asyncio.CancelledError:
                    if limit.expired():
                        raise BudgetExhausted("the time is over") from None
                    raise

        try:
            with redirect_stdout(self._system.log), redirect_stderr(self._system.log):
                self._system.loop.run(limited())
        except BaseExceptionGroup as group:
            if (known := group.subgroup(HarnessError)) is None:
                raise
            raise known.exceptions[0] from None

    async def _ask(self, number: int) -> Outcome:
        """Ask a query. Its scope is its own, so each call is made."""
        self._budget.check_time()
        meter, self._n_asked = Meter(f"{FOLDER}/{self._n_asked}"), self._n_asked + 1
        query = self._queries[number % len(self._queries)]
        _, failure, _ = await self._system.opened.predict(query, meter, self._system.limit_s)
        self.used = usage_together([self.used, meter.whole_usage])
        calls, limit_s = self._journal.calls.pop(meter.scope, []), meter.throttled_s
        service = [worked for _, worked in calls if worked is not None]
        return Outcome(
            failure=failure.kind if failure else "",
            model_s=max(0.0, covered_s(span for span, _ in calls) - limit_s),
            service_s=covered_s(service) if len(service) == len(calls) else None,
            limit_s=limit_s,
            usage=sum(meter.whole_usage.values(), Usage()),
        )


def _units(level: Level) -> int:
    """Queries of a level, or seconds if it is limited by these alone: for the progress bar."""
    return math.ceil(level.seconds or 0.0) if level.queries is None else sum(level.planned)


@contextmanager
def _frozen() -> Iterator[None]:
    """Garbage collections within leave out what is loaded now: scanning it would stop all queries."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _with_room(live: LiveRun, most: int) -> LiveRun:
    """The run with as many parallel model calls as there are queries at once. `max_concurrency` is a setting of a
    benchmark, and no part of the system. A local engine keeps it: its queue may be here or there.
    """

    def raised(model: M | None) -> M | None:
        if model is None or provider_of(model).serve is not None:
            return model
        return model.model_copy(update={"max_concurrency": max(most, model.max_concurrency)})

    own = live.configuration
    return replace(
        live, configuration=replace(own, generator=raised(own.generator), embedder=raised(own.embedder))
    )


def _budget_of(run: RunDir, settings: Sequence[str]) -> BudgetConfig:
    """The budget of the run's config for this command alone, changed by `settings`. ConfigError for other keys."""
    for key in (parse_setting(setting)[0] for setting in settings):
        if not key.startswith("budget."):
            what = f"'{key}' is no setting of the budget, and the system is measured as it is"
            raise ConfigError(what, "set budget.usd, budget.tokens or budget.minutes")
    return load_config(run.manifest().config, settings).budget
