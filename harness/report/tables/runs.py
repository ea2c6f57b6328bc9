"""What was run: the runs, their machines and differences, and the commands that make them again."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from harness.config import BenchConfig
from harness.display import NOTHING, Table, printable
from harness.report.labels import differences
from harness.report.quantities import quantity_of
from harness.report.view import Group
from harness.store import Manifest

_LONGEST_ID = 200
_WATCHING = ("runner.", "budget.", "race.")
"""Settings that change no result are left out. So is a race: it needs several systems, and the command is for one.
"""
_PLAIN_KEY = re.compile(r"[\w-]+")
_YAML_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def runs_table(group: Group) -> Table:
    header = ("system", "version", "generator", "embedder", "repeats", "started", "answered", "run")
    rows = []
    for view in group.views:
        answered = f"{view.n_answered:,} of {view.n_expected:,}"
        rows.append(
            (
                printable(view.label),
                printable(str(view.manifest.system.get("version", NOTHING))),
                view.model("generator"),
                view.model("embedder"),
                str(view.frame.repeats),
                printable(view.manifest.created_at[:16].replace("T", " ")),
                answered if view.is_finished else f"{answered}, unfinished",
                printable(view.run.run_id, _LONGEST_ID),
            )
        )
    return Table("runs", "What was run", header, tuple(rows))


def differences_table(group: Group) -> Table | None:
    """Every parameter in which the runs differ; None for a single run."""
    differing = differences([view.manifest.identity for view in group.views])
    if not differing:
        return None
    header = ("differs in", *[printable(view.label) for view in group.views])
    rows = tuple((printable(key), *map(printable, values)) for key, values in differing.items())
    return Table("differences", "Differences between the runs", header, rows)


def places_table(group: Group) -> Table:
    header = ("system", "processor", "cores", "RAM, GB", "platform", "Python", "harness commit", "seed")
    rows = []
    for view in group.views:
        machine, ram = view.manifest.machine, view.manifest.machine.get("ram_bytes")
        rows.append(
            (
                printable(view.label),
                *(_told(machine.get(key)) for key in ("processor", "cores")),
                quantity_of(ram if isinstance(ram, int) else None, 1e-9),
                *(_told(machine.get(key)) for key in ("platform", "python")),
                _told(view.manifest.git_commit[:12]),
                _told(view.manifest.identity.get("seed")),
            )
        )
    note = "manifest.json of each run has the versions of all packages."
    return Table("places", "Machine and commit", header, tuple(rows), note=note)


def _told(value: object) -> str:
    return NOTHING if value in {None, ""} else printable(str(value))


def run_command(manifest: Manifest) -> str:
    """`rag-harness run` with --set for what differs from the defaults; for an invalid config, `show`."""
    settings = changed_settings(manifest)
    if settings is None:
        return shlex.join(["rag-harness", "show", printable(manifest.run_id, _LONGEST_ID)])
    words = ["rag-harness", "run"]
    for key, value in settings.items():
        words += ["--set", *setting_words({key: value})]
    return shlex.join(words)


def changed_settings(manifest: Manifest) -> dict[str, Any] | None:
    """Dotted key -> value that differs from the defaults or names system and data set; None: invalid here."""
    try:
        config = BenchConfig.model_validate(manifest.config)
    except ValidationError:
        return None
    kept = _of_its_system(config, manifest).model_dump(mode="json", exclude_defaults=True)
    changed: dict[str, Any] = {"systems": [*config.systems], "dataset": {}, **kept}
    changed["dataset"] = {"name": config.dataset.name, **changed["dataset"]}
    return {key: value for key, value in _leaves(changed) if not key.startswith(_WATCHING)}


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted key -> value, as --set reads it: keys that are no plain words quoted, empty mappings as values."""
    for key, value in tree.items():
        name = prefix + (key if _PLAIN_KEY.fullmatch(key) else f'"{key}"')
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{name}.")
        else:
            yield name, value


def _of_its_system(config: BenchConfig, manifest: Manifest) -> BenchConfig:
    """Without the parameters of other systems of the same config, which a command for one system refuses."""
    system = _mapping(manifest.identity.get("system"))
    shared = {
        half: {key: value for key, value in getattr(config, half).items() if key in _mapping(system.get(half))}
        for half in ("index", "answer")
    }
    per_system = {name: own for name, own in config.per_system.items() if name == system.get("name")}
    return config.model_copy(update={**shared, "per_system": per_system})


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def setting_words(settings: Mapping[str, Any]) -> list[str]:
    """`key=value` of each dotted key, as --set reads it."""
    return [printable(f"{key}={_as_yaml(value)}", 2000) for key, value in settings.items()]


def _as_yaml(value: Any) -> str:
    """JSON is YAML; a plain word needs no quotes."""
    is_plain = isinstance(value, str) and value.isidentifier() and value.lower() not in _YAML_WORDS
    return str(value) if is_plain else json.dumps(value, ensure_ascii=False)
