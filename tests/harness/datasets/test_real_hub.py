"""The real Hugging Face hub gives the same data set as the files."""

from pathlib import Path

import pytest

from harness.datasets import load_dataset
from harness.registry import DATASETS


@pytest.mark.network
@pytest.mark.slow
def test_multihop_rag_from_the_hub_has_every_query_and_article(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RAG_HARNESS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    dataset = load_dataset(DATASETS.load("multihop_rag"))
    assert (len(dataset.queries), len(dataset.documents)) == (2556, 609)
    assert dataset.type_mix == {"comparison": 856, "inference": 816, "null": 301, "temporal": 583}
