"""The contract of a command that a plug-in adds to `rag-harness`, to look closer at what it scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from harness.protocols.evaluators import EvaluationRuntime, RunFacts, ScoringInput
from harness.protocols.systems import Params


@dataclass(frozen=True)
class AnswerChoice:
    """One answer of a run, and what is to look at it."""

    run: str
    """A run id, a unique part of one, or a path."""
    query_id: str
    evaluator: str
    repeat: int = 0
    config: Path | None = None
    """Parameters and judges from this file, not the run's."""
    settings: Sequence[str] = ()
    """`key=value`, on top."""
    results: Path = Path("results")
    quiet: bool = False


@dataclass(frozen=True)
class OpenedAnswer:
    """The answer, and what its evaluator is built with."""

    run_id: str
    case: ScoringInput
    """With every measure of the evaluator, whether or not it applies."""
    facts: RunFacts
    params: Params
    """Of the evaluator."""
    runtime: EvaluationRuntime
    """What was judged before is not paid again."""


Job = Literal["decide", "understand", "keep", "extend"]
"""What a command is for; `rag-harness --help` lists the commands by it."""


class CommandRuntime(Protocol):
    """What the harness hands to a command."""

    def scored_by(self, run: str, results: Path) -> frozenset[str]:
        """The evaluators whose scores a run has. ConfigError: no such run."""
        ...

    def open(self, choice: AnswerChoice) -> AbstractContextManager[OpenedAnswer]:
        """The answer with its evaluator's models, closed at the end.

        ConfigError: no such run or query, no answer to it, a wrong parameter.
        """
        ...

    def say(self, line: str) -> None:
        """Print one plain line."""
        ...


@dataclass(frozen=True)
class CommandSpec:
    """How a command presents itself to the registry; the name of its entry point is what users type."""

    name: str
    build: Callable[[CommandRuntime], Callable[..., None]]
    """build(runtime) -> a function as Typer has them: its parameters are the options, its docstring the help. It
    imports what is heavy when it is called, since `--help` builds every command."""
    job: Job = "extend"
