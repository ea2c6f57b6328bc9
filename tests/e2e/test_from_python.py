"""The notebook-sized example of docs/from-python.md, run as it stands there."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "from-python.md"
pytestmark = pytest.mark.slow


def test_the_example_of_the_document_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    body = ast.parse(example).body
    shown = [f"print({ast.unparse(one)})" if isinstance(one, ast.Expr) else ast.unparse(one) for one in body]
    code = "\n".join([*shown, "print(len(rag.load('results').scores))"])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert {"AllHit@10", "nDCG@10"} <= set(done.stdout.split())
    assert (tmp_path / "my-report" / "report.html").exists()
    assert int(done.stdout.split()[-1]) > 1000
