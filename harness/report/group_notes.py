"""Warnings about a group of runs: what differs between them besides the system, and scores that cannot be
compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.core.records import EvaluationRecord
from harness.display import counted, printable
from harness.report.labels import differences, other_weights
from harness.report.run_view import RunView, scored_by
from harness.statistics.columnar_scores import SCORED
from harness.statistics.sampling_design import ABOUT
from harness.store import Manifest

_BUSY = 20.0
"""Per cent of the machine's CPU in other hands, from which on seconds are said to be too high."""


def notes_between(views: Sequence[RunView], widest: RunView) -> Iterator[str]:
    """Everything to know before these runs are compared; `widest`: the one with the most queries."""
    yield from group_notes([view.manifest for view in views])
    # What the interval of a mean covers.
    if widest.frame.n_clusters is not None:
        about = [name for name in widest.frame.clusters.values() if name.startswith(ABOUT)]
        queries, documents = counted(len(about), "query", "queries"), counted(len({*about}), "document")
        yield (
            "± holds for new queries on these documents. Differences are tested for new documents too, so their "
            f"intervals may be wider: {queries} with evidence, mainly about {documents}."
        )
    yield from judge_notes([view.evaluations for view in views])
    yield from _constant_notes(views)
    loads = [(printable(view.label), view.foreign_cpu or 0.0) for view in views]
    if busy := [f"{label} {load:.0f} %" for label, load in loads if load >= _BUSY]:
        yield (
            "Other processes used much of the machine's CPU while queries were answered, so seconds are too high: "
            f"{', '.join(busy)} on average."
        )


def judge_notes(evaluations: Sequence[Sequence[EvaluationRecord]]) -> list[str]:
    """Evaluators that scored the runs of a group in different ways; `evaluations`: those of each run."""
    ways: dict[str, set[str]] = {}
    for own in evaluations:
        for one in own:
            ways.setdefault(one.evaluator, set()).add(scored_by(one))
    return [
        f"The version, parameters or judge of {printable(evaluator)} differ between runs: `rag-harness evaluate` "
        "all of them with the same --set."
        for evaluator, found in sorted(ways.items())
        if len(found) > 1
    ]


def apart_note(view: RunView, other: RunView) -> str:
    """Why two runs of one data set are in different groups, and what compares the part that they share."""
    own, others, sets, other_sets = view.sample, other.sample, view.manifest.dataset, other.manifest.dataset
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
        "`rag-harness compare` compares them on the queries of both."
    )


def _constant_notes(views: Sequence[RunView]) -> list[str]:
    """Judges that gave every answer of a group the same value."""
    given: dict[tuple[str, str], list[float]] = {}
    for view in views:
        asking = [one for one in view.evaluations if "judge" in one.models]
        owners = {name: one.evaluator for one in asking for name in one.measures if name not in one.binary}
        for name, column in view.scores.only(owners).by_measure.items():
            values = column.values[column.states == SCORED].tolist()
            given.setdefault((owners[name], name), []).extend(values)
    constant: dict[tuple[str, int], list[str]] = {}
    for (evaluator, measure), values in sorted(given.items()):
        if len(values) >= 10 and len({*values}) == 1:
            constant.setdefault((evaluator, len(values)), []).append(f"{printable(measure)} {values[0]:.3g}")
    return [
        f"{printable(evaluator)}: all {n:,} answers have the same value in {', '.join(measures)}. "
        "Its judge does not distinguish these answers, so those metrics cannot compare systems."
        for (evaluator, n), measures in constant.items()
    ]


def notes_on(views: Sequence[RunView]) -> list[str]:
    """The notes that apply to every run once, those of a single run with its label."""
    first, *others = views
    shared = [note for note in first.notes if others and all(note in view.notes for view in others)]
    own = ((view.label, note) for view in views for note in view.notes if note not in shared)
    return [*shared, *(f"{printable(label)}: {note}" for label, note in own)]


def group_notes(manifests: Sequence[Manifest]) -> Iterator[str]:
    """What differs between the runs of a group besides the system and its parameters."""
    if differing := differences(_circumstances(manifests)):
        yield f"The runs differ in {_listed(differing, ', ')}: what differs between them is not the system alone."
    if len(manifests) > 1 and any(map(_model_is_unnamed, manifests)):
        yield (
            "Which model gave imported answers is not named (--model of `rag-harness import`): what "
            "differs between these runs may not be the system alone."
        )
    if weights := other_weights([manifest.identity for manifest in manifests]):
        yield (
            f"The runs loaded other weights under one name ({', '.join(weights)}): "
            "what differs between them is not the system alone."
        )
    ran_here = [manifest for manifest in manifests if not manifest.is_imported]
    if 0 < len(ran_here) < len(manifests):
        yield "Seconds of imported answers were measured elsewhere: do not compare them."
    if machines := differences([{"machine": manifest.machine} for manifest in ran_here]):
        shown = _listed(machines, "; ")
        yield f"The runs were made on different machines ({shown}): do not compare seconds, CPU or RAM."
    if paced := differences([limits for manifest in ran_here if (limits := calls_at_once(manifest))]):
        yield f"The runs asked their generator with {_listed(paced, ', ')}: do not compare seconds."
    commits = dict.fromkeys(printable(manifest.git_commit or "unknown", 20) for manifest in manifests)
    if len(commits) > 1:
        yield f"The runs were made at different commits of the harness ({', '.join(commits)})."


def _circumstances(manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    """What the runs should have in common. A model that a system does not call is taken from the other runs."""
    played: dict[str, Any] = {}
    for manifest in manifests:
        played = {**manifest.models, **played}
    shared = []
    for manifest in manifests:
        # These make a run another one, and need no warning.
        own = {key: of for key, of in manifest.identity.items() if key not in {"system", "dataset", "imported"}}
        if not manifest.is_imported:
            own["models"] = {**played, **own.get("models", {})}
        if _model_is_unnamed(manifest):
            own["models"] = {**own["models"], "generator": {"provider": "imported"}}
        shared.append(own)
    return shared


def calls_at_once(manifest: Manifest) -> dict[str, Any]:
    """The limits on concurrent calls of its generator, which change seconds but no answer; empty if unknown."""
    generator = manifest.model("generator")
    asked = (manifest.config.get("models") or {}).get("generator") or {}
    if manifest.is_imported or generator.get("provider") in {None, "none"}:
        return {}
    return {key: asked[key] for key in ("max_concurrency", "requests_per_minute") if asked.get(key) is not None}


def _model_is_unnamed(manifest: Manifest) -> bool:
    generator = manifest.model("generator")
    return manifest.is_imported and generator.get("provider") == "imported"


def _listed(differing: Mapping[str, Sequence[str]], between: str) -> str:
    return between.join(f"{key} ({', '.join(dict.fromkeys(values))})" for key, values in differing.items())
