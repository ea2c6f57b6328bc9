"""The names that other tools use for the columns of questions and answers, and which column of a file is meant."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import ConfigError, DataError
from harness.datasets.cell_values import parsed_cell
from harness.datasets.table_reading import FieldRow, FieldTable, plain_name

Tiers = tuple[tuple[str, ...], ...]
"""Names of a column. The first group with a column in the file counts; several of a group must not contradict."""

# Of ragas, DeepEval, TruLens, LangSmith, AutoRAG, promptfoo, MultiHop-RAG, RAGChecker, FlashRAG and others.
_QUESTION: Tiers = (
    ("question", "query", "user_input", "main_input", "input_question", "user_query", "problem"),
    *(("question_text", "request"), ("input",), ("inputs",), ("vars",), ("prompt",)),
)
_SYSTEM_ANSWER: Tiers = (
    (
        *("answer", "response", "actual_output", "main_output", "output", "outputs", "prediction", "predictions"),
        *("predicted_answer", "pred", "model_answer", "model_output", "generated_answer", "generated_text"),
        *("generated_texts", "completion", "llm_answer", "rag_answer", "system_answer"),
    ),
    ("result",),
)
_GOLD: Tiers = (
    (
        *("answers", "answer", "ground_truth", "ground_truths", "reference", "references", "reference_outputs"),
        *("reference_output", "reference_answer", "reference_answers", "expected_output", "expected_answer"),
        *("expected_answers", "expected_response", "expected", "golden_answer", "golden_answers", "gold_answer"),
        *("gold_answers", "gold", "gt_answer", "generation_gt", "correct_answer", "correct_answers", "ideal"),
        *("target", "targets", "possible_answers", "short_answer", "short_answers"),
    ),
    ("outputs", "output", "output_answer", "expectations"),
)
_CONTEXTS: Tiers = (
    (
        *("contexts", "retrieved_contexts", "retrieval_context", "retrieved_context", "retrieved_documents"),
        *("retrieved_docs", "retrieved_passages", "retrieved_chunks", "retrieved_contents", "source_documents"),
    ),
)
_IDS = ("query_id", "qid", "question_id", "q_id")

QUESTION_FILE: Mapping[str, Tiers] = {
    "question": _QUESTION,
    "id": (("id",), (*_IDS, "_id", "example_id")),
    "answers": _GOLD,
    "aliases": (("answer_aliases", "alt_ans"),),
    "evidence": (("evidence", "evidence_list"),),
    "documents": (("retrieval_gt",),),
    "type": (("type",), ("question_type", "query_type", "qtype")),
    "made_by": (("made_by",),),
    "seen_by": (("seen_by",),),
    "answerable": (("answerable", "is_answerable"),),
    "unanswerable": (("unanswerable", "is_unanswerable", "is_impossible"),),
}
"""Role of a column in a question file -> its names."""
ANSWER_FILE: Mapping[str, Tiers] = {
    "query": (("query", *(name for name in _QUESTION[0] if name != "query")), *_QUESTION[1:]),
    "query_id": (_IDS,),
    "answer": _SYSTEM_ANSWER,
    "contexts": _CONTEXTS,
}
"""Role of a column in a file of recorded answers -> its names, beside those that only the harness uses."""
_ELSEWHERE = {
    "the answer of a system": _SYSTEM_ANSWER[:1],
    "retrieved contexts": _CONTEXTS,
    "a gold answer": _GOLD[:1],
}
"""What an unread column holds, by its name."""
UNREAD = ("evidences",)
"""Names of other tools that look like a misspelling of a field here: 2WikiMultihopQA's triples."""
_INSIDE = ("content", "text", "value")
"""Keys of an object with one text, such as a message."""
_NESTED = frozenset({"inputs", "outputs", "vars", "referenceoutputs", "response", "expectations"})
"""Columns that hold objects; in CSV as JSON."""
_MOST_SHOWN = 60


