"""What the operating system counts of a process."""

import subprocess
import sys

_ASKED = "from harness.core.current_process import peak_rss_bytes; print(peak_rss_bytes())"
_BALLAST = 300_000_000


def _peak(code: str) -> int:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_what_a_process_held_at_once_counts_after_it_was_given_back() -> None:
    assert _peak(f"held = b'x' * {_BALLAST}; del held; {_ASKED}") > _BALLAST


def test_what_its_starter_holds_does_not_count() -> None:
    """Or a small system that a notebook asks for would be as large as the notebook."""
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
