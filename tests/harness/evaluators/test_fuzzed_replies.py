"""Whatever a judge or an extractor replies: a score within its range, or a failure that says why in one line."""

import pytest
from fuzzed import JUDGED, TWISTS, Twist, check
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st


@pytest.mark.slow
@pytest.mark.parametrize("evaluator", JUDGED)
def test_no_reply_of_a_judge_breaks_an_evaluator_or_makes_a_score_that_cannot_be(evaluator: str) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(TWISTS, min_size=1, max_size=6))
    @example([("deep", 100_000)])
    @example([("digits", 6_000)])
    @example([("text", "5"), ("json", {"triplets": [[None, "b", "\ud83d"]]})])
    def scored(twists: list[Twist]) -> None:
        check(evaluator, twists)

    scored()
