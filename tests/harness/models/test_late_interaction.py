"""Late interaction: MaxSim by hand, and real token vectors."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from harness.config import load_config
from harness.models.cross_encoders import RerankingModel, open_reranker
from harness.models.late_interaction import max_sim
from harness.runner.plan import plan_cells

ASKED = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("passage", "score"),
    [
        # The first token of the question finds 1, the second .8.
        ([[0.6, 0.8], [1.0, 0.0]], 1.8),
        # One token of the passage may be the best for both: .6 and .8.
        ([[0.6, 0.8]], 1.4),
        # The passage's other tokens cost nothing.
        ([[0.6, 0.8], [-1.0, 0.0], [0.0, -1.0]], 1.4),
        ([[-1.0, 0.0]], -1.0),
        ([], 0.0),
    ],
)
def test_each_token_of_the_question_counts_with_its_nearest_token(
    passage: Sequence[Sequence[float]], score: float
) -> None:
    tokens = np.array(passage, dtype=np.float32).reshape(-1, 2)
    assert max_sim(np.array(ASKED, dtype=np.float32), tokens) == pytest.approx(score)


def test_a_passage_that_says_what_is_asked_comes_before_others() -> None:
    model = open_reranker("late-interaction")
    question = "Where do otters sleep?"
    passages = ["The bank raised its rates.", "Otters sleep in holts beside the river.", question, ""]
    bank, otters, same, empty = asyncio.run(model.scores(question, passages))
    assert empty == 0.0
    assert empty < bank < otters < same
    # Each of its tokens (where, do, otter, ##s, sleep, ?) has itself at cosine 1.
    assert same == pytest.approx(6.0, abs=1e-4)
    assert asyncio.run(model.scores(question, passages[1:2])) == [otters]
    assert asyncio.run(model.scores(question, [])) == []


def test_its_weights_are_part_of_the_run_id() -> None:
    RerankingModel("late-interaction").check()
    fake = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1")
    (cell,) = plan_cells(load_config(None, [*fake, "systems=[naive]", "answer.rerank=late-interaction"]))
    assert cell.identity["weights"] == {"reranker": RerankingModel("late-interaction").identity()}
