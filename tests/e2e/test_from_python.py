"""The examples of docs/from-python.md, run as they stand there."""

import ast
import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "from-python.md"
pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("workers_here")
def test_the_examples_of_the_document_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    assert len(examples) == 2
    body = ast.parse("\n".join(examples)).body
    shown = [f"print({ast.unparse(one)})" if isinstance(one, ast.Expr) else ast.unparse(one) for one in body]
    exec("\n".join([*shown, "print(len(rag.load('results').scores))"]), {})
    said = capsys.readouterr().out.split()
    assert {"AllHit@10", "nDCG@10"} <= set(said)
    assert (tmp_path / "my-report" / "report.html").exists()
    assert int(said[-1]) > 1000
