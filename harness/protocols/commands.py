"""The contract of a command that a plug-in adds to `rag-harness`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from harness.protocols.evaluators import EvaluationRuntime, RunFacts, ScoringInput
    from harness.protocols.systems import Params


@dataclass(frozen=True)
class AnswerChoice:
    """An answer of a run, and the evaluator to examine it."""

    run: str
    """Run id, unique part of one, or path."""
    query_id: str
    evaluator: str
    repeat: int = 0
    config: Path | None = None
    """Parameters and judges come from this file instead of the run."""
    settings: Sequence[str] = ()
    """`key=value` settings that override the config."""
    results: Path = Path("results")
    quiet: bool = False


@dataclass(frozen=True)
class OpenedAnswer:
    """A saved answer, with everything needed to build its evaluator."""

    run_id: str
    case: ScoringInput
    """Has all measures of the evaluator, including those that do not apply."""
    facts: RunFacts
    params: Params
    """Parameters of the evaluator."""
    runtime: EvaluationRuntime
    """Judgements made before are replayed, not paid again."""


Job = Literal["decide", "understand", "keep", "extend"]
"""The group of a command in `rag-harness --help`."""


class CommandRuntime(Protocol):
    """The services of the harness for a command."""

    def scored_by(self, run: str, results: Path) -> frozenset[str]:
        """The evaluators that have scored the run. ConfigError: no such run."""
        ...

    def open(self, choice: AnswerChoice) -> AbstractContextManager[OpenedAnswer]:
        """Open an answer with its evaluator's models; they are closed at the end.

        ConfigError: no such run or query, the query has no answer, or a parameter is wrong.
        """
        ...

    def say(self, line: str) -> None:
        """Print one line of plain text."""
        ...


@dataclass(frozen=True)
class CommandSpec:
    """Describes a command to the registry. The name of its entry point is what users type."""

    name: str
    build: Callable[[CommandRuntime], Callable[..., None]]
    """build(runtime) -> a Typer function: its parameters are the options, its docstring the help; or a `Typer`,
    which has commands of its own. Import heavy packages inside it, because `--help` builds every command."""
    job: Job = "extend"
