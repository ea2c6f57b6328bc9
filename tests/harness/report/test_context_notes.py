"""What is said of contexts: fewer than a cutoff asks for, of other length than another run's, or not all read."""

import pytest
from pydantic import ValidationError

from harness.core.records import Cost, EvaluationRecord, Score
from harness.evaluators.retrieval import RetrievalParams
from harness.report.notes import share_notes


def evaluated(*measures: str) -> EvaluationRecord:
    params = RetrievalParams().model_dump(mode="json")
    return EvaluationRecord(
        evaluator="retrieval", version="2", params=params, measures=measures, cost=Cost(wall_s=0.0)
    )


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
