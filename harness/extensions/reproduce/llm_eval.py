"""Dong 2025: a judge that verifies triplets of facts, validated by cosines, beside RAGAS."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from harness.core.records import Triplet
from harness.display import Entry, Quantity, Table, counted, printable
from harness.display.plotting import LIGHT, PALETTE
from harness.evaluators.judge_calls import NotApplicable
from harness.evaluators.score_preconditions import reference_answer, score_without_reading
from harness.evaluators.triplet import TripletParams
from harness.evaluators.triplet.published import PublishedMetrics
from harness.extensions.meta_evaluation.correlation_columns import ValueColumns, computed_values, measured_columns
from harness.extensions.meta_evaluation.correlations import HIGH, LOW, column_spread, group_means
from harness.extensions.reproduce import drawing
from harness.extensions.reproduce.paper import Item, NotMade, Paper, PaperRuns, item_table, spearman
from harness.llm_utils.structured_output import Unreadable
from harness.protocols import OpenedAnswer
from harness.store import RunDir

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

_METRICS = {
    "response relevancy": ("triplet_response_relevancy", "ragas_response_relevancy"),
    "faithfulness": ("triplet_faithfulness_published", "ragas_faithfulness"),
    "factual correctness": ("triplet_factual_correctness_published", "ragas_factual_correctness"),
}
"""LLM-eval's metric and RAGAS's of the same name, which need not measure the same."""
_COSINES = {
    "faithfulness": "triplet_faithfulness_cosine_published",
    "factual correctness": "triplet_factual_correctness_cosine_published",
}
_MOST_TRIED = 20
"""Answers of which one must state a fact."""
_RHO = "Spearman's rho"


def _run(runs: PaperRuns) -> RunDir:
    return runs.view("naive").run


def _decomposition(runs: PaperRuns) -> Table:
    """An answer and the facts that the judge extracted from it."""
    run = _run(runs)
    for query, record in list(run.records().items())[:_MOST_TRIED]:
        if record.prediction is None:
            continue
        with runs.open(run, query[0], "triplet") as answer:
            params = answer.params
            assert isinstance(params, TripletParams)  # noqa: S101 - the params of this evaluator
            measure = next(one for one in answer.case.measures if one.reads == {"answer", "contexts"})
            if score_without_reading(answer.case, measure):
                continue
            try:
                found = asyncio.run(_facts(answer, params))
            except (NotApplicable, Unreadable):
                continue
        rows = [("answer", printable(answer.case.prediction.answer or "", 400))]
        rows += [(f"fact {number}", printable(" ".join(fact), 200)) for number, fact in enumerate(found, start=1)]
        return item_table(("part", "text"), rows, "Each fact is a triplet, here without its bars.")
    raise NotMade(f"none of the first {_MOST_TRIED} answers states a fact")


async def _facts(answer: OpenedAnswer, params: TripletParams) -> tuple[Triplet, ...]:
    with answer.runtime.charge():
        _, support = await PublishedMetrics(params, answer.runtime).support(answer.case)
    return support.facts


def _entry(runs: PaperRuns) -> Table:
    """The first query with its contexts, the answer and the reference."""
    rows = _run(runs).sample_by_id()
    for (query, _), record in _run(runs).records().items():
        if record.prediction and record.prediction.answer:
            asked, gold = rows[query].query.text, reference_answer(rows[query].reference)
            contexts = " ".join(context.text for context in record.prediction.contexts)
            texts = (asked, contexts, record.prediction.answer, gold)
            header = ("question", "context", "answer", "reference")
            return item_table(header, [[printable(one, 300) for one in texts]])
    raise NotMade("no query was answered")


def _scored_twice(runs: PaperRuns, name: str) -> tuple[ValueColumns, str, str]:
    """The scores, and the names of those of the judge and by cosine."""
    columns = measured_columns([_run(runs)])
    judged, cosine = _METRICS[name][0], _COSINES[name]
    if not {judged, cosine} <= set(columns.names):
        raise NotMade("no answer has a score of the judge and one by cosine")
    return columns, judged, cosine


def _groups(name: str, runs: PaperRuns) -> Table:
    """The mean cosine score where the judge's score is high and where it is low."""
    columns, judged, cosine = _scored_twice(runs, name)
    found = group_means(columns.having(judged, cosine), judged, cosine)
    if not (found.n_high and found.n_low):
        counts = f"{counted(found.n_high, 'answer')} above {HIGH:g}, {found.n_low} below {LOW:g}"
        raise NotMade(f"{counts}: both are needed")
    if found.high == found.low:
        raise NotMade(f"both groups have a mean of {found.high:.2f}")
    rows: list[tuple[Entry, ...]] = [
        (f"above {HIGH:g}", Quantity(found.high, unit="coefficient"), Quantity(found.n_high, unit="count")),
        (f"below {LOW:g}", Quantity(found.low, unit="coefficient"), Quantity(found.n_low, unit="count")),
    ]
    return item_table(("score of the judge", "mean score by cosine", "answers"), rows)


