"""The command that makes a run again."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from harness.config import BenchConfig
from harness.config.yaml_limits import flatten
from harness.display.text_format import printable
from harness.store import Manifest

_WATCHING = ("runner.", "budget.", "race.")
"""Settings that change no result are left out. So is a race: it needs several systems, and the command is for one.
"""


def run_command(manifest: Manifest) -> str:
    """`rag-harness run --set ...` with every key of the run's config that differs from the defaults.

    A config that is not valid here, such as one of a missing plug-in, gives the command that shows it instead.
    """
    try:
        config = BenchConfig.model_validate(manifest.config)
    except ValidationError:
        return shlex.join(["rag-harness", "show", printable(manifest.run_id, 200)])
    defaults = flatten(BenchConfig().model_dump(mode="json"))
    own = flatten(_of_its_system(config, manifest).model_dump(mode="json"))
    words = ["rag-harness", "run"]
    for key, value in own.items():
        named_anyway = key in {"systems", "dataset.name"}
        if named_anyway or (not key.startswith(_WATCHING) and (key not in defaults or defaults[key] != value)):
            words += ["--set", *setting_words({key: value})]
    return shlex.join(words)


def _of_its_system(config: BenchConfig, manifest: Manifest) -> BenchConfig:
    """Without the parameters of other systems of the same config, which a command for one system refuses."""
    system = manifest.identity.get("system")
    name, known = str(_mapping(system).get("name")), _mapping(system)
    shared = {
        half: {key: value for key, value in getattr(config, half).items() if key in _mapping(known.get(half))}
        for half in ("index", "answer")
    }
    per_system = {one: own for one, own in config.per_system.items() if one == name}
    return config.model_copy(update={**shared, "per_system": per_system})


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def setting_words(settings: Mapping[str, Any]) -> list[str]:
    """`key=value` of each dotted key, as --set reads it."""
    return [printable(f"{key}={_as_yaml(value)}", 2000) for key, value in settings.items()]


def _as_yaml(value: Any) -> str:
    """JSON is YAML; a plain word needs no quotes."""
    if isinstance(value, str) and value.isidentifier() and value.lower() not in _YAML_WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


_YAML_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
