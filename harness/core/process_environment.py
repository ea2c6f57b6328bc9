"""Environment of child processes: no usage data from libraries, no Python imports from the current folder."""

import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

_NO_USAGE_DATA = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime
    "ANONYMIZED_TELEMETRY": "False",  # chromadb
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, hf_xet, transformers, datasets
    "RAGAS_DO_NOT_TRACK": "true",
    "RAY_USAGE_STATS_ENABLED": "0",
    "LANGSMITH_TRACING": "false",  # langchain: questions, contexts and answers
}
_ALSO_TRACE = ("LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2", "LANGCHAIN_TRACING")
"""Other names of LANGSMITH_TRACING. All but the last override it, so they are only checked, not set."""
_YES, _NO = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def turn_off_usage_data(environment: MutableMapping[str, str] = os.environ) -> None:
    """Turn off usage data; call it before any library is imported. Variables that the user enabled are kept."""
    wanted = set(usage_data_wanted(environment))
    # Also if the user disabled it with a value that the library does not know.
    environment.update({name: value for name, value in _NO_USAGE_DATA.items() if name not in wanted})


def usage_data_wanted(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Variables with which the user enabled usage data or traces of a library."""
    expected = {**_NO_USAGE_DATA, **dict.fromkeys(_ALSO_TRACE, "false")}
    return [
        name
        for name, off in expected.items()
        if environment.get(name, "").strip().lower() in (_NO if off.lower() in _YES else _YES)
    ]


def python_command(module: str, *words: str) -> list[str]:
    """A `python -m module` command without imports from the current folder; use it with `python_environment`."""
    return [sys.executable, "-P", "-m", module, *words]


def python_environment(**changes: str) -> dict[str, str]:
    """This process's environment with `changes`, for a child that imports nothing from the current folder."""
    environment = {**os.environ, **changes, "PYTHONSAFEPATH": "1"}
    # An empty entry means the current folder: `PYTHONPATH=$PYTHONPATH:/more` creates one if it was unset.
    folders = map(Path, environment.pop("PYTHONPATH", "").split(os.pathsep))
    if others := [str(folder.absolute()) for folder in folders if folder != Path()]:
        environment["PYTHONPATH"] = os.pathsep.join(others)
    return environment
