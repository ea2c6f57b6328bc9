"""`rag-harness init` and `new`: write a config, or a plug-in package like the example of its kind, to change."""

import keyword
import re
import shlex
import tomllib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.cli.console import open_console
from harness.config.shipped_files import shipped_examples
from harness.config.template import template
from harness.core.errors import ConfigError, explained_io
from harness.display import printable
from harness.registry import DATASETS, EVALUATORS, SYSTEMS, PluginKind

_LONGEST = 50
_KINDS: dict[str, PluginKind[Any]] = {"system": SYSTEMS, "dataset": DATASETS, "evaluator": EVALUATORS}


def begin_config(file: Path) -> None:
    """Write the file and print the next commands. ConfigError if it exists, StoreError if it cannot be written."""
    with explained_io("write", file):
        try:
            with file.open("x", encoding="utf-8") as opened:
                opened.write(template(file.name))
        except FileExistsError as error:
            raise ConfigError(
                f"{file} already exists", "choose another name: rag-harness init other.yaml"
            ) from error
    console, named = open_console(), shlex.quote(str(file))
    console.print(f"wrote {file}", soft_wrap=True)
    for what in ("plan", "run"):
        console.print(f"next: rag-harness {what} -c {named}", soft_wrap=True)


@dataclass(frozen=True)
class _Example:
    """A shipped example package and the names to replace in it."""

    folder: Path
    distribution: str
    registered: str

    @classmethod
    def of(cls, kind: str) -> "_Example":
        folder = shipped_examples() / kind
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        ((registered, _),) = project["entry-points"][_KINDS[kind].group].items()
        return cls(folder, project["name"], registered)

    def files(self) -> dict[str, str]:
        paths = {str(path.relative_to(self.folder)): path for path in sorted(self.folder.rglob("*"))}
        # Folders that start with . or _ hold tool output, such as compiled code.
        kept = {place: path for place, path in paths.items() if not re.search(r"(^|/)[._][^/]*/", place)}
        return {place: path.read_text("utf-8") for place, path in kept.items() if path.is_file()}

    def renamed(self, text: str, name: str) -> str:
        """`text` with the example's names replaced: distribution, module, registered name, and names that
        start with the registered name, such as measures."""
        distribution, own = re.escape(self.distribution), rf"(?<![\w-]){re.escape(self.registered)}"
        as_it_is, as_python = rf"{distribution}|{own}(?![\w-])", rf"{_module(self.distribution)}|{own}(?=_)"
        # One pass, because the new name may contain the old one.
        return re.sub(
            rf"(?P<as_it_is>{as_it_is})|{as_python}",
            lambda found: name if found["as_it_is"] else _module(name),
            text,
        )


def create(kind: str, name: str, into: Path) -> None:
    """Write the package into a new folder of `into` and print the next commands. Nothing is overwritten.

    ConfigError: the name is invalid or taken. StoreError: the folder cannot be written.
    """
    folder = into / name
    _check(kind, name, folder)
    example = _Example.of(kind)
    texts = example.files().items()
    written = {example.renamed(place, name): example.renamed(text, name) for place, text in texts}
    with explained_io("write", folder):
        folder.mkdir(parents=True)
        for place, text in written.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            with (folder / place).open("x", encoding="utf-8") as file:
                file.write(text)
    console = open_console()
    for line in (f"wrote {folder}: {', '.join(written)}", "next:", *_next(kind, name, folder)):
        console.print(line, soft_wrap=True)


def _check(kind: str, name: str, folder: Path) -> None:
    module, noun = _module(name), _KINDS[kind].noun
    is_name = re.fullmatch(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*", name)
    if not is_name or keyword.iskeyword(module) or len(name) > _LONGEST:
        raise ConfigError(
            f"'{printable(name)}' cannot name a package",
            f"use at most {_LONGEST} lower-case letters, digits, - and _, and no Python keyword, e.g. my-{kind}",
        )
    if name in _KINDS[kind].names():
        raise ConfigError(f"the {noun} '{name}' is already registered", "choose another name")
    if folder.exists() or folder.is_symlink():
        raise ConfigError(f"{folder} already exists", "choose another name, or another folder with --into")
    # A package of that name would shadow the module, be shadowed by it, or clash with its own tests.
    if module == "tests" or find_spec(module):
        raise ConfigError(f"a module '{module}' already exists", "choose another name")


def _next(kind: str, name: str, folder: Path) -> list[str]:
    place = str(folder) if folder.parent.name or folder.is_absolute() else f"./{folder}"
    chosen = ["--set", f"evaluators=[{name}]"] if kind == "evaluator" else [f"--{kind}", name]
    run = ["rag-harness", "run", "-c", "configs/bench/smoke.yaml", *chosen]
    commands = (["pip", "install", "-e", f"{place}[test]"], ["pytest", place], run)
    return [f"  {shlex.join(command)}" for command in commands]


def _module(name: str) -> str:
    return name.replace("-", "_")
