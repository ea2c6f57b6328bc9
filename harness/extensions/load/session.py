"""Opens the system of a run and measures it under each load. The run itself stays as it is."""

import asyncio
import gc
import itertools
import math
import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from harness.api.config_building import prices_of_runs
from harness.api.untrusted_config import reject_untrusted_system
from harness.config import BudgetConfig, ModelConfig
from harness.config.load import build_config, explain, parse_setting
from harness.core.current_process import n_stops, usable_cores
from harness.core.errors import BudgetExhausted, ConfigError, HarnessError, StoreError
from harness.core.records import Usage
from harness.extensions.load.levels import (
    MOST_AT_ONCE,
    Level,
    LevelSize,
    Outcome,
    ask_closed,
    ask_open,
    load_name,
)
from harness.extensions.load.load_file import LoadFile, LoadLevel, LoadTest, read_load, summarised, write_load
from harness.models.budget import Budget
from harness.models.metering import Meter, covered_s
from harness.models.providers import provider_of
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.costs import usage_together
from harness.runner.executing.phases import servers_of
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
"""In the results folder: logs of the last measurement."""
_SAMPLED_EVERY_S = 1.0
_LONGEST_REASON = 400
M = TypeVar("M", bound=ModelConfig)


class _TimedCall(NamedTuple):
    """An answered call; times are of time.monotonic."""

    began_s: float
    ended_s: float
    service_s: float | None


class _LoadJournal(Journal):
    """Keeps no call, so that none is replayed, and notes how long each took."""

    def __init__(self) -> None:
        super().__init__(Path(":memory:"))
        self.calls: defaultdict[str, list[_TimedCall]] = defaultdict(list)
        """By scope."""

    def find(self, key: CallKey) -> StoredCall | None:  # noqa: ARG002 - every call is made
        return None

    def add(self, key: CallKey, call: StoredCall, *, reservation: int | None = None) -> StoredCall:
        if reservation is not None:
            self.cancel(reservation)
        timings, now = engine_timings(call.response), time.monotonic()
        service_s = timings["prompt_s"] + timings["completion_s"] if timings else None
        self.calls[key.scope].append(_TimedCall(now - call.wall_s, now, service_s))
        return call


