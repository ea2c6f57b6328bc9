"""Usage data and traces of libraries: off unless the user says otherwise."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLineHere

from harness.core.process_environment import turn_off_usage_data, usage_data_wanted

ASKED = """
import harness
import json
from chromadb.config import Settings
from huggingface_hub.constants import HF_HUB_DISABLE_TELEMETRY
from langsmith.utils import tracing_is_enabled
from ragas._analytics import do_not_track
from ray._common.usage.usage_lib import usage_stats_enabled
sends = [Settings().anonymized_telemetry, not HF_HUB_DISABLE_TELEMETRY, bool(tracing_is_enabled()),
         not do_not_track(), usage_stats_enabled()]
print(json.dumps(sends))
"""


def what_libraries_send(**settings: str) -> list[bool]:
    """As the libraries themselves understand the environment, in a process that imported `harness`."""
    off: dict[str, str] = {}
    turn_off_usage_data(off)
    kept = {name: value for name, value in os.environ.items() if name not in off}
    done = subprocess.run(
        [sys.executable, "-c", ASKED], env={**kept, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [bool(one) for one in json.loads(done.stdout)]


@pytest.mark.slow
def test_every_library_sends_what_the_user_allows_and_nothing_else() -> None:
    pytest.importorskip("ray")
    # Words for no that not every library knows.
    assert what_libraries_send(RAGAS_DO_NOT_TRACK="1", RAY_USAGE_STATS_ENABLED="no") == [False] * 5
    allowed = {"HF_HUB_DISABLE_TELEMETRY": "0", "LANGCHAIN_TRACING_V2": "true", "RAGAS_DO_NOT_TRACK": "false"}
    assert what_libraries_send(**allowed) == [False, True, True, True, False]


@pytest.mark.parametrize("name", ["ORT_DISABLE_TELEMETRY", "LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"])
def test_a_variable_that_allows_usage_data_stays_and_any_word_for_no_is_understood(name: str) -> None:
    yes, no = ("off", "on") if "DISABLE" in name else ("True", "0")
    allowed = {name: yes}
    turn_off_usage_data(allowed)
    assert allowed[name] == yes
    assert usage_data_wanted(allowed) == [name]
    refused = {name: no}
    turn_off_usage_data(refused)
    assert usage_data_wanted(refused) == []


def test_a_command_reports_in_one_line_what_the_user_allows(tmp_path: Path) -> None:
    here = CommandLineHere(tmp_path)
    assert here.call("list", "providers").stderr == ""
    lines = here.call(
        "list", "providers", LANGSMITH_TRACING="true", HF_HUB_DISABLE_TELEMETRY="0"
    ).stderr.splitlines()
    assert len(lines) == 1
    assert {"LANGSMITH_TRACING", "HF_HUB_DISABLE_TELEMETRY"} <= set(lines[0].replace(",", "").split())


# What the operating system counts of a process.


_ASKED = "from harness.core.current_process import peak_rss_bytes; print(peak_rss_bytes())"
_BALLAST = 300_000_000


def _peak(code: str) -> int:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_peak_memory_counts_what_was_freed_and_not_what_the_starting_process_holds() -> None:
    assert _peak(f"held = b'x' * {_BALLAST}; del held; {_ASKED}") > _BALLAST
    started = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_ASKED!r}], check=True)"
    assert _peak(f"held = b'x' * {_BALLAST}; {started}; del held") < _BALLAST / 2


def test_start_up_is_counted_until_a_process_has_run_for_long() -> None:
    code = (
        "import time; time.sleep(0.3); from harness.core import current_process as here; print(here.start_up_s())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.3 <= float(done.stdout) < 60
    code = code.replace("print(", "here._LONGEST_START_S = 0.1; print(")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == 0
