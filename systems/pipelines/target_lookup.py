"""Finds `module:name` without running anything, and identifies it by its file."""

from __future__ import annotations

import ast
import hashlib
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from harness.core.errors import ConfigError, nearest


class Target(NamedTuple):
    module: str
    name: str
    digest: str
    """Of the module's file, and of nothing that it imports."""

    @property
    def as_text(self) -> str:
        return f"{self.module}:{self.name}"


def find_target(kind: str, text: str) -> Target:
    """The target `module:name` behind `kind:`; raises ConfigError if there is no such module or name.

    Nothing is imported here: a file that exits, prints or takes a minute does so when it is used.
    """
    module, colon, name = text.partition(":")
    parts = module.split(".")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in parts):
        raise ConfigError(f"'{kind}:{text[:80]}' names no function", f"write {kind}:module:name")
    path = _file_of(kind, module, parts)
    try:
        source = path.read_bytes()
        bound = _bound(source)
    except OSError as error:
        raise ConfigError(f"cannot read {path} ({error.strerror})", "check its permissions") from error
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise ConfigError(f"{path.name}{line} is not Python ({getattr(error, 'msg', error)})") from error
    if bound is not None and name not in bound:
        first, own = (PathFinder.find_spec(parts[0], path) for path in (search_path(), search_path()[-1:]))
        if first and own and own.origin != first.origin:
            what = f"{path}, which comes before the {parts[0]} of this folder, has no '{name}'"
            raise ConfigError(what, "give yours another name")
        raise ConfigError(f"{path.name} has no '{name}'", nearest(name, bound))
    return Target(module, name, hashlib.sha256(source).hexdigest()[:12])


def search_path() -> list[str]:
    """Where modules are looked for. The folder that the command was called in comes last, so that no file in it
    is taken for the standard library or an installed package.
    """
    here = str(Path.cwd())
    return [*(entry for entry in sys.path if entry not in {"", here}), here]


def _file_of(kind: str, module: str, parts: list[str]) -> Path:
    where: list[str] | None = search_path()
    for at in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: at + 1]), where)
        if spec is None:
            missing = ".".join(parts[: at + 1])
            fix = "call the command in its folder, install it, or set PYTHONPATH"
            raise ConfigError(f"'{kind}:{module}': there is no module {missing} here", fix)
        where = list(spec.submodule_search_locations) if spec.submodule_search_locations is not None else []
    if spec is None or not spec.has_location or not spec.origin:
        raise ConfigError(f"'{kind}:{module}' is a folder without __init__.py", "name a module in it")
    return Path(spec.origin)


def _bound(source: bytes) -> set[str] | None:
    """The names that a module defines; None if only running it can tell."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
            if "*" in names:
                return None
            found.update(names)
    dynamic = {"__getattr__", "globals", "exec", "setattr"}
    called = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    return None if dynamic & (found | called) else found