class _Samples:
    """CPU and RAM of the system and its servers, sampled in a thread of its own."""

    def __init__(self, servers: Servers) -> None:
        self._samples: list[ResourceSample] = []
        self._sampler = ResourceSampler(self._append, "answer", _SAMPLED_EVERY_S, servers)
        self._sampler.watch(os.getpid())
        self._ended = threading.Event()

    def _append(self, _header: str, line: str) -> None:
        if sample := parse_sample(line.split(",")):
            self._samples.append(sample)

    @contextmanager
    def taken(self) -> Iterator[None]:
        thread = threading.Thread(target=self._sample, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(self._sampler.wait_s()):
            self._sampler.sample_if_due()

    def mark(self) -> int:
        return len(self._samples)

    def since(self, mark: int) -> dict[str, float]:
        """The mean CPU and the largest RAM since a mark, by name of `QUANTITIES`; only what was measured."""
        # The first sample is partly of the level before.
        rows, found = self._samples[mark:], dict[str, float]()
        rows = rows[1:] if len(rows) > 1 else rows
        for place, name in enumerate(QUANTITIES):
            known = [value for row in rows if (value := row.quantities[place]) is not None]
            if known:
                found[name] = max(known) if name.endswith("bytes") else fmean(known)
        return found


class LoadSession:
    """The measurement of one run. `made` is what it measured so far, which is also in load.json, beside the last
    measurement of the other kind.
    """

    def __init__(
        self,
        name: str,
        *,
        users: tuple[int, ...],
        rates: tuple[float, ...],
        size: LevelSize,
        trust: bool,
        settings: Sequence[str],
        prices: Path | None,
        results: Path,
        quiet: bool,
    ) -> None:
        """HarnessError, before anything is started or paid, if its system cannot be opened, or is not trusted."""
        self.run, self.size, self._results, self._quiet = run_named(results, name), size, results, quiet
        self.levels = [*(Level(users=one) for one in users), *(Level(per_s=rate) for rate in rates)]
        live = live_run(self.run)
        if not trust:
            reject_untrusted_system(live)
        self.models = self.run.manifest().identity["models"]
        self._prices: Prices = prices_of_runs([self.run], prices)
        self.live = _with_room(live, MOST_AT_ONCE if rates else max(users, default=1))
        self.queries = [row.query for row in self.run.iter_sample()]
        if not self.queries:
            raise ConfigError(f"{self.run.run_id} has no queries to ask", "name another run")
        # The same mixed order at each level.
        random.Random(0).shuffle(self.queries)  # noqa: S311 - an order, no secret
        self.spending = BudgetTracker(_budget_of(self.run, settings), self._prices, results, ())
        self.spending.check_prices({role: self.models[role] for role in live.configuration.models_in("answer")})
        self.made = LoadFile(run_id=self.run.manifest().run_id)
        self._kept = self.made
        # Each kind replaces the last measurement of its kind, and a damaged file is replaced.
        with suppress(StoreError):
            left_out = {kind: None for kind, loads in (("closed", users), ("open", rates)) if loads}
            self._kept = (read_load(self.run) or self.made).model_copy(update=left_out)
        self._alone_s: float | None = None
        self.used: dict[str, Usage] = {}
        """Tokens of all queries by model role, also of the warm-up."""

    @property
    def usd(self) -> float | None:
        """The price of `used`; None if a model has none."""
        return usage_usd(self._prices, self.models, self.used)

    def measure(self) -> None:
        """Measure each load in turn. The level that an error or Ctrl-C ends is kept as far as it came.

        BudgetExhausted, or another HarnessError if no further query can be answered.
        """
        reporter = Reporter(quiet=self._quiet)
        # The output of systems goes to a log, and progress still to the terminal.
        reporter.console.file = reporter.console.file
        folder, journal = self._results / FOLDER, _LoadJournal()
        refuse_link(folder)
        self.spending.begin()
        budget = self.spending.budget(self.models)
        with (
            lock.exclusive(folder / ".lock", wait_s=0.2, of=folder),
            open_live(self.live, folder, reporter, journal=journal, budget=budget) as system,
            reporter.bar(f"{FOLDER} {self.run.run_id}") as bar,
            _frozen(),
        ):
            samples = _Samples(servers_of(self.live.configuration, "answer", system.server))
            with samples.taken():
                self._measure_all(_Measuring(self, system, journal, budget, samples, bar))
            for line in dict.fromkeys(system.messages):
                reporter.warn(line)

    def _measure_all(self, measuring: "_Measuring") -> None:
        usual_s, self._alone_s = measuring.alone()
        for level in self.levels:
            try:
                measuring.run(level, usual_s)
            except KeyboardInterrupt:
                self._keep(level, measuring.summary(level, "interrupted"), "interrupted")
                raise
            except HarnessError as error:
                why = error.what[:_LONGEST_REASON]
                self._keep(level, measuring.summary(level, why), why)
                raise
            self._keep(level, measuring.summary(level))

    def _keep(self, level: Level, summary: LoadLevel | None, ended: str = "") -> None:
        """Add a level to load.json, unless nothing in it was measured."""
        kind = "closed" if level.users is not None else "open"
        test: LoadTest = getattr(self.made, kind) or self._new_test()
        levels = (*test.levels, summary) if summary else test.levels
        if levels:
            update = {kind: test.model_copy(update={"levels": levels, "ended": ended})}
            self.made, self._kept = (one.model_copy(update=update) for one in (self.made, self._kept))
            write_load(self.run, self._kept)

    def _new_test(self) -> LoadTest:
        configuration = self.live.configuration
        generator = configuration.generator if "generator" in configuration.roles.answer else None
        provider = provider_of(generator) if generator else None
        return LoadTest(
            measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
            cores=usable_cores(),
            slots=provider.parallel(generator) if generator and provider and provider.serve else None,
            n_queries=len(self.queries),
            alone_s=self._alone_s,
        )


class _Measuring:
    def __init__(
        self,
        session: LoadSession,
        system: LiveSystem,
        journal: _LoadJournal,
        budget: Budget,
        samples: _Samples,
        bar: Bar,
    ) -> None:
        self._session, self._system, self._journal, self._budget = session, system, journal, budget
        self._samples, self._bar, self._numbers = samples, bar, itertools.count()
        self._begun = 0.0, 0, 0
        """When the level under way began, its first sample, and how often the process was suspended until then."""
        self._total = sum(_units(level, session.size) for level in session.levels)
        self._done = 0

    def alone(self) -> tuple[float, float | None]:
        """Ask a query alone: its seconds, and those of its model calls. Another one before it warms up."""
        self._in_loop(self._ask(0))
        level = Level(users=1)
        self._in_loop(level.measure(lambda _: self._ask(1), time.monotonic()))
        (asked,) = level.asked
        return asked.latency_s, asked.outcome.model_s if asked.outcome and asked.is_answered else None

    def run(self, level: Level, usual_s: float) -> None:
        size, units = self._session.size, _units(level, self._session.size)
        self._begun = time.monotonic(), self._samples.mark(), n_stops()

        def tell() -> None:
            passed_s = time.monotonic() - (level.measured_from_s or self._begun[0])
            done = len(level.asked) if size.queries else int(passed_s)
            self._bar.update(self._done + min(done, units), self._total, load_name(level.users, level.per_s))

        level.tell = tell
        tell()
        if level.users is not None:
            self._in_loop(ask_closed(level, size, self._ask))
        else:
            self._in_loop(ask_open(level, size, self._ask, usual_s))
        self._done += units

    def summary(self, level: Level, ended: str = "") -> LoadLevel | None:
        """The record of the level under way; None if nothing in it was measured."""
        began, mark, stops = self._begun
        if n_stops() != stops:
            ended = "the process was suspended meanwhile, so its times are too long"
        level.ended = ended or level.ended
        if not level.measured:
            return None
        return summarised(level, time.monotonic() - began, self._samples.since(mark))

    def _in_loop(self, work: Coroutine[Any, Any, object]) -> None:
        """Do work in the loop of the system, until the budget's time is over."""
        left_s = self._session.spending.seconds_left()

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
        session = self._session
        meter = Meter(f"{FOLDER}/{next(self._numbers)}")
        query = session.queries[number % len(session.queries)]
        _, failure, _ = await self._system.opened.predict(query, meter, self._system.limit_s)
        session.used = usage_together([session.used, meter.whole_usage])
        calls, limit_s = self._journal.calls.pop(meter.scope, []), meter.throttled_s
        service = [(call.ended_s - call.service_s, call.ended_s) for call in calls if call.service_s is not None]
        usage = Usage()
        for used in meter.whole_usage.values():
            usage += used
        return Outcome(
            failure=failure.kind if failure else "",
            model_s=max(0.0, covered_s((call.began_s, call.ended_s) for call in calls) - limit_s),
            service_s=covered_s(service) if len(service) == len(calls) else None,
            limit_s=limit_s,
            usage=usage,
        )


def _units(level: Level, size: LevelSize) -> int:
    """Queries of a level, or seconds if it is limited by these alone: for the progress bar."""
    if size.queries is None:
        return math.ceil(size.seconds or 0.0)
    if level.users is not None:
        return level.users + size.of_closed(level.users)
    return sum(size.of_open(level.per_s or 1.0))


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
    own = build_config(run.manifest().config).budget.model_dump()
    for setting in settings:
        key, value = parse_setting(setting)
        if not key.startswith("budget."):
            what = f"'{key}' is no setting of the budget, and the system is measured as it is"
            raise ConfigError(what, "set budget.usd, budget.tokens or budget.minutes")
        own[key.removeprefix("budget.")] = value
    try:
        return BudgetConfig.model_validate(own)
    except ValidationError as error:
        raise ConfigError(*explain(error, BudgetConfig, prefix="budget")) from error