def _draw_means(table: Table, runs: PaperRuns, new_figure: NewFigure) -> Figure:
    """Without the numbers of answers, which are on another scale."""
    return drawing.bars(item_table(table.header[:2], [row[:2] for row in table.rows]), runs, new_figure)


def _validation(name: str, runs: PaperRuns) -> Table:
    """The judge's score and that by cosine of each answer; their correlation first."""
    columns, judged, cosine = _scored_twice(runs, name)
    rho = spearman(columns, judged, cosine)
    if isinstance(rho, str):
        raise NotMade(rho)
    points: list[tuple[Entry, ...]] = [
        (printable(row.query_id), *(Quantity(row.values[one]) for one in (judged, cosine)), "")
        for row in columns.having(judged, cosine)
    ]
    return item_table(
        ("answer", "score of the judge", "score by cosine", _RHO),
        [("all answers", "", "", rho), *points],
    )


def _draw_points(table: Table, _runs: PaperRuns, new_figure: NewFigure) -> Figure:
    points = [
        (one.value or 0.0, other.value or 0.0)
        for _, one, other, _ in table.rows
        if isinstance(one, Quantity) and isinstance(other, Quantity)
    ]
    figure = new_figure(figsize=(4.6, 3.6), layout="constrained")
    axes = figure.subplots()
    x, y = zip(*points, strict=True)
    axes.scatter(x, y, s=14, color=PALETTE[0], alpha=0.5)
    axes.set_xlabel(table.header[1])
    axes.set_ylabel(table.header[2])
    axes.grid(color=LIGHT, linewidth=0.6)
    return figure


def _comparison(runs: PaperRuns) -> Table:
    values = computed_values(_run(runs))
    rows: list[tuple[Entry, ...]] = []
    for name, measures in _METRICS.items():
        own = [values.get(measure, {}) for measure in measures]
        spreads = [column_spread([*one.values()]) if one else None for one in own]
        means = (Quantity(one and one.mean, unit="coefficient") for one in spreads)
        deviations = (Quantity(one and one.deviation, unit="coefficient") for one in spreads)
        rows.append((name, *means, *deviations))
    header = ("metric", *(f"{what}, {whose}" for what in ("mean", "deviation") for whose in ("LLM-eval", "RAGAS")))
    return item_table(header, rows)


_LOCAL: Mapping[str, object] = {
    # The data directory has no test split, whose 2,400 rows come from the hub.
    "dataset.subset": "train",
    # About half of the model's answers can be decomposed, and figures 7 and 10 need ten of them.
    "dataset.sample": {"per_type": 24, "seed": 42},
    "models.judge_embedder": {"provider": "minilm"},
    "per_system.naive.answer.top_k": 2,
    "models.judge.max_tokens": 1024,
}
_SCRIPTED_COUNTS = {
    rf"{prompt}Together they are {total}\b": f'{{"tp": {found}, "fn": {total - found}}}'
    for total in (1, 2, 3)
    for prompt, found in ((r"(?s)1\. [A-M].*", total), ("", total // 2))
}
"""Prompt -> counts of as many facts as there are, which a scripted reply would only have by chance."""
_SCRIPTED: Mapping[str, object] = {
    **_LOCAL,
    "dataset.sample.per_type": 12,
    # Cosines of a scripted model's facts stay far below 0.9.
    "per_evaluator.triplet.threshold": 0.2,
    "models.judge.options.replies": _SCRIPTED_COUNTS,
}
PAPER = Paper(
    name="llm_eval",
    citation="Dong 2025, LLM result post-processing and verification",
    configs=("llm_eval.yaml",),
    settings={"local": _LOCAL, "scripted": _SCRIPTED},
    items=(
        Item("table-I", "an answer and its facts", _decomposition),
        Item("table-II", "an entry of the evaluation set", _entry),
        Item("figure-6", "faithfulness by cosine, by group", partial(_groups, "faithfulness"), _draw_means),
        Item(
            "figure-7", "faithfulness by judge and by cosine", partial(_validation, "faithfulness"), _draw_points
        ),
        Item("figure-9", "correctness by cosine, by group", partial(_groups, "factual correctness"), _draw_means),
        Item(
            "figure-10",
            "correctness by judge and by cosine",
            partial(_validation, "factual correctness"),
            _draw_points,
        ),
        Item("figure-11", "means and deviations beside RAGAS", _comparison, drawing.bars),
    ),
)
