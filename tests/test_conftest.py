"""What holds for every process that tests start."""

import signal
import subprocess
import sys
from pathlib import Path

from neo4j_server import asks_for_a_server

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


def test_what_asks_for_a_neo4j_is_told_by_its_file_and_the_fixtures_beside_it() -> None:
    tests = CONFTEST.parent
    asking = {file.name for file in tests.rglob("test_*.py") if asks_for_a_server(file)}
    assert {"test_both_stores.py", "test_neo4j_server.py", "test_shared_work.py"} <= asking
    assert {"test_neo4j_script.py", "test_refusals.py"} & asking == set()
