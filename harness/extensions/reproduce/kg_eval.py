"""Dong et al. 2025: KG-based scores of RAG answers, beside RAGAS and people."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING

from harness.display import Entry, Quantity, Table, printable
from harness.evaluators.kg.evaluator import built
from harness.evaluators.kg.graph_files import QueryGraph, make_graph
from harness.evaluators.kg.graphs.drawing import query_graph_figure
from harness.evaluators.kg.graphs.graph import TRIPLET_WEIGHT
from harness.evaluators.kg.measures import PAIRS, PairName
from harness.extensions.meta_evaluation.correlation_columns import (
    HumanLabel,
    LabelSheet,
    computed_values,
    measured_columns,
    with_labels,
)
from harness.extensions.meta_evaluation.perturbed_runs import PerturbationChoice
from harness.extensions.reproduce import drawing
from harness.extensions.reproduce.paper import (
    Item,
    NotMade,
    Paper,
    PaperRuns,
    changed_answers,
    item_table,
    spearman,
)
from harness.store import RunDir
from harness.store.annotations import read_annotations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

_RAGAS: dict[PairName, str] = {
    "context_relevancy": "ragas_context_relevance",
    "answer_relevancy": "ragas_response_relevancy",
    "faithfulness": "ragas_faithfulness",
    "factual_correctness": "ragas_factual_correctness",
}
"""The metric of RAGAS for the texts of each pair."""
_KG = {
    "multi-hop": "kg_multi_hop_{}_published",
    "community": "kg_community_{}_published",
    "multi-hop, with names": "kg_multi_hop_{}",
    "community, with names": "kg_community_{}",
}
"""As published, and ours, which compares short answers by their names."""
_DATA = {"UDA-QA": "uda_qa", "MS MARCO": "ms_marco"}
_GRAPH_PAIRS: tuple[PairName, ...] = ("context_relevancy", "faithfulness", "factual_correctness")
_MOST_NODES = 40
"""Triplets of a graph that can be read on a page."""


def _run(runs: PaperRuns, data: str) -> RunDir:
    for view in runs.views_of("naive"):
        if view.manifest.identity["dataset"]["name"] == _DATA[data]:
            return view.run
    raise NotMade(f"no run over {data}")


def _beside_ragas(data: str, runs: PaperRuns) -> Table:
    columns = measured_columns([_run(runs, data)])
    rows = (
        [_spoken(pair), *(spearman(columns, name.format(pair), _RAGAS[pair]) for name in _KG.values())]
        for pair in PAIRS
    )
    return item_table(("dimension", *_KG), rows, f"Spearman's correlation with RAGAS over the answers to {data}.")


def _beside_people(runs: PaperRuns) -> Table:
    found = [_run(runs, data) for data in _DATA]
    if runs.models == "scripted":
        given, note = _scripted_labels(found), "Scripted labels: they mean nothing."
    else:
        given = [
            HumanLabel(run.run_id, one.query_id, one.annotator, one.dimension, one.label)
            for run in found
            for one in read_annotations(run)
            if one.dimension and one.label is not None
        ]
        people = len({label.annotator for label in given})
        note = f"Spearman's correlation with the labels of {people} people."
    if not given:
        raise NotMade("no answer is labelled: `rag-harness annotate RUN --fraction 0.1`, for each of its runs")
    rows: list[tuple[Entry, ...]] = []
    columns = with_labels(measured_columns(found), LabelSheet(found[0].path, tuple(given), 0))
    for pair, place in PAIRS.items():
        names = [*(name.format(pair) for name in _KG.values()), _RAGAS[pair]]
        rows.append((_spoken(pair), *(spearman(columns, name, place.dimension) for name in names)))
    return item_table(("dimension", *_KG, "RAGAS"), rows, note)


def _scripted_labels(found: Sequence[RunDir]) -> list[HumanLabel]:
    """Labels of every answer that depend on nothing but its name."""
    return [
        HumanLabel(run.run_id, row.query.query_id, annotator, place.dimension, 1 + digest[at] % 5)
        for run in found
        for row in run.sample()
        for annotator in ("scripted-1", "scripted-2")
        for digest in [hashlib.sha256(f"{annotator} {row.query.query_id}".encode()).digest()]
        for at, place in enumerate(PAIRS.values())
    ]


def _substituted(runs: PaperRuns, data: str, *, is_wrong: bool) -> Table:
    """The scores of each answer that was replaced by its reference, or by the answer to another query."""
    changes = PerturbationChoice(swaps=("wrong_answer",))
    sensed = changed_answers(runs, _run(runs, data), ("kg", "ragas"), changes)
    ((_, wrong),) = sensed.runs.swapped
    values = computed_values(wrong if is_wrong else sensed.runs.base)
    columns = {
        f"{title}, {_spoken(pair)}": values.get(name, {})
        for pair in ("answer_relevancy", "factual_correctness")
        for title, name in (
            ("multi-hop", f"kg_multi_hop_{pair}_published"),
            ("community", f"kg_community_{pair}_published"),
            ("RAGAS", _RAGAS[pair]),
        )
    }
    queries = sorted({query for column in columns.values() for query in column})
    rows: list[tuple[Entry, ...]] = [
        (query, *(Quantity(column.get(query)) for column in columns.values())) for query in queries
    ]
    means = (f"{title} {sum(own.values()) / len(own):.2f}" for title, own in columns.items() if own)
    return item_table(("query", *columns), rows, f"Means: {'; '.join(means)}.")


@cache
def _graph(runs: PaperRuns) -> tuple[str, QueryGraph]:
    """The graph of the first query for which both texts have triplets and an entity is reached, and what it is."""
    for run, pair, query in _reaching(runs):
        with (
            runs.open(run, query, "kg") as answer,
            closing(built("kg", answer.params, answer.runtime)) as evaluator,
        ):
            found = asyncio.run(make_graph(evaluator, answer, pair))
        sides = found.graph.inputs, found.graph.contexts
        if all(side.triplets for side in sides) and sum(len(side.triplets) for side in sides) <= _MOST_NODES:
            return f"{_spoken(pair)} of {printable(query)}: {printable(found.question, 120)}", found
    raise NotMade("no answer has a graph of triplets in which an entity of the input reaches the context")


def _reaching(runs: PaperRuns) -> Iterator[tuple[RunDir, PairName, str]]:
    for pair in _GRAPH_PAIRS:
        for data in _DATA:
            run = _run(runs, data)
            values = computed_values(run).get(f"kg_multi_hop_{pair}_published", {})
            yield from ((run, pair, query) for query, value in sorted(values.items()) if value > 0)


def _construction(runs: PaperRuns) -> Table:
    """The triplets of both texts, and the SIMILAR edges between them, with their weights."""
    title, found = _graph(runs)
    rows: list[tuple[Entry, ...]] = []
    for name, side in (("input", found.graph.inputs), ("context", found.graph.contexts)):
        rows += [(name, *map(printable, triplet), Quantity(TRIPLET_WEIGHT)) for triplet in side.triplets]
    for edge in found.graph.similar_edges():
        ends = (printable(edge.input_entity), "SIMILAR", printable(edge.context_entity))
        rows.append(("both", *ends, Quantity(edge.similarity)))
    return item_table(("text", "head", "relation", "tail", "weight"), rows, f"The graph of {title}.")


def _matching(runs: PaperRuns) -> Table:
    """The input entities with the cost of their cheapest path to a context entity."""
    title, found = _graph(runs)
    matches = {match.entity: match for match in found.matches}
    rows = [
        (printable(label), printable(match.similar.context_entity), Quantity(match.cost))
        if (match := matches.get(label))
        else (printable(label), "none within reach", Quantity(None))
        for label in found.graph.inputs.labels
    ]
    said = f"multi-hop {found.scores.multi_hop:.2f}, community {found.scores.community:.2f}"
    return item_table(("input entity", "reaches", "cost"), rows, f"The graph of {title}. Scores: {said}.")


def _draw_graph(_table: Table, runs: PaperRuns, new_figure: NewFigure, *, is_matched: bool) -> Figure:
    title, found = _graph(runs)
    return query_graph_figure(found.graph, found.matches if is_matched else None, title, new_figure)


def _spoken(pair: str) -> str:
    return pair.replace("_", " ")


# A coefficient needs ten answers.
_SMALL = {
    "matrix": {
        "dataset": [
            {"name": "uda_qa", "sample": {"per_type": 12, "seed": 42}},
            {"name": "ms_marco", "sample": {"per_type": 4, "seed": 42}},
        ]
    },
    "per_system.naive.answer.top_k": 2,
    "models.judge.max_tokens": 1024,
}
PAPER = Paper(
    name="kg_eval",
    citation="Dong, Zolfaghari, Petrovic and Knoll 2025, KG-based RAG evaluation",
    configs=("kg_eval.yaml",),
    settings={"local": _SMALL, "scripted": _SMALL},
    items=(
        *(
            Item(number, f"KG-based scores and RAGAS, {data}", partial(_beside_ragas, data), drawing.bars)
            for number, data in zip(("figure-1a", "figure-1b"), _DATA, strict=True)
        ),
        Item("figure-1c", "KG-based scores, RAGAS and people", _beside_people, drawing.bars),
        *(
            Item(
                f"figure-1{letter}",
                f"scores of {'wrong' if is_wrong else 'reference'} answers as answers, {data}",
                partial(_substituted, data=data, is_wrong=is_wrong),
                drawing.histograms,
            )
            for letter, (is_wrong, data) in zip("defg", product((False, True), _DATA), strict=True)
        ),
        Item("figure-2a", "a graph", _construction, partial(_draw_graph, is_matched=False), True),
        Item("figure-2b", "its paths and communities", _matching, partial(_draw_graph, is_matched=True), True),
    ),
)
