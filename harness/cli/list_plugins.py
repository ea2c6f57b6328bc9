"""`rag-harness list`."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from rich.table import Table

from harness.cli.console import complain, open_console
from harness.config import DATASET_PLACES
from harness.models.providers import PROVIDERS, ProviderSpec
from harness.protocols import DatasetSpec, EvaluatorSpec, SystemSpec
from harness.registry import DATASETS, EVALUATORS, SYSTEMS, PluginKind

Row = dict[str, object]


def _system(spec: SystemSpec) -> Row:
    return {
        "name": spec.name,
        "version": spec.version,
        "summary": spec.summary,
        "model calls for the index": _index_calls(spec),
        "index_params": _defaults(spec.index_params.model_fields),
        "answer_params": _defaults(spec.answer_params.model_fields),
    }


def _index_calls(spec: SystemSpec) -> str:
    """Whether its index calls a language model, with default parameters."""
    if spec.at or spec.own_models:
        return "its own"
    if spec.routes:
        return "those of its systems"
    try:
        roles = spec.roles(spec.index_params(), spec.answer_params())
    except ValidationError:  # It has parameters without a default.
        return "unknown"
    return "yes" if "generator" in roles.index else "none"


def _dataset(spec: DatasetSpec) -> Row:
    fields = spec.params.model_fields if spec.params else {}
    options = {name: field for name, field in fields.items() if name not in DATASET_PLACES}
    subsets = list(spec.subsets)
    return {"name": spec.name, "summary": spec.summary, "subsets": subsets, "options": _defaults(options)}


def _evaluator(spec: EvaluatorSpec) -> Row:
    return {
        "name": spec.name,
        "version": spec.version,
        "summary": spec.summary,
        "asks": sorted(spec.roles),
        "params": _defaults(spec.params.model_fields),
        "measures": [measure.name for measure in spec.measures(spec.params())],
    }


def _measures(spec: EvaluatorSpec) -> Iterator[Row]:
    for measure in spec.measures(spec.params()):
        yield {
            "name": measure.name,
            "evaluator": spec.name,
            "better": "higher" if measure.higher_is_better else "lower",
            "a failure counts as": measure.failure_value,
            "summary": measure.summary,
        }


def _provider(spec: ProviderSpec) -> Row:
    return {"name": spec.name, "summary": spec.summary, "plays": sorted(spec.roles)}


_LISTS: dict[str, tuple[PluginKind[Any], Callable[[Any], Iterable[Row]]]] = {
    "systems": (SYSTEMS, lambda spec: [_system(spec)]),
    "datasets": (DATASETS, lambda spec: [_dataset(spec)]),
    "evaluators": (EVALUATORS, lambda spec: [_evaluator(spec)]),
    "measures": (EVALUATORS, _measures),
    "providers": (PROVIDERS, lambda spec: [_provider(spec)]),
}


def print_list(kind: str, *, full: bool, as_json: bool) -> None:
    """Print the plug-ins of a kind as a table or as a JSON array; `full`: the table with parameters and their
    defaults. Plug-ins that cannot be loaded are skipped, with one line each.
    """
    registered, rows_of = _LISTS[kind]
    specs, refusals = registered.load_all()
    rows = [row for spec in specs for row in rows_of(spec)]
    console = open_console()
    if as_json:
        console.print(json.dumps(rows, indent=2), soft_wrap=True)
    else:
        parameters = {"index_params", "answer_params", "options", "params"}
        columns = [name for name in (rows[0] if rows else ["(none)"]) if full or name not in parameters]
        table = Table(box=None, pad_edge=False)
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(_cell(row[column]) for column in columns))
        console.print(table)
        if rows and len(columns) < len(rows[0]):
            console.print("parameters and their defaults: --full", style="dim")
    for refusal in refusals:
        complain(f"left out: {refusal}")


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _defaults(fields: Mapping[str, FieldInfo]) -> Row:
    def default(field: FieldInfo) -> object:
        if field.is_required():
            return "(required)"
        value = field.get_default(call_default_factory=True, validated_data={})
        return value.model_dump(mode="json") if isinstance(value, BaseModel) else value

    return {name: default(field) for name, field in fields.items()}
