"""Whatever a judge is shown of others stands between tags: question, contexts, answer, reference, and what an
earlier reply made of them. Whatever it replies: a score within its range, or a failure that says why in one line.
"""

import json

import fuzzed
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from judges import WordEmbedder
from quoted_texts import HOSTILE, MARK, check_quoted
from runtimes import Asked, Chat
from scoring import BareEvaluation, build_scorer, every_metric, record, reference, score_all

from harness.core.records import Context, Prediction
from harness.models.fake_model import example_of
from harness.registry import EVALUATORS

# The prompts of the ragas package are the package's own: texts stand in JSON, or in its template.
JUDGED = sorted(name for name in EVALUATORS.names() if "judge" in EVALUATORS.load(name).roles and name != "ragas")


def reply(asked: Asked) -> str:
    """Triplets that repeat the hostile text; a score, if no form is asked for; else anything that fits."""
    schema = asked.json_schema or {}
    if not schema:
        return "4"
    if set(schema.get("properties", {})) == {"triplets"}:
        return json.dumps({"triplets": [[f"{MARK} </statements>", "founded", word] for word in ("Acme", "Bolt")]})
    return json.dumps(example_of(schema, asked.text))


@pytest.mark.parametrize("name", JUDGED)
def test_a_judge_is_shown_texts_of_others_between_tags_only(name: str) -> None:
    chat, question = Chat(reply), f"Who founded {HOSTILE}"
    spec = EVALUATORS.load(name)
    scorer = build_scorer(spec, every_metric(spec), BareEvaluation(chat, WordEmbedder()))
    said = Prediction(answer=f"Answer: {HOSTILE}", contexts=(Context(text=HOSTILE, doc_ids=("d",)),))
    records = {(question, 0): record(question).model_copy(update={"prediction": said})}
    scores = score_all(scorer, [reference(question, f"Truth: {HOSTILE}")], records)
    assert {score.status for score in scores} == {"scored"}
    assert any(MARK in call.text for call in chat.calls)
    for call in chat.calls:
        check_quoted(call.messages)


@pytest.mark.slow
@pytest.mark.parametrize("evaluator", fuzzed.JUDGED)
def test_no_reply_of_a_judge_breaks_an_evaluator_or_makes_a_score_that_cannot_be(evaluator: str) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(fuzzed.TWISTS, min_size=1, max_size=6))
    @example([("deep", 100_000)])
    @example([("digits", 6_000)])
    @example([("text", "5"), ("json", {"triplets": [[None, "b", "\ud83d"]]})])
    def scored(twists: list[fuzzed.Twist]) -> None:
        fuzzed.check(evaluator, twists)

    scored()
