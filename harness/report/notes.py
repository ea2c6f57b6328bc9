"""Warnings about the numbers of a run: unfinished, failed, imputed, not metered, or not comparable."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from statistics import mean

from harness.core.languages import UNDERSTOOD, foreign_language
from harness.core.records import OWN_MODELS, EvaluationRecord
from harness.display import counted, printable
from harness.evaluators.run_scoring import NAMES_EVIDENCE, NO_GENERATOR
from harness.report.records import RecordCounts
from harness.report.run_view import RunView
from harness.statistics.columnar_scores import FAILED, ScoreColumns
from harness.statistics.cost import without_price
from harness.statistics.prices import Prices
from harness.store import Manifest, Records

_FAILED, _UNFINISHED = "Failed on ", "Unfinished, "
_INDEX_BUILT, _INDEX_SECONDS = "The index was built", "Index seconds are"
_DATA_SET, _UNUSED = "Data set: ", "Not applicable to any query: "
_BASELINE, REPEATED = "Baseline: ", "Not repeated: "
_MINOR = (
    *(_INDEX_BUILT, _INDEX_SECONDS, _UNUSED, _BASELINE, REPEATED, "Imported from "),
    *(f"{_DATA_SET}{said}" for said in ("documents read from ", "languages of the documents: ")),
)
_LONGEST_REASON, _LONGEST_NOTE = 160, 2000
_MOST_MEASURES = 7
_MOST_QUESTIONS = 200
"""As many as are read to find the language of a run."""

_FEWER_TOKENS = (
    "a server counted less than half of the tokens that were sent: it cuts long texts, or does not count cached "
    "tokens (docs/models.md)."
)


def run_notes(
    view: RunView, scores: ScoreColumns, records: Records, counts: RecordCounts, prices: Prices
) -> list[str]:
    """One sentence for each thing; empty for a run without any of them. `records`: those that count, and `scores`
    theirs.
    """
    manifest, damaged = view.manifest, view.resources.n_damaged if view.resources else 0
    return [
        *(printable(note, _LONGEST_NOTE) for note in manifest.notes),
        *_progress_notes(view, counts),
        *_score_notes(view, scores, records),
        *_language_notes(view, scores),
        *_index_notes(view),
        *_dialect_notes(view),
        *_cost_notes(view, counts, prices),
        *data_notes(manifest),
        *share_notes(view.evaluations, scores),
        *_unused_notes(scores),
        *([f"{_BASELINE}{printable(manifest.baseline, _LONGEST_NOTE)}"] if manifest.baseline else []),
        *([f"{counted(damaged, 'sample')} of CPU and RAM lost to an interruption."] if damaged else []),
    ]


def how_to_finish(is_running: bool) -> str:
    return "It is still running: wait until it ends." if is_running else "Run it again to resume."


def data_notes(manifest: Manifest) -> list[str]:
    """What a run prints of its data set when it starts."""
    return [f"{_DATA_SET}{printable(str(note), _LONGEST_NOTE)}" for note in manifest.dataset.get("notes") or ()]


def most_harmful_first(notes: Iterable[str]) -> list[str]:
    """Those on the data set late, and those that weaken no number last."""
    return sorted(
        notes,
        key=lambda note: (not is_serious(note), _INDEX_BUILT in note, weakens_nothing(note), _DATA_SET in note),
    )


def is_serious(note: str) -> bool:
    """Whether a note, with or without a label before it, says that answers failed or are missing."""
    return _FAILED in note or _UNFINISHED in note


def weakens_nothing(note: str) -> bool:
    """Whether a note, with or without a label before it, weakens no number by which runs are ranked."""
    return any(minor in note for minor in _MINOR)


def _progress_notes(view: RunView, counts: RecordCounts) -> Iterator[str]:
    if view.n_errors:
        of, cheap = counted(view.n_answered, "answer"), "Failing is cheap, so its costs are not compared."
        said = f"{_FAILED}{view.n_errors:,} of {of}, which count as wrong ({counts.why_failed})."
        yield f"{said} {cheap}" if view.fails_too_often else said
    if missing := view.n_expected - view.n_answered:
        what = f"{missing:,} of {counted(view.n_expected, 'answer')} {'is' if missing == 1 else 'are'} missing"
        yield f"{_UNFINISHED}{what}. {how_to_finish(view.is_running)}"
    elif not view.is_finished:
        yield f"{_UNFINISHED}although every query is answered. {how_to_finish(view.is_running)}"
    reach = view.run.reach()
    if reach and reach.query_ids:
        of = counted(int(view.manifest.dataset.get("n_queries", 0)), "query", "queries")
        yield (
            f"Stopped after {len(reach.query_ids):,} of {of} ({printable(reach.why, _LONGEST_REASON)}); those "
            "are a random sample."
        )
    if view.race is not None:
        yield (
            f"It was in a race by {printable(view.race.measure)}, which stops by its results: other tests, "
            "intervals and ranks are not valid for it."
        )
    if counts.n_retried:
        yield (
            f"{counted(counts.n_retried, 'query was', 'queries were')} answered after a failed earlier attempt."
        )


def _score_notes(view: RunView, scores: ScoreColumns, records: Records) -> Iterator[str]:
    evaluate = f"Run: rag-harness evaluate {printable(view.run.run_id, 200)}"
    if not scores.by_measure:
        yield f"Not evaluated: there are no scores. {evaluate}"
    if scores.any_missing_of(records):
        yield f"Out of date: answers were added after the evaluation. {evaluate}"
    # Metrics with the same failures share a note.
    alike: dict[tuple[int, int, str], list[str]] = {}
    for measure, own in sorted(scores.by_measure.items()):
        if own.facts.first_failure is not None:
            reason = printable(own.facts.first_failure, _LONGEST_REASON) or "no reason given"
            alike.setdefault((own.count(FAILED), len(own.states), reason), []).append(measure)
    for (n_failed, n, reason), measures in alike.items():
        yield (
            f"{_shortened(measures)}: {counted(n_failed, 'score')} of {n:,}{' each' if len(measures) > 1 else ''} "
            f"could not be computed. The first: {reason}"
        )


def _unused_notes(scores: ScoreColumns) -> Iterator[str]:
    """Metrics that apply to no query, without those that need a generator, and stand-ins that are not needed."""
    unused: dict[str, list[str]] = {}
    for measure, own in sorted(scores.by_measure.items()):
        if not own.facts.applies and NAMES_EVIDENCE not in own.facts.reasons:
            reasons = ", ".join(dict.fromkeys(map(printable, own.facts.reasons)))
            unused.setdefault(reasons, []).append(measure)
    for reasons, measures in unused.items():
        if reasons != NO_GENERATOR:
            yield f"{_UNUSED}{_shortened(measures)} ({reasons})."


def _shortened(measures: Sequence[str]) -> str:
    left = measures[_MOST_MEASURES:]
    shown = [*measures[:_MOST_MEASURES], f"{len(left):,} more"] if len(left) > 1 else measures
    return ", ".join(printable(name) for name in shown)


def _language_notes(view: RunView, scores: ScoreColumns) -> Iterator[str]:
    generator = view.manifest.model("generator")
    if generator.get("provider") == "none" or not scores.by_measure:
        return
    rows = itertools.islice(view.sample.values(), _MOST_QUESTIONS)
    if language := foreign_language(" ".join([row.query.text, *row.reference.answers]) for row in rows):
        yield (
            f"Most questions and answers seem to be in {language}. Abstentions, yes and no, and dates are read in "
            f"{UNDERSTOOD} only: right answers and abstentions may be miscounted."
        )


def _index_notes(view: RunView) -> Iterator[str]:
    index = view.index
    if index is None:
        if not view.manifest.is_imported:
            yield "The index is not built yet."
        return
    if index.reused_from:
        builder = printable(index.reused_from, 200)
        # Whether another run than its builder paid for calls or vectors that the build found.
        if (index.cost.replayed_from.keys() | index.cost.cached_from.keys()) - {index.built_by, ""}:
            yield f"{_INDEX_BUILT} by run {builder}; part of its cost was paid by other runs."
        else:
            yield f"{_INDEX_BUILT}, and its cost paid, by run {builder}."
    if not index.cost.is_live:
        saved = ((index.cost.replayed_calls, "model call"), (index.cost.cached_texts, "vector"))
        shown = " and ".join(counted(n, noun) for n, noun in saved if n)
        what = "a lower bound" if index.cost.saved_s is None else "reconstructed from stored times"
        yield f"{_INDEX_SECONDS} {what}: {shown} came from an earlier build."
    cut = sum(usage.cut_prompts for usage in index.cost.usage.values())
    if cut:
        yield f"In {counted(cut, 'call')} for the index {_FEWER_TOKENS}"
    if index.stats.failed_chunks:
        yield f"{counted(index.stats.failed_chunks, 'chunk')} could not be indexed."
    for note in index.stats.notes:
        yield f"Index: {printable(note, _LONGEST_NOTE)}"


def _dialect_notes(view: RunView) -> Iterator[str]:
    models = view.manifest.models
    for role, dialect in sorted(view.run.dialects().items()):
        if dialect.left_out:
            name = printable(str((models.get(role) or {}).get("model", "")))
            what = printable(", ".join(dialect.left_out), _LONGEST_REASON)
            yield (
                f"Not sent to the {printable(role)} {name}, which refuses it: {what}. The model's default is used "
                "instead."
            )


def _cost_notes(view: RunView, counts: RecordCounts, prices: Prices) -> Iterator[str]:
    identity, index = view.manifest.identity, view.index
    models = identity.get("models", {})
    if counts.n_own:
        what = "as reported by the pipeline itself" if counts.any_own_token else "unknown"
        yield (
            f"It answered {counted(counts.n_own, 'query', 'queries')} with models of its own, which are not "
            f"metered: tokens are {what}, dollars unknown, and neither is compared."
        )
    if index and not index.stats.is_elsewhere and OWN_MODELS in index.cost.usage:
        yield "Its index was built with models of its own, which are not metered: their cost is unknown."
    roles = counts.roles | (index.cost.called_roles if index else set())
    for role in without_price(roles - {OWN_MODELS}, models, prices):
        played_by = models.get(role) or {}
        name = printable(f"{played_by.get('provider', '')}/{played_by.get('model', '')}")
        yield f"No price is known for the {printable(role)} {name}, so no dollars are given (configs/prices.yaml)."
    yield from _token_notes(view, counts)
    limit_s = identity.get("limits", {}).get("query_timeout_s")
    if counts.n_timeouts and limit_s:
        yield (
            f"{counted(counts.n_timeouts, 'query', 'queries')} timed out: latency and wall time count "
            f"{limit_s:g} s for each, so that quantiles among them are lower bounds (≥)."
        )
    yield from _latency_notes(view, counts)


def _latency_notes(view: RunView, counts: RecordCounts) -> Iterator[str]:
    """Latencies that are missing, or that something else than the system makes shorter or longer."""
    for n, why in (
        (counts.n_replayed, "calls were replayed after an interruption"),
        (counts.n_cached, "vectors came from an earlier query, attempt or run"),
    ):
        if n:
            yield f"{counted(n, 'latency', 'latencies')} left out: {why}."
    if counts.n_unsplit and not view.manifest.is_imported:
        yield (
            f"{counted(counts.n_unsplit, 'latency is', 'latencies are')} wall time, because throttling was not "
            "recorded separately. Do not compare seconds with later runs."
        )
    if spread := view.run.cluster_info():
        yield (
            f"Answered on a cluster, by up to {counted(spread.n_workers, 'worker')} at once: latencies include "
            "the network and the load of the other workers, and CPU and RAM were not sampled. Do not compare "
            "seconds with runs on one machine."
        )
    concurrency = view.manifest.identity.get("limits", {}).get("concurrency", 1)
    if concurrency != 1:
        yield f"{concurrency} queries were answered at once: each latency includes the load of the others."


def _token_notes(view: RunView, counts: RecordCounts) -> Iterator[str]:
    """Tokens that were not counted, and parts of prompts that the server cut off."""
    if counts.n_unmetered:
        why = "the server did not count them or was cut off"
        if view.manifest.is_imported:
            why = "the imported file does not give them"
        what = "not all known, so that tokens and dollars are lower bounds" if counts.any_token else "unknown"
        yield f"Tokens of {counted(counts.n_unmetered, 'query', 'queries')} are {what}: {why}."
    queries = counted(counts.n, "query", "queries")
    if counts.n_cut:
        small = "models.generator.max_tokens may be too small"
        yield f"In {counts.n_cut:,} of {queries} a reply of the model was cut off: {small}."
    if counts.n_cut_prompts:
        yield f"In {counts.n_cut_prompts:,} of {queries} {_FEWER_TOKENS}"
    if counts.n_reasoned:
        yield f"Reasoning was removed from {counted(counts.n_reasoned, 'answer')}; the trace has it."
    elif counts.reasoning_tokens:
        yield (
            f"{counts.reasoning_tokens:,} of {counts.output_tokens:,} output tokens are reasoning, which is not "
            "part of the answers."
        )


def share_notes(evaluations: Iterable[EvaluationRecord], scores: ScoreColumns) -> Iterator[str]:
    owner = {name: one.evaluator for one in evaluations for name in one.measures}
    shares: dict[str, list[float]] = {}
    for measure, column in scores.by_measure.items():
        if column.facts.shares_read:
            shares.setdefault(owner.get(measure, measure), []).extend(column.facts.shares_read)
    for evaluator, read in sorted(shares.items()):
        # Larger shares are shown as 100 %.
        part = [share for share in read if share < 0.9995]
        if part:
            yield (
                f"{printable(evaluator)}: its judge was shown a part of the contexts in {len(part):,} of "
                f"{counted(len(read), 'score')} ({100 * mean(read):.0f} % on average over all): they say nothing "
                "of the rest."
            )
