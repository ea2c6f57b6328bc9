"""What holds for every process that tests start."""

import signal
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).with_name("conftest.py")


def test_what_tests_start_can_be_interrupted_even_in_the_background_of_a_script() -> None:
    inside = "import signal; print(signal.getsignal(signal.SIGINT) == signal.default_int_handler)"
    code = f"""
import os, runpy, signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
runpy.run_path({str(CONFTEST)!r})
os.kill(os.getpid(), signal.SIGINT)
subprocess.run([sys.executable, "-c", {inside!r}], check=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
    assert signal.getsignal(signal.SIGINT) != signal.SIG_IGN
