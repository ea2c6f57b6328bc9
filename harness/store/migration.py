"""Run directories of earlier schema versions, read as if they were of this one. Nothing is written.

Until version 3 a bracket was a manifest with a note, an answer that was missing was told by the words of a score's
explanation, a graph's triplet stood in the text of its context alone, and each system had a style of answers.
"""

import re
from typing import Any

from harness.records import Context, RunRecord, Score, Triplet

_VALUES_SINCE = 3
_MISSING = "no record: the run is unfinished"
_TRIPLET = re.compile(r"\((?P<head>.+?)\)-\[(?P<relation>.*?)\]->\((?P<tail>.+)\)")


def is_old(version: int) -> bool:
    """Whether a directory of that version says in words what this one says in fields."""
    return version < _VALUES_SINCE


def migrated_manifest(tree: dict[str, Any]) -> dict[str, Any]:
    """The fields of manifest.json."""
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


def migrated_score(score: Score) -> Score:
    """A line of a scores file."""
    if score.status == "failed" and score.explanation == _MISSING:
        return score.model_copy(update={"status": "missing"})
    return score


def migrated_record(record: RunRecord) -> RunRecord:
    """A line of records.jsonl."""
    prediction = record.prediction
    if prediction is None or all(context.kind != "triplet" for context in prediction.contexts):
        return record
    contexts = tuple(map(_with_triplets, prediction.contexts))
    return record.model_copy(update={"prediction": prediction.model_copy(update={"contexts": contexts})})


def _with_triplets(context: Context) -> Context:
    found = _TRIPLET.fullmatch(context.text) if context.kind == "triplet" else None
    return context.model_copy(update={"triplets": (Triplet(**found.groupdict()),)}) if found else context
