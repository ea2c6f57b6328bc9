"""The runs that measurements of the report are made of: they can be read as today's runs are."""

from pathlib import Path

import pytest
from large_runs import SYSTEMS, make_runs


def test_a_made_up_run_of_every_system_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_HARNESS_DATA", raising=False)
    for run in make_runs(tmp_path / "results", SYSTEMS, 2):
        assert len(run.records()) == 2, run.run_id
