"""Finds the commands that a text tells its reader to type, and checks each with the real parser and config."""

import ast
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from typer import Context, Exit
from typer._click.exceptions import ClickException
from typer.main import get_command

from harness.api.config_building import bench_config
from harness.cli.contributed_commands import add_plugged
from harness.cli.main import app
from harness.config.shipped_files import config_path
from harness.core.errors import ConfigError
from harness.runner.plan import plan_cells

_BEGINS = re.compile(r"(`|\$\()?(?<![\w-])(?:\.venv/bin/)?rag-harness (?=\S)")
_REMARK = re.compile(r"\s{2,}[(#]|\s{4,}")
"""Behind a command, on its line."""
_OPERATORS = re.compile(r"[();<>|&#]+")
_OWN_KEYS = ("index.", "answer.", "per_system.", "matrix.")
"""Keys that only a plan checks."""
FORMATTED = "FORMATTED"
"""Stands for a value in the f-string of a source file."""


@dataclass(frozen=True)
class Printed:
    """A command as it is printed, and whether it stands between backticks, which may only name it."""

    text: str
    is_quoted: bool = False

    @property
    def words(self) -> list[str]:
        """The arguments, as a shell reads them, up to a pipe or redirection."""
        lexer = shlex.shlex(self.text, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = []
        for word in lexer:
            if _OPERATORS.fullmatch(word):
                break
            words.append(word)
        return words[1:]


def commands_in(text: str) -> Iterator[Printed]:
    """The commands in a printed text. One without backticks reaches to the end of its line, or to a remark."""
    joined = re.sub(r"\\\n\s*", " ", text)
    for found in _BEGINS.finditer(joined):
        rest = joined[found.end() :]
        if found[1] == "`":
            # Markdown may break a line within backticks.
            command = " ".join(rest.partition("`")[0].split())
        else:
            line = rest.partition("\n")[0]
            command = line.partition(")")[0] if found[1] else _REMARK.split(line)[0]
        yield Printed(f"rag-harness {command.rstrip()}", found[1] == "`")


def commands_of_page(text: str) -> Iterator[Printed]:
    """The commands in the code of a Markdown page."""
    prose, *blocks = re.split(r"^```.*$", text, flags=re.MULTILINE)
    for place, part in enumerate([prose, *blocks]):
        yield from (one for one in commands_in(part) if place % 2 or one.is_quoted)


def commands_of_source(path: Path) -> Iterator[Printed]:
    """The commands in the strings of a Python file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield from commands_in("".join(_literal(part) for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield from commands_in(node.value)


def _literal(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else FORMATTED


def problem(printed: Printed) -> str:
    """Why a command cannot be run as printed; empty if the parser and the config accept it."""
    try:
        words = printed.words
        if words[:1] == [FORMATTED] or (printed.is_quoted and len(words) == 1 and words[0] in _commands()):
            return ""
        context = _parsed(words)
        if context is not None:
            _check_keys(context.params)
    except (ClickException, ConfigError, ValueError) as error:
        why = error.format_message() if isinstance(error, ClickException) else str(error)
        # A value of an f-string is known at run time only.
        return "" if FORMATTED in why else f"{printed.text}: {why}"
    return ""


@cache
def _commands() -> dict[str, Any]:
    own = [str(one.name or one.callback.__name__) for one in app.registered_commands if one.callback]
    if "ask" not in own:
        add_plugged(app, own, None)
    group: Any = get_command(app)
    return dict(group.commands)


def _parsed(words: Sequence[str]) -> Context | None:
    """The parsed arguments; None for a command without any, such as `--version`."""
    if words[0] in {"--version", "--help"}:
        return None
    if words[0] not in _commands():
        raise ValueError(f"no command '{words[0]}'")
    try:
        command, rest = _commands()[words[0]], list(words[1:])
        if own := getattr(command, "commands", None):
            name = next(iter(rest), "")
            if name not in own and not name.startswith("-"):
                raise ValueError(f"{words[0]} has no command '{name}'")
            command, rest = own.get(name, command), rest[1:] if name in own else rest
        context: Context = command.make_context(words[0], rest)
        return context
    except Exit:
        return None


def _check_keys(params: dict[str, object]) -> None:
    """Check the keys of --set against the config, and those of systems with a plan over the demo."""
    settings = [str(one) for one in _listed(params, "settings") if FORMATTED not in str(one)]
    files = [path for one in _listed(params, "config") if (path := config_path(Path(str(one)))).exists()]
    systems = [str(one) for one in _listed(params, "system")]
    for file in files or (None,):
        if not any(one.startswith(_OWN_KEYS) for one in settings):
            bench_config(file, settings=settings)
            continue
        kept = [one for one in settings if not one.startswith("dataset.")]
        demo = ["dataset={}", "models.embedder.provider=fake", "models.generator.provider=fake"]
        plan_cells(bench_config(file, systems=systems, settings=[*kept, *demo]))


def _listed(params: dict[str, object], key: str) -> list[object]:
    found = params.get(key) or []
    return list(found) if isinstance(found, list | tuple) else [found]
