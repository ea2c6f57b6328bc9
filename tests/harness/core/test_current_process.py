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
