"""Warnings about numbers: unfinished, failed, imputed or not comparable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.core.records import OWN_MODELS, EvaluationRecord, IndexRecord
from harness.display.text_format import counted, printable
from harness.evaluators.run_scoring import NO_GENERATOR
from harness.report.context_notes import lacks_evidence, language_notes, sees_gold, share_notes
from harness.report.labels import differences, other_weights
from harness.report.record_counts import RecordCounts
from harness.statistics import Frame, Prices, Resources
from harness.statistics.columnar_scores import FAILED, ScoreColumn, ScoreColumns, Spreads
from harness.statistics.cost import called_roles, fails_too_often, without_price
from harness.store import Manifest, Records, RunDir

UNFINISHED = "Unfinished"
"""The note on a run that is not finished begins with it."""
_LONGEST_REASON = 160
_MOST_MEASURES = 7
_FEWEST_JUDGED = 10
"""Answers of one value from which on that is no accident."""
_OWN_KEYS = {"system", "dataset", "imported"}
"""Of an identity: what makes a run another one without being a circumstance that a reader must be warned of."""


_FEWER_TOKENS = (
    "a server counted less than half of the tokens that were sent: it cuts long texts, or does not count cached "
    "tokens (docs/models.md)."
)
Answers = tuple[Records, RecordCounts]
"""The records that count, and what became of them."""


def run_notes(run: RunDir, frame: Frame, scores: ScoreColumns, answers: Answers, prices: Prices) -> list[str]:
    """One sentence for each thing; empty for a run that finished without any of them."""
    records, counts = answers
    return [
        *(printable(note, _LONGEST_REASON) for note in (run.manifest().baseline, *run.manifest().notes) if note),
        *_gold_notes(run),
        *_progress_notes(run, frame, counts),
        *_score_notes(run, scores, records),
        *language_notes(run, scores),
        *_index_notes(run),
        *_dialect_notes(run),
        *_cost_notes(run, counts, prices),
        *_dataset_notes(run),
        *share_notes(run.evaluations(), scores),
        *_unused_notes(scores),
    ]


def _gold_notes(run: RunDir) -> list[str]:
    """A baseline that is given the evidence, if the data set has too little of it."""
    if not sees_gold(run.manifest()):
        return []
    return [why] if (why := lacks_evidence(run.sample())) else []


def resource_notes(resources: Resources | None) -> list[str]:
    """What resources.csv lost."""
    if resources is None or not resources.n_damaged:
        return []
    return [f"{counted(resources.n_damaged, 'sample')} of CPU and RAM lost to an interruption."]


def document_notes(frame: Frame) -> list[str]:
    """For queries that share documents: what the interval of a mean covers."""
    if frame.n_clusters is None:
        return []
    return [
        "Intervals of means hold for new queries on these documents. On new documents they are wider: "
        f"{counted(len(frame.clusters), 'query cites', 'queries cite')} {counted(frame.n_clusters, 'group')} of "
        "documents."
    ]


def judge_notes(evaluations: Sequence[Sequence[EvaluationRecord]]) -> list[str]:
    """Evaluators that scored the runs of a group in different ways; `evaluations`: those of each run."""
    ways: dict[str, set[str]] = {}
    for own in evaluations:
        for one in own:
            ways.setdefault(one.evaluator, set()).add(scored_by(one))
    return [
        f"{printable(evaluator)} scored these runs in {len(found)} ways (version, parameters or model), which "
        "cannot be compared. Run rag-harness evaluate on all of them with the same --set."
        for evaluator, found in sorted(ways.items())
        if len(found) > 1
    ]


def apart_note(run: RunDir, other: RunDir) -> str:
    """Why two runs of one data set are in different groups, and what compares the part that they share."""
    own, others = (one.sample_by_id() for one in (run, other))
    sets, other_sets = run.manifest().dataset, other.manifest().dataset
    shared = own.keys() & others.keys()
    why = []
    if own.keys() != others.keys():
        why.append(f"other queries ({len(own):,} here, {len(others):,} there, {len(shared):,} of both)")
    if any(others[query_id] != row for query_id, row in own.items() if query_id in shared):
        why.append("other texts or references of the same queries (another revision or subset)")
    if sets.get("corpus_digest") != other_sets.get("corpus_digest"):
        counts = [printable(str(found.get("n_documents", "?"))) for found in (sets, other_sets)]
        why.append(f"other documents ({counts[0]} here, {counts[1]} there)")
    return (
        f"Other runs of this data set are in a chapter of their own: {' and '.join(why) or 'another digest'}. "
        "rag-harness compare compares them on the queries of both."
    )


def way_of(evaluations: Iterable[EvaluationRecord], measure: str) -> str:
    """Identifies how a metric was scored; equal for two runs whose values may be compared."""
    return " ".join(scored_by(one) for one in evaluations if measure in one.measures)


def scored_by(evaluation: EvaluationRecord) -> str:
    """Identifies an evaluation; equal for two whose scores may be compared."""
    return f"{evaluation.version} {evaluation.params!r} {evaluation.models!r} {evaluation.weights!r}"


def constant_notes(judged: Sequence[Spreads]) -> list[str]:
    """Judges that gave every answer of a group the same value; `judged`: the spreads of each run."""
    spreads: Spreads = {}
    for own in judged:
        for key, spread in own.items():
            spreads[key] = spread.joined(spreads[key]) if key in spreads else spread
    constant: dict[tuple[str, int], list[str]] = {}
    for (evaluator, measure), spread in sorted(spreads.items()):
        if spread.n >= _FEWEST_JUDGED and spread.low == spread.high:
            shown = f"{printable(measure)} {spread.low:.3g}"
            constant.setdefault((evaluator, spread.n), []).append(shown)
    return [
        f"{printable(evaluator)}: all {n:,} answers have the same value in {', '.join(measures)}. "
        "Its judge does not distinguish these answers, so those metrics cannot compare systems."
        for (evaluator, n), measures in constant.items()
    ]


def group_notes(manifests: Sequence[Manifest]) -> list[str]:
    """What differs between the runs of a group besides the system and its parameters."""
    notes = []
    differing = differences(_circumstances(manifests))
    if differing:
        notes.append(
            f"The runs differ in {_listed(differing, ', ')}: what differs between them is not the system alone."
        )
    unnamed = [manifest for manifest in manifests if _model_is_unnamed(manifest)]
    if unnamed and len(manifests) > 1:
        notes.append(
            "Which model gave imported answers is not named (rag-harness import --model PROVIDER/NAME): what "
            "differs between these runs may not be the system alone."
        )
    weights = other_weights([manifest.identity for manifest in manifests])
    if weights:
        notes.append(
            f"The runs loaded other weights under one name ({', '.join(weights)}): "
            "what differs between them is not the system alone."
        )
    ran_here = [manifest for manifest in manifests if not manifest.is_imported]
    if 0 < len(ran_here) < len(manifests):
        notes.append("Seconds of imported answers were measured elsewhere: do not compare them.")
    machines = differences([{"machine": manifest.machine} for manifest in ran_here])
    if machines:
        shown = _listed(machines, "; ")
        notes.append(f"The runs were made on different machines ({shown}): do not compare seconds, CPU or RAM.")
    paced = differences([limits for manifest in ran_here if (limits := calls_at_once(manifest))])
    if paced:
        notes.append(f"The runs asked their generator with {_listed(paced, ', ')}: do not compare seconds.")
    commits = list(dict.fromkeys(manifest.git_commit or "unknown" for manifest in manifests))
    if len(commits) > 1:
        shown = ", ".join(printable(commit, 20) for commit in commits)
        notes.append(f"The runs were made at different commits of the harness ({shown}).")
    return notes


def _circumstances(manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    """What the runs should have in common. A model that a system does not call is taken from the other runs,
    except for imported answers, whose models are unknown.
    """
    played: dict[str, Any] = {}
    for manifest in manifests:
        played = {**manifest.identity.get("models", {}), **played}
    shared = []
    for manifest in manifests:
        own = {key: value for key, value in manifest.identity.items() if key not in _OWN_KEYS}
        if not manifest.is_imported:
            own["models"] = {**played, **own.get("models", {})}
        if _model_is_unnamed(manifest):
            own["models"] = {**own["models"], "generator": {"provider": "imported"}}
        shared.append(own)
    return shared


def calls_at_once(manifest: Manifest) -> dict[str, Any]:
    """The limits on concurrent calls of its generator, which change seconds but no answer; empty if unknown or if
    no generator is called.
    """
    generator = manifest.identity.get("models", {}).get("generator") or {}
    asked = (manifest.config.get("models") or {}).get("generator") or {}
    if manifest.is_imported or generator.get("provider") in {None, "none"}:
        return {}
    return {key: asked[key] for key in ("max_concurrency", "requests_per_minute") if asked.get(key) is not None}


def _model_is_unnamed(manifest: Manifest) -> bool:
    """Whether the model of imported answers was not named."""
    generator = manifest.identity.get("models", {}).get("generator") or {}
    return manifest.is_imported and generator.get("provider") == "imported"


def _listed(differing: Mapping[str, Sequence[str]], between: str) -> str:
    return between.join(f"{key} ({', '.join(dict.fromkeys(values))})" for key, values in differing.items())


def _progress_notes(run: RunDir, frame: Frame, counts: RecordCounts) -> Iterator[str]:
    n_wanted = len(frame.query_types) * frame.repeats
    missing = n_wanted - counts.n_asked
    if missing:
        what = f"{missing:,} of {counted(n_wanted, 'answer')} {'is' if missing == 1 else 'are'} missing"
        yield f"{UNFINISHED}: {what}. Run it again with the same config to resume."
    elif run.done() is None:
        yield f"{UNFINISHED}: every query is answered, but the run did not close (no done.json)."
    reach = run.reach()
    if reach and reach.query_ids:
        of = counted(int(run.manifest().dataset.get("n_queries", 0)), "query", "queries")
        yield (
            f"Stopped after {len(reach.query_ids):,} of {of} ({printable(reach.why, _LONGEST_REASON)}); those "
            "are a random sample."
        )
    race = run.race()
    if race is not None:
        yield (
            f"It was in a race by {printable(race.measure)}, which stops by its results: other tests, intervals "
            "and ranks are not valid for it."
        )
    if counts.n_retried:
        yield (
            f"{counted(counts.n_retried, 'query was', 'queries were')} answered after a failed earlier attempt."
        )


def _score_notes(run: RunDir, scores: ScoreColumns, records: Records) -> Iterator[str]:
    if not scores.by_measure:
        yield f"Not evaluated: there are no scores. Run: rag-harness evaluate {printable(run.run_id, 200)}"
    if scores.any_missing_of(records):
        yield (
            "Out of date: answers were added after the evaluation. "
            f"Run: rag-harness evaluate {printable(run.run_id, 200)}"
        )
    by_measure = sorted(scores.by_measure.items())
    yield from _failed_notes(by_measure)


def _unused_notes(scores: ScoreColumns) -> Iterator[str]:
    """Metrics that apply to no query, except for lack of a generator: the title says that."""
    by_measure = sorted(scores.by_measure.items())
    unused: dict[str, list[str]] = {}
    for measure, own in by_measure:
        if not own.facts.applies:
            reasons = ", ".join(dict.fromkeys(map(printable, own.facts.reasons)))
            unused.setdefault(reasons, []).append(measure)
    for reasons, measures in unused.items():
        if reasons == NO_GENERATOR:
            continue
        yield f"Not applicable to any query: {_shortened(measures)} ({reasons})."


def _failed_notes(by_measure: Iterable[tuple[str, ScoreColumn]]) -> Iterator[str]:
    """Metrics with the same failures share a note."""
    alike: dict[tuple[int, int, str], list[str]] = {}
    for measure, own in by_measure:
        if own.facts.first_failure is not None:
            reason = printable(own.facts.first_failure, _LONGEST_REASON) or "no reason given"
            alike.setdefault((own.count(FAILED), len(own.states), reason), []).append(measure)
    for (n_failed, n, reason), measures in alike.items():
        yield (
            f"{_shortened(measures)}: {counted(n_failed, 'score')} of {n:,}{' each' if len(measures) > 1 else ''} "
            f"could not be computed. The first: {reason}"
        )


def _shortened(measures: Sequence[str]) -> str:
    left = measures[_MOST_MEASURES:]
    shown = [*measures[:_MOST_MEASURES], f"{len(left):,} more"] if len(left) > 1 else measures
    return ", ".join(printable(name) for name in shown)


def _index_notes(run: RunDir) -> Iterator[str]:
    index = run.index()
    if index is None:
        if not run.manifest().is_imported:
            yield "The index is not built yet."
        return
    if index.reused_from:
        builder = printable(index.reused_from, 200)
        if _was_paid_beside(index):
            yield f"The index was built by run {builder}; part of its cost was paid by other runs."
        else:
            yield f"The index was built, and its cost paid, by run {builder}."
    if index.cost.replayed_calls or index.cost.cached_texts:
        saved = [
            counted(index.cost.replayed_calls, "model call") if index.cost.replayed_calls else "",
            counted(index.cost.cached_texts, "vector") if index.cost.cached_texts else "",
        ]
        what = "a lower bound" if index.cost.saved_s is None else "reconstructed from stored times"
        yield f"Index seconds are {what}: {' and '.join(filter(None, saved))} came from an earlier build."
    cut = sum(usage.cut_prompts for usage in index.cost.usage.values())
    if cut:
        yield f"In {counted(cut, 'call')} for the index {_FEWER_TOKENS}"
    if index.stats.failed_chunks:
        yield f"{counted(index.stats.failed_chunks, 'chunk')} could not be indexed."
    for note in index.stats.notes:
        yield f"Index: {printable(note, _LONGEST_REASON)}"


def _was_paid_beside(index: IndexRecord) -> bool:
    """Whether another run than its builder paid for calls or vectors that the build found."""
    return bool((index.cost.replayed_from.keys() | index.cost.cached_from.keys()) - {index.built_by, ""})


def _dialect_notes(run: RunDir) -> Iterator[str]:
    models = run.manifest().identity.get("models", {})
    for role, dialect in sorted(run.dialects().items()):
        if dialect.left_out:
            name = printable(str((models.get(role) or {}).get("model", "")))
            what = printable(", ".join(dialect.left_out), _LONGEST_REASON)
            yield (
                f"Not sent to the {printable(role)} {name}, which refuses it: {what}. The model's default is used "
                "instead."
            )


def _cost_notes(run: RunDir, counts: RecordCounts, prices: Prices) -> Iterator[str]:
    identity = run.manifest().identity
    models = identity.get("models", {})
    index = run.index()
    yield from _own_notes(counts, index)
    roles = counts.roles | (called_roles(index.cost) if index else set())
    for role in without_price(roles - {OWN_MODELS}, models, prices):
        played_by = models.get(role) or {}
        name = printable(f"{played_by.get('provider', '')}/{played_by.get('model', '')}")
        yield f"No price is known for the {printable(role)} {name}, so no dollars are given (configs/prices.yaml)."
    yield from _token_notes(run, counts)
    yield from _failure_notes(run, counts)
    yield from _helped_notes(counts)
    if counts.n_unsplit and not run.manifest().is_imported:
        yield (
            f"{counted(counts.n_unsplit, 'latency is', 'latencies are')} wall time, because throttling was not "
            "recorded separately. Do not compare seconds with later runs."
        )
    if spread := run.spread.read():
        yield (
            f"Answered on a cluster, by up to {counted(spread.n_workers, 'worker')} at once: latencies include "
            "the network and the load of the other workers, and CPU and RAM were not sampled. Do not compare "
            "seconds with runs on one machine."
        )
    concurrency = identity.get("limits", {}).get("concurrency", 1)
    if concurrency != 1:
        yield f"{concurrency} queries were answered at once: each latency includes the load of the others."


def _helped_notes(counts: RecordCounts) -> Iterator[str]:
    """Answers that were faster than they would be alone."""
    if counts.n_replayed:
        what = counted(counts.n_replayed, "latency", "latencies")
        yield f"{what} left out: calls were replayed after an interruption."
    if counts.n_cached:
        what = counted(counts.n_cached, "latency", "latencies")
        yield f"{what} left out: vectors came from an earlier query, attempt or run."


def _own_notes(counts: RecordCounts, index: IndexRecord | None) -> Iterator[str]:
    """Models of a pipeline that the harness does not meter."""
    if counts.n_own:
        what = "as reported by the pipeline itself" if counts.any_own_token else "unknown"
        yield (
            f"It answered {counted(counts.n_own, 'query', 'queries')} with models of its own, which are not "
            f"metered: tokens are {what}, dollars unknown, and neither is compared."
        )
    if index and not index.stats.is_elsewhere and OWN_MODELS in index.cost.usage:
        yield "Its index was built with models of its own, which are not metered: their cost is unknown."


def _token_notes(run: RunDir, counts: RecordCounts) -> Iterator[str]:
    """Tokens that were not counted, and parts of prompts that the server cut off."""
    if counts.n_unmetered:
        is_imported = run.manifest().is_imported
        why = (
            "the imported file does not give them"
            if is_imported
            else "the server did not count them or was cut off"
        )
        lower = "not all known, so that tokens and dollars are lower bounds"
        what = lower if counts.any_token else "unknown"
        yield f"Tokens of {counted(counts.n_unmetered, 'query', 'queries')} are {what}: {why}."
    if counts.n_cut:
        yield (
            f"In {counts.n_cut:,} of {counted(counts.n, 'query', 'queries')} a reply of the model was cut off: "
            "models.generator.max_tokens may be too small."
        )
    if counts.n_cut_prompts:
        queries = counted(counts.n, "query", "queries")
        yield f"In {counts.n_cut_prompts:,} of {queries} {_FEWER_TOKENS}"
    if counts.n_reasoned:
        yield f"Reasoning was removed from {counted(counts.n_reasoned, 'answer')}; the trace has it."
    elif counts.reasoning_tokens:
        yield (
            f"{counts.reasoning_tokens:,} of {counts.output_tokens:,} output tokens are reasoning, which is not "
            "part of the answers."
        )


def _failure_notes(run: RunDir, counts: RecordCounts) -> Iterator[str]:
    limit_s = run.manifest().identity.get("limits", {}).get("query_timeout_s")
    if counts.n_timeouts and limit_s:
        yield (
            f"{counted(counts.n_timeouts, 'query', 'queries')} timed out: latency and wall time count "
            f"{limit_s:g} s for each, so that quantiles among them are lower bounds (≥)."
        )
    if fails_too_often(counts.n_failed, counts.n):
        yield (
            f"Fails {100 * counts.n_failed / counts.n:.3g} % of its queries. Failing is cheap, so its costs are "
            "not compared."
        )


def _dataset_notes(run: RunDir) -> Iterator[str]:
    for note in run.manifest().dataset.get("notes") or ():
        yield f"Data set: {printable(str(note), _LONGEST_REASON)}"
