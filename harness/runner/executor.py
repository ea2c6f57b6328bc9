"""Executors: plug-ins that run systems and evaluators elsewhere, such as on the machines of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.config import LOCAL_EXECUTOR, BenchConfig, RunnerConfig
from harness.core.errors import ConfigError
from harness.registry import PluginKind
from harness.runner.evaluating.evaluate import RemoteScoring
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.executing.execute import CellResult, RunContext
from harness.runner.plan import Cell
from harness.runner.progress import Reporter


class Executor(Protocol):
    """The machines of one command, all of them checked."""

    def run_cells(self, cells: Sequence[Cell], context: RunContext) -> list[CellResult]:
        """Index and answer these cells in parallel; one result for each, in the same order."""
        ...

    def scoring(self, plan: EvaluationPlan, warn: Callable[[str], None]) -> RemoteScoring:
        """Scores with the evaluators that are worth a remote worker."""
        ...


@dataclass(frozen=True)
class ExecutorSpec:
    """How an executor is registered; the name of its entry point is the value of `runner.executor`."""

    name: str
    join: Callable[[RunnerConfig, Path, Reporter], AbstractContextManager[Executor]]
    """join(settings, results folder, reporter): connects, and checks that every machine runs the same code and
    sees the folder. HarnessError if not. Nothing has been paid yet."""
    needs_own_process: bool = False
    """The command works in a child process, because a lost cluster kills the process that joined it."""


EXECUTORS = PluginKind("rag_harness.executors", "executor", lambda: ExecutorSpec)


def needs_own_process(configs: Sequence[BenchConfig]) -> bool:
    return any(EXECUTORS.load(name).needs_own_process for name in _names(configs))


JoinExecutor = Callable[[BenchConfig], Executor | None]
"""join(config): joins its executor if this was not done before. None: it runs on this machine."""


@contextmanager
def joining_executors(configs: Sequence[BenchConfig], results: Path, reporter: Reporter) -> Iterator[JoinExecutor]:
    """Joins the executor of one command when the first config needs it; leaves it at the end of the block.

    ConfigError if these configs cannot be executed remotely, or not together.
    """
    remote = [config for config in configs if config.runner.executor != LOCAL_EXECUTOR]
    if len({(config.runner.executor, config.runner.ray_address) for config in remote}) > 1:
        raise ConfigError(
            "these configs name different clusters (runner.executor, runner.ray_address)", "run them separately"
        )
    specs, joined = {name: EXECUTORS.load(name) for name in _names(remote)}, list[Executor]()
    for config in remote:
        if config.race is not None or config.schedule == "interleaved":
            raise ConfigError(
                "an interleaved schedule or a race runs on one machine only",
                f"remove runner.executor: {config.runner.executor}, or the race and the schedule",
            )
    with ExitStack() as stack:

        def join(config: BenchConfig) -> Executor | None:
            if config.runner.executor == LOCAL_EXECUTOR:
                return None
            if not joined:
                spec = specs[config.runner.executor]
                joined.append(stack.enter_context(spec.join(config.runner, results, reporter)))
            return joined[0]

        yield join


def _names(configs: Sequence[BenchConfig]) -> list[str]:
    return sorted({config.runner.executor for config in configs} - {LOCAL_EXECUTOR})
