"""Questions from Python: a row for each candidate."""

from pathlib import Path

import pytest
from question_writers import FERRY, YARD, draft

from harness.extensions.testset.api import questions

FAKE = {
    "replies": {
        r'"question"(.|\n)*Document A \(Lowmere': draft("Who chairs the board of Lowmere?", "Hanne Olvik", "A3"),
        r'"question"': draft("When was this yard founded?", "1911", "A1"),
        "no documents": "Insufficient information",
    },
    "reply": "Hanne Olvik",
}


def test_a_frame_has_every_candidate_with_the_verdict_of_every_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    papers = tmp_path / "papers"
    papers.mkdir()
    for document in (FERRY, YARD):
        (papers / document.doc_id).write_text(f"# {document.title}\n\n{document.text}\n", encoding="utf-8")
    settings = {
        "models.generator.provider": "fake",
        "models.generator.options": FAKE,
        "models.embedder.provider": "none",
    }
    out = tmp_path / "asked.jsonl"
    found = questions(papers, out=out, n=1, kinds="single_fact", seed=1, settings=settings, quiet=True)
    assert out.exists()
    kept, dropped = found[found["survives"]], found[~found["survives"]]
    assert list(kept["question"]) == ["Who chairs the board of Lowmere?"]
    assert list(kept["closed_book"]) == [True]
    assert set(dropped["self_contained"]) == {False}
    assert dropped["follows"].isna().all()
