"""Runs `rag-harness validate`: scores a labelled set with evaluators and prints its card."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.api.config_building import bench_config, price_table
from harness.cli.console import complain, open_console
from harness.cli.evaluate import conclude, resumable, say_stopped
from harness.config import BenchConfig
from harness.core.errors import HarnessError
from harness.core.records import Context, Prediction, Query, Reference, Usage
from harness.extensions.meta_evaluation.answers_as_run import answers_as_run
from harness.extensions.meta_evaluation.card_output import card_json, card_sentences, card_tables, write_card
from harness.extensions.meta_evaluation.correlation_columns import computed_values
from harness.extensions.meta_evaluation.labelled_sets import LabelledDimension, LabelledSet
from harness.extensions.meta_evaluation.validity_card import (
    SHOWN,
    Card,
    CardValues,
    LabelledRow,
    MeasuredBy,
    build_card,
)
from harness.registry import EVALUATORS
from harness.report.terminal import WIDTH, print_table
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.evaluating.evaluate import evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator, check_judges, plan_evaluation
from harness.runner.machine_info import git_commit
from harness.runner.progress import Reporter
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir, SampleRow

_LABELLED = "labelled"


def score_and_print(
    human: LabelledSet,
    config: BenchConfig,
    reporter: Reporter,
    *,
    prices: Path | None,
    results: Path,
    out: Path | None,
    as_json: bool,
) -> int:
    """Score every item with every evaluator of the config, write the card and print it; returns the exit code.

    An evaluator that has scored all with the same models and parameters does not so again; failed scores are tried
    again, and judgements already made are not paid again. Raises HarnessError, one line, before anything is
    scored: an unknown evaluator, a judge that is not configured or does not answer.
    """
    with resumable("paid judgements are kept"):
        table, plan = price_table(prices or config.prices), plan_evaluation(config)
        check_judges(plan)
        run = _labelled_run(human, results, reporter)
        spending = BudgetTracker(config.budget, table, results, [CostOwner.of(run, {}, plan)], warn=reporter.warn)
        spending.check_prices(plan.models)
        left = replace(plan, evaluators=tuple(one for one in plan.evaluators if not _is_scored(one, plan, run)))
        outcome = evaluate_runs([run], left, results, reporter, spending)
    measures = list(_measured(run, plan, table))
    values = card_values(human, measures, computed_values(run), plan.models)
    if values.measures:
        write_and_print(build_card(values), out or results / "validity" / values.name, as_json=as_json)
    code = conclude([outcome])
    return say_stopped(outcome.stopped, spending, "judgements are unfinished") if outcome.stopped else code


def _labelled_run(human: LabelledSet, results: Path, reporter: Reporter) -> RunDir:
    answers = []
    for item in human.items:
        known = (item.reference,) if item.reference.strip() else ()
        row = SampleRow(
            query=Query(query_id=item.item_id, text=item.query),
            reference=Reference(query_id=item.item_id, query_type=_LABELLED, answers=known),
        )
        contexts = tuple(Context(text=text, doc_ids=()) for text in item.contexts)
        answers.append((row, Prediction(answer=item.answer, contexts=contexts)))
    data = {"name": human.name, "subset": "", "digest": human.digest}
    return answers_as_run(
        results,
        f"{human.name.replace('_', '-')}--{_LABELLED}",
        answers,
        identity={
            "dataset": data,
            "system": {"name": _LABELLED, "version": "imported", "index": {}, "answer": {}},
            "models": {"generator": {"provider": "imported", "model": _LABELLED}},
            "seed": 0,
            "imported": {"labelled": human.digest},
        },
        config={"dataset": {"name": human.name}},
        dataset={
            **data,
            "n_queries": len(human.items),
            "n_documents": 0,
            "type_mix": {human.name: len(human.items)},
            "title": human.title,
            "notes": list(human.notes),
        },
        note="Answers of a public set that people labelled: each of its queries is one of them.",
        git_commit=git_commit(),
        usage={"generator": Usage(unmetered_calls=1)},
        tell=reporter.warn,
    )


def _is_scored(planned: PlannedEvaluator, plan: EvaluationPlan, run: RunDir) -> bool:
    """Whether the run already has all scores of this evaluator."""
    made = next((one for one in run.evaluations() if one.evaluator == planned.spec.name), None)
    if made is None or not plan.would_make(planned, made):
        return False
    names = set(made.measures)
    return not any(score.status == "failed" for score in run.scores() if score.measure in names)


def card_values(
    human: LabelledSet,
    measures: Sequence[MeasuredBy],
    found: Mapping[str, Mapping[str, float]],
    models: Mapping[str, Mapping[str, Any]],
) -> CardValues:
    """The labels of a set, with the scores in `found` (measure -> item -> value) and those that came with it."""
    worst = {one.name: one.worst for one in measures if one.worst is not None and one.name in found}
    stored = dict.fromkeys(name for one in human.dimensions for name in one.stored)
    return CardValues(
        name=human.name,
        title=human.title,
        notes=human.notes,
        dimensions={one.name: one.title for one in human.dimensions},
        binary=tuple(one.name for one in human.dimensions if one.is_binary),
        measures=(*measures, *(MeasuredBy(name=name, n_items=len(human.items)) for name in stored)),
        rows=tuple(row for one in human.dimensions for row in _rows(one, found, worst)),
        models={role: dict(model) for role, model in models.items()},
    )


def _measured(run: RunDir, plan: EvaluationPlan, prices: Prices) -> Iterator[MeasuredBy]:
    """Every metric of the plan's evaluators that scored the run, with its cost."""
    by_evaluator = {one.evaluator: one for one in run.evaluations()}
    n_items = len(run.sample())
    failed = Counter(score.measure for score in run.scores() if score.status == "failed")
    for planned in plan.evaluators:
        record = by_evaluator.get(planned.spec.name)
        if record is None:
            continue
        usage = record.cost.usage
        for measure in planned.measures:
            yield MeasuredBy(
                name=measure.name,
                title="" if measure.title == measure.name else measure.title,
                evaluator=planned.spec.name,
                is_judged="judge" in planned.spec.roles,
                worst=measure.failure_value,
                n_items=n_items,
                n_failed=failed[measure.name],
                evaluator_wall_s=record.cost.wall_s,
                evaluator_tokens=sum(used.input_tokens + used.output_tokens for used in usage.values()),
                evaluator_usd=usage_usd(prices, plan.models, usage),
            )


