"""Installs an external package with an entry point."""

import importlib
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import registry

PlugIn = Callable[[str, str, str], None]


def install(site: Path, group: str, name: str, code: str) -> None:
    """A module `name` below `site` and a distribution that registers its SPEC under that name."""
    metadata = site / f"{name}-1.dist-info"
    metadata.mkdir(parents=True)
    (site / f"{name}.py").write_text(textwrap.dedent(code))
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {name}:SPEC\n")


def python_path(site: Path) -> str:
    """PYTHONPATH of a process that finds `site` and this process's packages."""
    return os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlugIn]:
    """plug_in(group, name, code): installed for this process and its children."""
    site, names = tmp_path / "site", []
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", python_path(site))

    def add(group: str, name: str, code: str) -> None:
        install(site, group, name, code)
        names.append(name)
        importlib.invalidate_caches()
        registry._found.cache_clear()

    yield add
    registry._found.cache_clear()
    for name in names:
        sys.modules.pop(name, None)
