"""The system of a run, opened to answer questions in a program of the user."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api.config_building import as_settings, bench_config
from harness.api.untrusted_config import reject_untrusted_system
from harness.core.errors import ConfigError, HarnessError
from harness.core.records import Context, Usage
from harness.runner.live_run_check import LiveRun, live_run, run_named
from harness.runner.live_system import checked_question, open_live
from harness.runner.plan import plan_cells
from harness.runner.progress import Reporter
from harness.store import RunDir

_YAML = {".yaml", ".yml"}


@dataclass(frozen=True)
class Answer:
    text: str | None
    """None: the system only retrieves."""
    contexts: tuple[Context, ...]
    """What the generator was given, the most relevant first."""
    evidence: tuple[Context, ...]
    """The sentences that support it, from systems that name them."""
    usage: Mapping[str, Usage]
    """By model role, such as `generator`."""
    latency_s: float | None
    """None: not measured, such as for an answer that the journal replayed."""


class LoadedSystem(AbstractContextManager["LoadedSystem"]):
    """Answers one question at a time. A context manager; `close` ends the servers that were started for it.

    It works in a thread of its own, so a program with an event loop, such as a notebook or a web service, can use
    it. Calls are kept in `asked` in the results folder: a question that was asked before is not paid again. What
    other threads print while a question is answered goes to `asked/asked.log`.
    """

    def __init__(self, live: LiveRun) -> None:
        """HarnessError for a missing package, server, key or weight file."""
        self.run_id = live.run.run_id
        self._stack = ExitStack()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rag-harness")
        opening = open_live(live, live.results / "asked", Reporter(quiet=True))
        try:
            self._system = self._thread.submit(self._stack.enter_context, opening).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def answer(self, question: str) -> Answer:
        """HarnessError for an invalid question, or if it could not be answered."""
        record = self._thread.submit(self._system.answer, checked_question(question)).result()
        messages, self._system.messages[:] = tuple(self._system.messages), []
        for line in messages:
            warnings.warn(line, UserWarning, stacklevel=2)
        found = record.prediction
        if found is None:
            why = f"{record.failure.kind}: {record.failure.message}" if record.failure else record.status
            raise HarnessError("no answer", why)
        cost = record.cost
        return Answer(found.answer, tuple(found.contexts), tuple(found.evidence), cost.usage, cost.latency_s)

    def close(self) -> None:
        """Close the system and its servers; it answers no more questions."""
        self._thread.submit(self._stack.close).result()
        self._thread.shutdown()

    def __exit__(self, *_: object) -> None:
        self.close()


def live_source(
    source: str | Path | Mapping[str, Any], settings: Mapping[str, Any], results: Path, *, trust: bool
) -> LiveRun:
    """The run to open: of a config (a mapping, or the path of a YAML file) that names one configuration, or the
    run of that name. What a config names is used; what only a run names is used if it is trusted.
    """
    if not isinstance(source, Mapping) and Path(source).suffix not in _YAML:
        if settings:
            raise ConfigError("settings change a config, and a run is opened as it is", "leave them out")
        live = live_run(run_named(results, str(source)))
        if not trust:
            reject_untrusted_system(live)
        return live
    config = bench_config(Path(source) if isinstance(source, str) else source, settings=as_settings(settings))
    cells = plan_cells(config)
    if len(cells) != 1:
        raise ConfigError(
            f"the config has {len(cells)} configurations", "name one of one system, without a matrix"
        )
    run = RunDir(results / cells[0].run_id)
    if run.done() is None:
        what = f"{run.run_id} is not finished in {results}, so there is no index to answer from"
        raise ConfigError(what, "run the config first, with `harness.api.run` or `rag-harness run`")
    return live_run(run, cells[0])