def _rows(
    dimension: LabelledDimension, found: Mapping[str, Mapping[str, float]], worst: Mapping[str, float]
) -> Iterator[LabelledRow]:
    for row in dimension.rows:
        known, filled = {}, {}
        for name, values in {**found, **dimension.stored}.items():
            # The score of an item, or the difference second - first of a pair.
            *first, last = [values.get(item, worst.get(name, 0.0)) for item in row.item_ids]
            if all(item in values for item in row.item_ids):
                known[name] = last - sum(first)
            elif name in worst:
                filled[name] = last - sum(first)
        yield LabelledRow(
            dimension=dimension.name,
            row_id=" ".join(row.item_ids),
            question_id=row.question_id,
            labels=row.labels,
            scores=known,
            filled=filled,
        )


def scoring_config(
    path: Path | None, evaluators: Sequence[str], settings: Sequence[str], *, judged: bool, reporter: Reporter
) -> BenchConfig:
    """The config for scoring. If it names no evaluators, it takes all that can run here and need no judge, or may
    have one, with a warning for each whose packages are missing.
    """
    if not evaluators and path is None:
        able = []
        for name in EVALUATORS.names():
            spec = EVALUATORS.load(name)
            if "judge" in spec.roles and not judged:
                continue
            try:
                if spec.preflight:
                    spec.preflight(spec.params())
                able.append(name)
            except HarnessError as error:
                reporter.warn(f"{name} is left out: {error}")
        evaluators = able
    if evaluators:
        settings = (*settings, f"evaluators={json.dumps(list(evaluators))}")
    return bench_config(path, settings=settings)


def write_and_print(card: Card, out: Path, *, as_json: bool) -> None:
    picture = write_card(card, out)
    if as_json:
        sys.stdout.write(json.dumps({**card_json(card), "out": str(out)}) + "\n")
        return
    console = open_console()
    for table in card_tables(card, SHOWN):
        print_table(table, console, max(WIDTH, console.width))
    for line in card_sentences(card):
        console.print(f"- {line}", soft_wrap=True, markup=False, highlight=False)
    if picture:
        console.print(f"picture: {out / picture.path}", soft_wrap=True)
    else:
        complain("there is nothing to draw: no measure varies with these labels")
    console.print(f"card: {out}", soft_wrap=True)
