"""`rag-harness list`."""

import json
from collections.abc import Callable

from rich.table import Table

from harness.cli.consoles import open_console
from harness.registry import (
    dataset_names,
    evaluator_names,
    load_dataset_spec,
    load_evaluator,
    load_system,
    system_names,
)

Rows = list[dict[str, object]]


def _systems() -> Rows:
    return [
        {
            "name": spec.name,
            "version": spec.version,
            "summary": spec.summary,
            "index_params": _defaults(spec.index_params.model_fields),
            "answer_params": _defaults(spec.answer_params.model_fields),
        }
        for spec in map(load_system, system_names())
    ]


def _datasets() -> Rows:
    return [
        {"name": spec.name, "summary": spec.summary, "subsets": list(spec.subsets)}
        for spec in map(load_dataset_spec, dataset_names())
    ]


def _evaluators() -> Rows:
    return [
        {
            "name": spec.name,
            "version": spec.version,
            "summary": spec.summary,
            "asks": sorted(spec.roles),
            "params": _defaults(spec.params.model_fields),
            "measures": [measure.name for measure in spec.measures(spec.params())],
        }
        for spec in map(load_evaluator, evaluator_names())
    ]


def _measures() -> Rows:
    return [
        {
            "name": measure.name,
            "evaluator": spec.name,
            "better": "higher" if measure.higher_is_better else "lower",
            "a failure counts as": measure.failure_value,
            "summary": measure.summary,
        }
        for spec in map(load_evaluator, evaluator_names())
        for measure in spec.measures(spec.params())
    ]


_LISTS: dict[str, Callable[[], Rows]] = {
    "systems": _systems,
    "datasets": _datasets,
    "evaluators": _evaluators,
    "measures": _measures,
}


def print_list(kind: str, *, as_json: bool) -> None:
    """Print what of a kind is registered, as a table or as a JSON array of objects."""
    rows = _LISTS[kind]()
    console = open_console()
    if as_json:
        console.print(json.dumps(rows, indent=2), markup=False, highlight=False, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    for column in rows[0] if rows else ["(none)"]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table)


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _defaults(fields: object) -> dict[str, object]:
    if not isinstance(fields, dict):
        return {}
    return {name: field.default for name, field in fields.items()}
