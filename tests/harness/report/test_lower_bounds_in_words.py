"""What was not all counted is a lower bound wherever it is said: in sentences, alt texts and tips too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from report_groups import group_of

from harness.core.records import OWN_MODELS, Cost, Failure, Usage
from harness.display.plotting import page_svg, plotting
from harness.report.figures.break_even import draw_break_even
from harness.report.figures.pareto import draw_pareto
from harness.report.figures.tokens import draw_tokens
from harness.report.words.contest import hold
from harness.report.words.costs import cost_sentences
from harness.store import RunDir

if TYPE_CHECKING:
    from harness.display import Drawing
    from harness.display.plotting import NewFigure

MakeRun = Callable[..., RunDir]
TYPES = {"inference_query": 20}
BLIND = Usage(calls=2, input_tokens=10, unmetered_calls=1)


@pytest.fixture
def new_figure() -> Iterator[NewFigure]:
    with plotting() as made:
        yield made


def said(*runs: RunDir, is_tested: bool = True) -> list[str]:
    contest = hold(group_of(*runs))
    assert contest is not None
    return list(cost_sentences(contest, is_tested=is_tested))


def index_of(tokens: int, *, is_counted: bool = True) -> Cost:
    usage = Usage(calls=2, input_tokens=tokens, unmetered_calls=0 if is_counted else 1)
    return Cost(wall_s=1.0, usage={"embedder": usage})


def tips_of(drawing: Drawing) -> list[str]:
    """What marks say where somebody points at them."""
    return re.findall("<title>(.*?)</title>", page_svg(drawing.figure, drawing.stem))


def test_one_run_alone_takes_at_least_what_was_counted_and_has_no_interval_of_it(make_run: MakeRun) -> None:
    found = said(make_run(types=TYPES, usage=BLIND))
    assert "It takes ≥ 10 tokens a query." in found
    (seconds,) = [one for one in found if one.endswith("seconds a query.") or "seconds a query (95 %" in one]
    assert "≥" not in seconds


def test_one_run_alone_says_whose_word_its_tokens_are(make_run: MakeRun) -> None:
    from paired_runs import ScoredRun, write_run

    run = make_run(types=TYPES)
    told = {OWN_MODELS: Usage(calls=1, input_tokens=3, output_tokens=1, unmetered_calls=1)}
    scores = {"accuracy": [1.0] * 20}
    other = write_run(run.path.parent.parent / "told", ScoredRun("told", scores, usage=told))
    assert "It takes ≥ 4 tokens a query, as reported." in said(other)


def test_beside_a_race_a_lower_bound_is_shown_as_one(make_run: MakeRun) -> None:
    late = Failure(kind="timeout", message="no answer within 600 s")
    types = {"inference_query": 120}
    runs = (make_run(types=types), make_run(system="kg", types=types, failing=1, failure=late))
    (seconds,) = [one for one in said(*runs, is_tested=False) if "seconds a query" in one]
    assert "kg ≥ " in seconds
    assert "naive ≥ " not in seconds


def test_the_cheapest_index_is_not_one_that_was_not_counted_in_full(make_run: MakeRun) -> None:
    runs = (
        make_run(system="blind", types=TYPES, index_cost=index_of(7, is_counted=False)),
        make_run(system="kg", types=TYPES, index_cost=index_of(3_000)),
        make_run(system="naive", types=TYPES, index_cost=index_of(2_000)),
    )
    found = said(*runs)
    assert "Building an index took from 2,000 tokens (naive) to 3,000 tokens (kg)." in found
    assert "Indexes that were not counted in full: that of blind (≥ 7 tokens)." in found


@pytest.mark.slow
def test_figures_say_it_to_who_cannot_see_them_and_to_who_points_at_them(
    make_run: MakeRun, new_figure: NewFigure
) -> None:
    group = group_of(
        make_run(types=TYPES), make_run(system="kg", types=TYPES, usage=BLIND, index_cost=index_of(7))
    )
    pareto = next(one for one in draw_pareto(group, "accuracy", new_figure) if one.stem == "pareto_tokens")
    (even, *_) = draw_break_even(group, new_figure)
    (tokens, *_) = draw_tokens(group, new_figure)
    assert "at ≥ 10." in pareto.alt
    assert "at ≥ 2," not in pareto.alt
    assert "kg: ≥ 10.0." in even.alt
    assert "kg ≥ 10 tokens." in tokens.alt
    assert "naive ≥" not in tokens.alt
    assert any(tip.startswith("kg: ") and tip.endswith("at ≥ 10") for tip in tips_of(pareto))
    assert "kg, input, generator: ≥ 10" in tips_of(tokens)
