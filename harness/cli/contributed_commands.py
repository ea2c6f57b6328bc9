"""Commands of plug-ins, added only when one of them may be needed, and the groups of all commands in `--help`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Typer
from typer.core import TyperGroup

from harness.cli.console import complain, open_console
from harness.core.errors import ConfigError, RunInterrupted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from harness.protocols import AnswerChoice, OpenedAnswer

_JOBS = ("decide", "understand", "keep", "extend")
"""The values of `harness.protocols.commands.Job`, repeated here because importing it would slow down `--help`."""


class CommandsByJob(TyperGroup):
    """Groups the commands in `--help` by job."""

    def invoke(self, ctx: Any) -> Any:
        """Say that a command was interrupted, and which runs there are if none was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise RunInterrupted("interrupted") from None
        except Exception as error:
            # Typer's click has no public name for a missing argument.
            if getattr(getattr(error, "param", None), "metavar", None) != "RUN":
                raise
            from harness.store.run_lookup import newest_text

            asked: Any = error.ctx  # type: ignore[attr-defined]
            results = asked.params.get("results") or Path("results")
            is_own = asked.parent.parent is None  # Not `runs rm`.
            fix = newest_text(results, f"rag-harness {asked.info_name}" if is_own else "")
            raise ConfigError(f"no RUN is named, of those under {results}", fix) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per job; each line is the command's first sentence."""
        commands = [command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))]
        for job in _JOBS:
            rows = [
                (str(command.name), command.get_short_help_str(limit=200))
                for command in commands
                if getattr(command, "rich_help_panel", None) == job
            ]
            with formatter.section(job.capitalize()):
                formatter.write_dl(rows)


class PluggedRuntime:
    """Implements `harness.protocols.CommandRuntime`."""

    def scored_by(self, run: str, results: Path) -> frozenset[str]:
        from harness.store import find_runs

        found = find_runs(results, [run])[0]
        return frozenset(evaluation.evaluator for evaluation in found.evaluations())

    def open(self, choice: AnswerChoice) -> AbstractContextManager[OpenedAnswer]:
        from harness.api.evaluating import open_answer

        return open_answer(choice)

    def say(self, line: str) -> None:
        open_console().print(line, soft_wrap=True)


def add_plugged(app: Typer, own: Sequence[str], asked: str | None) -> None:
    """Add the plug-in command `asked`, or all of them if `asked` is not one (such as `--help`). A command that
    cannot be loaded, or has the name of a built-in one, is skipped with one line.
    """
    from harness.registry import COMMANDS

    specs, refusals = ([COMMANDS.load(asked)], []) if asked in COMMANDS.names() else COMMANDS.load_all()
    for refusal in refusals:
        complain(f"left out: {refusal}")
    for spec in specs:
        if spec.name in own:
            complain(f"left out: a plug-in registers the command '{spec.name}', which is built in")
            continue
        built = spec.build(PluggedRuntime())
        if isinstance(built, Typer):
            app.add_typer(built, name=spec.name, rich_help_panel=spec.job)
        else:
            app.command(spec.name, rich_help_panel=spec.job)(built)
