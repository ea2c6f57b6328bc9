"""Run directories of earlier schema versions, read as if they were of this one. Nothing is written.

Until version 3 a bracket was a manifest with a note, an answer that was missing was told by the words of a score's
explanation, a graph's triplet stood in the text of its context alone, and each system had a style of answers.

Until version 4 every wait of any call was throttling: for our own cap, for a retry after a failure, beside calls
that got on. What of it was a provider's limit cannot be told any more, so it is not known; where there was no wait
there was no limit either.

Until version 5 nobody kept what a search found beyond the contexts, where passages stand, or how a score is
labelled: a directory of then reads as one in which none of it is known.
"""

import re
from typing import Any

from harness.records import Context, Cost, IndexRecord, Prediction, RunRecord, Score, Triplet
from harness.store.manifest import SCHEMA_VERSION

_VALUES_SINCE = 3
_LIMITS_SINCE = 4
_NO_WAIT_S = 0.01
"""Less than that is what it takes to be given a place at once."""
_MISSING = "no record: the run is unfinished"
_TRIPLET = re.compile(r"\((?P<head>.+?)\)-\[(?P<relation>.*?)\]->\((?P<tail>.+)\)")


def is_old(version: int) -> bool:
    """Whether a directory of that version is read otherwise than one of this."""
    return version < SCHEMA_VERSION


def migrated_manifest(tree: dict[str, Any], version: int) -> dict[str, Any]:
    """The fields of manifest.json."""
    if version >= _VALUES_SINCE:
        return tree
    tree = {**tree, "config": _with_answer_style(tree["config"])} if isinstance(tree.get("config"), dict) else tree
    notes = list(tree.get("notes") or ())
    if not notes or "imported" in (tree.get("identity") or {}):
        return tree
    return {**tree, "bracket": notes[0], "notes": notes[1:]}


def _with_answer_style(config: dict[str, Any]) -> dict[str, Any]:
    """The style of answers that its one system had, where the config named one, is the config's own."""
    of_systems = config.get("per_system") or {}
    own = [of_systems.get(name) or {} for name in config.get("systems") or ()]
    styles = [part["answer"]["style"] for part in (config, *own) if "style" in (part.get("answer") or {})]
    kept = {name: _without_style(part) for name, part in of_systems.items()}
    moved = {"answer_style": styles[-1]} if styles else {}
    return {**_without_style(config), **({"per_system": kept} if kept else {}), **moved}


def _without_style(part: dict[str, Any]) -> dict[str, Any]:
    if "answer" not in part:
        return part
    return {**part, "answer": {key: value for key, value in (part["answer"] or {}).items() if key != "style"}}


def migrated_score(score: Score, version: int) -> Score:
    """A line of a scores file."""
    if version < _VALUES_SINCE and score.status == "failed" and score.explanation == _MISSING:
        return score.model_copy(update={"status": "missing"})
    return score


def migrated_record(record: RunRecord, version: int) -> RunRecord:
    """A line of records.jsonl."""
    if version < _LIMITS_SINCE:
        record = record.model_copy(update={"cost": _without_limits(record.cost)})
    prediction = record.prediction
    if version >= _VALUES_SINCE or prediction is None or not _has_triplets(prediction):
        return record
    contexts = tuple(map(_with_triplets, prediction.contexts))
    return record.model_copy(update={"prediction": prediction.model_copy(update={"contexts": contexts})})


def migrated_index(index: IndexRecord, version: int) -> IndexRecord:
    """index.json."""
    if version >= _LIMITS_SINCE:
        return index
    return index.model_copy(update={"cost": _without_limits(index.cost)})


def _without_limits(cost: Cost) -> Cost:
    if cost.throttled_s is None:
        return cost
    return cost.model_copy(update={"throttled_s": 0.0 if cost.throttled_s < _NO_WAIT_S else None})


def _has_triplets(prediction: Prediction) -> bool:
    return any(context.kind == "triplet" for context in prediction.contexts)


def _with_triplets(context: Context) -> Context:
    found = _TRIPLET.fullmatch(context.text) if context.kind == "triplet" else None
    return context.model_copy(update={"triplets": (Triplet(**found.groupdict()),)}) if found else context
