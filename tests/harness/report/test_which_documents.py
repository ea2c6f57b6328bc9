"""For which documents a report's figures hold: a mean's interval, a difference, the sentence."""

import re
from pathlib import Path

from paired_runs import ScoredRun, write_run

from harness.report.chapter import Chapter, load_chapters
from harness.report.words.findings import Findings
from harness.statistics.prices import load_prices

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


def led_by(results: Path, n_shared: int, *others: list[float]) -> Findings:
    """best is right on every query; queries cite documents in `n_shared` groups."""
    plans = [
        ScoredRun(system=name, scores={"accuracy": right}, cites=[f"d{n * n_shared // 200}" for n in range(200)])
        for name, right in zip(("best", "second", "third"), ([1.0] * 200, *others), strict=True)
    ]
    return load_chapters([write_run(results, plan) for plan in plans], load_prices())[0].findings


def test_the_headline_says_of_all_it_is_ahead_of_where_that_holds(tmp_path: Path) -> None:
    # second fails here and there, third on the queries of two documents alone.
    scattered = [float(number % 5 != 0) for number in range(200)]
    bunched = [float(number >= 80) for number in range(200)]
    findings = led_by(tmp_path, 5, scattered, bunched)
    assert findings.ranked is not None
    assert [pair.significant for pair in findings.ranked.pairs if pair.a == 0] == [True, True]
    found = findings.headline
    assert found.startswith("Choose best: best in accuracy")
    assert found.endswith(", on these documents.")


def test_as_good_on_shared_documents_is_said_of_these(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system=name, scores={"accuracy": [1.0] * 200}, cites=[f"d{n // 4}" for n in range(200)])
        for name in ("naive", "kg")
    ]
    (chapter,) = load_chapters([write_run(tmp_path, plan) for plan in plans], load_prices())
    assert "within 5 points in accuracy" in chapter.findings.headline
    assert chapter.findings.headline.endswith(", on these documents.")
