"""Scores some at a time, again by their places, and written part by part."""

from pathlib import Path

import pytest

from harness.core.errors import StoreError
from harness.core.records import Cost, EvaluationRecord, Score
from harness.store import RunDir
from harness.store.score_files import ScoreLines

MADE = EvaluationRecord(evaluator="made", version="1", measures=("m",), cost=Cost(wall_s=1.0))


def score(query_id: str, why: str = "") -> Score:
    return Score(query_id=query_id, repeat=0, measure="m", status="scored", value=0.5, explanation=why)


def written(path: Path, *scores: Score) -> Path:
    path.write_text("".join(one.model_dump_json() + "\n" for one in scores), encoding="utf-8")
    return path


def read(lines: ScoreLines) -> dict[int, Score]:
    return {place: one for batch in lines.batches() for place, one in zip(*batch, strict=True)}


def test_every_score_is_found_again_by_its_offset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.store.score_files._BATCH_BYTES", 300)
    named = [[score(f"{name}{at}", "ü}\n{" * at) for at in range(7)] for name in ("a", "b")]
    paths = [written(tmp_path / f"{at}.jsonl", *own) for at, own in enumerate(named)]
    lines = ScoreLines((paths[0], tmp_path / "gone.jsonl", paths[1]), "fix")
    found = read(lines)
    assert list(found.values()) == [*named[0], *named[1]]
    some = list(found)[1::3]
    assert [Score.model_validate(one) for one in lines.at(some[::-1])] == [found[place] for place in some]
    assert lines.at([]) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"query_id": 3}', "line 2 is damaged (query_id"),
        ("", "line 2 is damaged"),
        (f"{score('x').model_dump_json()},{score('y').model_dump_json()}", "line 2 is damaged"),
    ],
)
def test_a_damaged_line_is_named_among_many_that_are_read_at_once(tmp_path: Path, text: str, what: str) -> None:
    path = written(tmp_path / "m.jsonl", score("a"), score("b"))
    first, last = path.read_text().splitlines()
    path.write_text(f"{first}\n{text}\n{last}\n")
    with pytest.raises(StoreError) as caught:
        read(ScoreLines((path,), "make them again"))
    assert f"{path} {what}" in str(caught.value)
    assert "make them again" in str(caught.value)


def test_scores_in_parts_appear_when_they_are_closed_and_as_if_written_at_once(tmp_path: Path) -> None:
    run, other = RunDir(tmp_path / "run"), RunDir(tmp_path / "other")
    other.write_scores(MADE, [score("b"), score("a")])
    with run.scores_to_write("made") as writer:
        writer.add([score("a")])
        assert run.scores() == []
        writer.add([score("b")])
        with pytest.raises(ValueError, match="is not after"):
            writer.add([score("a")])
        writer.close(MADE)
    with pytest.raises(KeyboardInterrupt), run.scores_to_write("made") as writer:
        writer.add([score("c")])
        raise KeyboardInterrupt
    assert sorted(path.name for path in (run.path / "scores").iterdir()) == ["made.json", "made.jsonl"]
    for name in ("made.jsonl", "made.json"):
        assert (run.path / "scores" / name).read_bytes() == (other.path / "scores" / name).read_bytes()


def test_offsets_in_a_file_that_was_changed_meanwhile_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "m.jsonl", score("a"), score("b"))
    lines = ScoreLines((path,), "fix")
    places = list(read(lines))
    written(path, score("another"), score("b"))
    with pytest.raises(StoreError, match="changed while they were read"):
        lines.at(places)