@dataclass(frozen=True)
class Columns:
    path: Path
    roles: Mapping[str, tuple[str, ...]]
    """Role -> columns, of which any may hold the value of a row. Without roles that the file does not have."""

    def value(self, row: FieldRow, role: str, *, blank: bool = False) -> object:
        """The value of a role; None if the row has none. DataError: two columns have different ones."""
        fields = row.given if blank else row.fields
        values = ((name, value_at(fields, name)) for name in self.roles.get(role, ()))
        found = [(name, value) for name, value in values if value is not None]
        found = [(name, value) for name, value in found if value != ""] or found[:1]
        if len(found) < 2:
            return found[0][1] if found else None
        first = _texts_of(found[0][1])
        for name, value in found[1:]:
            if not (first <= _texts_of(value) or _texts_of(value) <= first):
                what = f"{row.where}: both '{found[0][0]}' and '{name}' could be the {role}, and they differ"
                raise DataError(what, f"say which: --field {shlex.quote(f'{role}={name}')} (or {found[0][0]})")
        # A list of several answers says more than one of them.
        return max((value for _, value in found), key=lambda one: len(_texts_of(one)))

    def text(self, row: FieldRow, role: str, tiers: Tiers, *, blank: bool = False) -> object:
        """The value of a role; of an object the one text in it."""
        value, column = self.value(row, role, blank=blank), self.roles.get(role, ("",))[0]
        if isinstance(value, str) and any(plain_name(name) in _NESTED for name in self.roles[role]):
            value = parsed_cell(value, row.where)
        # Of an object the one text, by a name of the role or because it is the only one.
        names = {plain_name(name) for tier in tiers for name in tier} if isinstance(value, Mapping) else set()
        while isinstance(value, Mapping):
            given = {str(key): one for key, one in value.items() if one is not None and one != ""}
            if not given:
                return None
            texts = [key for key in given if plain_name(key) in names] or [key for key in given if key in _INSIDE]
            texts = texts or [key for key, one in given.items() if isinstance(one, str)] or list(given)
            if len(texts) != 1:
                keys = ", ".join(map(_shown, texts[:8]))
                fix = f"say which: --field {shlex.quote(f'{role}={column}.{texts[0]}')}"
                raise DataError(f"{row.where}: the object in '{column}' has several texts ({keys})", fix)
            value = given[texts[0]]
        return value

    def notes(self, table: FieldTable, own: Iterable[str], passed_over: Iterable[str] = ()) -> list[str]:
        """Which columns of other tools were read, and which columns were not read, with their number of rows."""
        used = {name: role for role, names in self.roles.items() for name in names}
        foreign = [f"{_shown(name)} as {role}" for name, role in used.items() if name != role and name not in own]
        lines = [f"columns of {self.path.name} under other names: {', '.join(foreign)}"] if foreign else []
        taken = {*used, *(name.partition(".")[0] for name in used if name not in table.names), *passed_over}
        unread = [name for name in table.names if name not in taken]
        skipped = [f"{_shown(name)} ({table.filled[name]:,}{_guess(name)})" for name in unread]
        if skipped:
            what = f"that are not read (rows that have them, of {len(table.rows):,})"
            more = f" and {len(skipped) - _MOST_SHOWN:,} more" if len(skipped) > _MOST_SHOWN else ""
            lines.append(f"fields of {self.path.name} {what}: {', '.join(skipped[:_MOST_SHOWN])}{more}")
        return lines


def find_columns(path: Path, table: FieldTable, roles: Mapping[str, Tiers], fields: Mapping[str, str]) -> Columns:
    """The columns of each role. `fields`: role -> column, as the user says; such a column has no other role.

    ConfigError: no such role or column.
    """
    named: dict[str, tuple[str, ...]] = {}
    for role, theirs in fields.items():
        if role not in roles:
            raise ConfigError(f"--field {_shown(role)}: unknown field", near_name(role, list(roles)))
        name = theirs.strip().lower()
        if not any(value_at(row.given, name) is not None for row in table.rows) and name not in table.names:
            what = f"--field {role}: no row has the field {_shown(theirs)}"
            raise ConfigError(what, near_name(name, table.names))
        named[role] = (name,)
    said = {name for names in named.values() for name in names}
    free = [name for name in table.names if name not in said]
    found = dict(named)
    for role, tiers in roles.items():
        if role not in named:
            names = _first_tier(tiers, [name for name in free if table.filled[name]]) or _first_tier(tiers, free)
            found |= {role: names} if names else {}
    return Columns(path, found)


def value_at(fields: Mapping[str, Any], name: str) -> object:
    """The value of a field, or of `outputs.answer` inside the object `outputs`; None if there is none."""
    if name in fields:
        return fields[name]
    outer, dot, inner = name.partition(".")
    held = parsed_cell(fields.get(outer)) if dot else None
    if not isinstance(held, Mapping):
        return None
    return value_at({str(key).lower(): value for key, value in held.items()}, inner)


def near_name(name: str, known: Sequence[str]) -> str:
    """Like `harness.core.errors.nearest`, for untrusted names: shortened and escaped."""
    close = difflib.get_close_matches(name[:200], [one for one in known if len(one) <= 200], n=1, cutoff=0.5)
    return f"did you mean {_shown(close[0])}?" if close else f"known: {listed_names(known)}"


def listed_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12:,} more" if len(names) > 12 else ""
    return ", ".join(map(_shown, names[:12])) + more


def _first_tier(tiers: Tiers, names: Sequence[str]) -> tuple[str, ...]:
    """The columns in the first group that has any; also flattened ones, such as `inputs.question`."""
    for tier in tiers:
        known = [plain_name(name) for name in tier]
        for exact in (True, False):
            found = [name for name in names if plain_name(name if exact else name.partition(".")[0]) in known]
            if found:
                return tuple(sorted(found, key=lambda name: known.index(plain_name(name.partition(".")[0]))))
    return ()


def _texts_of(value: object) -> set[str]:
    value = parsed_cell(value)
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else None
    if parts is not None:
        return {text for one in parts for text in _texts_of(one)}
    return set() if value is None else {" ".join(str(value).split()).casefold()}


def _guess(name: str) -> str:
    plain = plain_name(name.partition(".")[0])
    found = [what for what, tiers in _ELSEWHERE.items() for tier in tiers if plain in map(plain_name, tier)]
    return f", {found[0]}" if len(found) == 1 else ""


def _shown(name: str) -> str:
    return repr(name if len(name) <= 60 else f"{name[:59]}…")
