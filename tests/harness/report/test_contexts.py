"""What is said of contexts: fewer than a cutoff asks for, of other length than another run's, or not all read."""

from pathlib import Path

import pytest
from paired_runs import ScoredRun, write_run
from pydantic import ValidationError

from harness.core.records import Cost, EvaluationRecord, Score
from harness.evaluators.retrieval import RetrievalParams
from harness.report.contexts import share_notes
from harness.report.view import load_groups
from harness.statistics import Prices


def evaluated(*measures: str) -> EvaluationRecord:
    params = RetrievalParams().model_dump(mode="json")
    return EvaluationRecord(
        evaluator="retrieval", version="2", params=params, measures=measures, cost=Cost(wall_s=0.0)
    )


def run(system: str, reach: str, medians: list[float], *measures: str, baseline: str = "") -> ScoredRun:
    """With all measures at 1."""
    scores = {reach: medians, **{measure: [1.0] * len(medians) for measure in measures}}
    return ScoredRun(system=system, scores=scores, evaluator=evaluated(), baseline=baseline)


def notes_of(tmp_path: Path, *runs: ScoredRun) -> list[str]:
    (group,) = load_groups([write_run(tmp_path, one) for one in runs], Prices(()))
    return [note for note in group.notes if "median" in note]


def test_a_run_of_four_passages_says_what_its_hits_at_ten_are(tmp_path: Path) -> None:
    names = ("Hit@4", "Hit@10", "Recall@10")
    assert notes_of(tmp_path, run("naive", "documents_named", [4, 4, 12], *names)) == [
        "Documents named, median: naive 4. A measure whose cutoff lies beyond (Hit@10 and others there) is "
        "taken of what there is."
    ]


def test_facts_are_counted_by_contexts_and_documents_by_those_that_are_named(tmp_path: Path) -> None:
    (note,) = notes_of(tmp_path, run("community", "contexts_shown", [1, 1], "fact_Hit@4", "fact_Hit@10"))
    assert note.startswith("Contexts shown, median: community 1. A measure whose cutoff lies beyond (fact_Hit@4, ")


def test_runs_compare_at_the_farthest_size_that_all_of_them_reach(tmp_path: Path) -> None:
    sizes = ("fact_Recall@2000c", "fact_Recall@4000c", "fact_Recall@8000c")
    runs = [
        run("naive", "context_characters", [9_000, 11_000, 12_000], *sizes),
        run("kg", "context_characters", [3_000, 4_400, 9_000], *sizes),
        run("gold", "context_characters", [200, 200, 200], *sizes, baseline="It is given the evidence."),
    ]
    assert notes_of(tmp_path, *runs) == [
        "Characters of contexts, median: naive 11,000, kg 4,400. A measure whose cutoff lies beyond "
        "(fact_Recall@8000c) is taken of what there is: compare these runs by fact_Recall@4000c, the farthest "
        "that all of them reach."
    ]


def test_where_no_cutoff_is_reached_by_all_the_note_says_so(tmp_path: Path) -> None:
    runs = [
        run("naive", "context_characters", [9_000, 9_000], "fact_Recall@4000c"),
        run("community", "context_characters", [300, 500], "fact_Recall@4000c"),
    ]
    (note,) = notes_of(tmp_path, *runs)
    assert "naive 9,000, community 400." in note
    assert "none has a cutoff that all of these runs reach" in note


@pytest.mark.parametrize("runs", [("naive",), ("naive", "kg")])
def test_runs_that_reach_every_cutoff_need_no_note(tmp_path: Path, runs: tuple[str, ...]) -> None:
    assert not notes_of(tmp_path, *(run(name, "documents_named", [10, 11], "Hit@4", "Hit@10") for name in runs))


def test_a_judge_that_was_shown_a_part_is_named_with_its_share() -> None:
    shares = [0.5, 0.7, 1.0, None]
    scores = [
        Score(query_id=str(at), repeat=0, measure="grade", status="scored", value=1.0, share_read=share)
        for at, share in enumerate(shares)
    ]
    assert list(share_notes([evaluated("grade")], scores)) == [
        "retrieval: its judge was shown a part of the contexts in 2 of 3 scores (73 % on average over all): they "
        "say nothing of the rest."
    ]
    assert not list(share_notes([evaluated("grade")], scores[2:]))


def test_a_score_says_how_much_of_the_contexts_its_judge_read() -> None:
    score = Score(query_id="q", repeat=0, measure="grade", status="scored", value=1.0, explanation="5 of 5")
    assert score.said == "5 of 5"
    assert score.model_copy(update={"share_read": 0.554}).said == "5 of 5; 55 % of the contexts read"
    assert score.model_copy(update={"share_read": 1.0, "explanation": ""}).said == "100 % of the contexts read"


def test_a_score_from_before_shares_were_kept_has_none() -> None:
    line = '{"query_id":"q","repeat":0,"measure":"grade","status":"scored","value":1.0,"explanation":""}'
    assert Score.model_validate_json(line).share_read is None


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_is_one(share: float) -> None:
    with pytest.raises(ValidationError, match="share_read"):
        Score(query_id="q", repeat=0, measure="grade", status="scored", value=1.0, share_read=share)
