"""What cannot be is one line, before anything is run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness.api as rag
from harness.core.errors import ConfigError


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda at: rag.load(at / "nowhere"), "no folder"),
        (rag.load, "no runs under"),
        (lambda at: rag.evaluate("nobody", results=at), "no run 'nobody'"),
        (lambda at: rag.evaluate([], results=at), "no runs given"),
        (lambda at: rag.run(at / "no.yaml", results=at), "no config file"),
        (lambda at: rag.run({"systms": []}, results=at), "did you mean 'systems'"),
        (lambda at: rag.run(settings={"measure": "acuracy"}, results=at), "did you mean 'accuracy'"),
        (lambda at: rag.report("nobody", at / "report", results=at), "no run 'nobody'"),
        (lambda at: rag.compare([], results=at), "no runs given"),
        (lambda at: rag.report(rag.Runs([]), at / "report", results=at), "no runs given"),
        (lambda at: rag.plan(settings={"seed": {1, 2}}, results=at), "is not a config value"),
        (lambda at: rag.plan(systems="nosuch", results=at), "unknown system 'nosuch'"),
        (lambda at: rag.load(at, "nobody"), "no run 'nobody'"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, call: Any, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        call(tmp_path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_setting_may_be_a_path_or_a_number_of_numpys(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("prices: []")
    settings = {
        "prices": tmp_path / "prices.yaml",
        "answer.top_k": np.int64(3),
        "models.generator.provider": "none",
    }
    (parameters,) = rag.plan(systems="naive", settings=settings, results=tmp_path)["answer"]
    assert parameters["top_k"] == 3
