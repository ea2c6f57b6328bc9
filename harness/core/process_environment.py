"""The environment of processes: libraries send no usage data, Python imports nothing from the current folder."""

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
"""Other names of LANGSMITH_TRACING. All but the last outrank it, so they are only looked at."""
_YES, _NO = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def turn_off_usage_data(environment: MutableMapping[str, str] = os.environ) -> None:
    """Before any library is imported. A variable that the user set to the opposite stays."""
    wanted = set(usage_data_wanted(environment))
    # Also where the user said no in a word that the library does not know.
    environment.update({name: value for name, value in _NO_USAGE_DATA.items() if name not in wanted})


def usage_data_wanted(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The variables by which the user lets a library send usage data or traces."""
    expected = {**_NO_USAGE_DATA, **dict.fromkeys(_ALSO_TRACE, "false")}
    return [
        name
        for name, off in expected.items()
        if environment.get(name, "").strip().lower() in (_NO if off.lower() in _YES else _YES)
    ]


def python_command(module: str, *words: str) -> list[str]:
    """`python -m module`, which imports nothing from the current folder; see `python_environment`."""
    return [sys.executable, "-P", "-m", module, *words]


def python_environment(**changes: str) -> dict[str, str]:
    """This process's environment, with `changes`, for a Python that imports nothing from the current folder and
    neither does any other that it starts.
    """
    environment = {**os.environ, **changes, "PYTHONSAFEPATH": "1"}
    # An empty entry is the current folder: what `PYTHONPATH=$PYTHONPATH:/more` leaves where there was none.
    folders = map(Path, environment.pop("PYTHONPATH", "").split(os.pathsep))
    if others := [str(folder.absolute()) for folder in folders if folder != Path()]:
        environment["PYTHONPATH"] = os.pathsep.join(others)
    return environment
