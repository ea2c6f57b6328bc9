"""For which documents a report's figures hold: a mean's interval, a difference, the sentence."""

import re
from pathlib import Path

from paired_runs import ScoredRun, write_run

from harness.analysis.prices import load_prices
from harness.report.chapter import Chapter, load_chapters

N = 40
SHARED = [f"d{number // 4}" for number in range(N)]
"""The document of each query: one for four of them."""
OWN = [f"d{number}" for number in range(N)]


def chapter_of(results: Path, cites: list[str], *systems: str) -> Chapter:
    """naive is right on every fourth query, kg never."""
    right = {"naive": [float(number % 4 == 0) for number in range(N)], "kg": [0.0] * N}
    plans = [ScoredRun(system=name, scores={"accuracy": right[name]}, cites=cites) for name in systems]
    (chapter,) = load_chapters([write_run(results, plan) for plan in plans], load_prices())
    return chapter


def test_where_queries_share_documents_it_is_said_that_intervals_of_means_hold_on_these(tmp_path: Path) -> None:
    shared = chapter_of(tmp_path / "shared", SHARED, "naive", "kg").group.notes
    (note,) = [note for note in shared if note.startswith("Intervals of means")]
    assert "on these documents" in note
    assert "40 queries make 10 groups" in note
    for cites in (OWN, []):
        own = chapter_of(tmp_path / f"own{len(cites)}", cites, "naive", "kg").group.notes
        assert not [note for note in own if note.startswith("Intervals of means")]


def test_the_headline_of_one_run_says_on_which_documents_its_interval_holds(tmp_path: Path) -> None:
    assert chapter_of(tmp_path / "shared", SHARED, "naive").findings.headline.endswith(", on these documents).")
    assert "documents" not in chapter_of(tmp_path / "own", OWN, "naive").findings.headline


def test_what_holds_on_new_documents_too_has_the_interval_that_holds_there(tmp_path: Path) -> None:
    findings = chapter_of(tmp_path, SHARED, "kg", "naive").findings
    assert findings.ranked is not None
    (pair,) = findings.ranked.pairs
    (said,) = [one for one in findings.sentences if " holds also on new documents" in one]
    found = re.search(r"with an interval of ([\d.]+) to ([\d.]+) points\.$", said)
    assert found
    assert pair.interval_clusters is not None
    assert [float(one) for one in found.groups()] == sorted(
        round(-100 * limit, 1) for limit in pair.interval_clusters if limit is not None
    )
