"""The runs that measurements of the report are made of: they can be read as today's runs are."""

from pathlib import Path

import large_runs
import pytest

from harness.datasets import load_dataset
from harness.protocols import DatasetRow
from harness.registry import DATASETS


def test_a_made_up_run_of_every_system_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_HARNESS_DATA", raising=False)
    demo = load_dataset(DATASETS.load("demo"))
    asked = [DatasetRow(*one, doc_ids=()) for one in zip(demo.queries, demo.references, strict=True)]
    corpus = large_runs.Corpus(asked[:2], {one.doc_id: one.text for one in demo.documents})
    monkeypatch.setattr(large_runs, "_made_up", lambda _: corpus)
    for run in large_runs.make_runs(tmp_path / "results", large_runs.SYSTEMS, 2):
        assert len(run.records()) == 2, run.run_id
