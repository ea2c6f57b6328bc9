"""Writes the learnt routing table as a config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from harness.core.errors import ConfigError
from harness.display.text_format import counted, printable
from harness.extensions.routing.eligible_systems import RULES, RouteStudy
from harness.extensions.routing.tables import verdict
from harness.llm_utils.query_classifier import known_type
from harness.protocols import SystemSpec
from harness.registry import SYSTEMS
from harness.report.comparison.runs import ComparedRun
from harness.store.atomic_files import write_atomic


def write_policy(study: RouteStudy, path: Path) -> Path:
    """Write the table for types found by rules as a config of the routing system. It contains only systems and
    their parameters; models, data and keys are left to the user.

    ConfigError if the file exists, if the chosen runs used different models (one run has one of each role), or if
    no routing system is installed.
    """
    table = study.tables[RULES]
    chosen = {kind: study.runs[at] for name, at in table.systems.items() if (kind := known_type(name)) is not None}
    otherwise = study.runs[table.otherwise]
    _refuse_unlike_models([*chosen.values(), otherwise])
    _refuse_unroutable([*chosen.values(), otherwise])
    different = {kind: run for kind, run in chosen.items() if run is not otherwise}
    answer = {
        "classifier": RULES,
        "routes": {kind: _route(run) for kind, run in different.items()},
        "otherwise": _route(otherwise),
    }
    name = _router().name
    text = yaml.safe_dump({"systems": [name], "per_system": {name: {"answer": answer}}}, sort_keys=False)
    if path.exists():
        raise ConfigError(f"{path} already exists", "name another file: --policy FILE")
    write_atomic(path, f"{_said(study)}{text}")
    return path


def _route(run: ComparedRun) -> dict[str, Any]:
    system = run.manifest.identity.get("system", {})
    return {"system": system.get("name", ""), "index": system.get("index", {}), "answer": system.get("answer", {})}


def _router() -> SystemSpec:
    found = [spec for spec in SYSTEMS.load_all()[0] if spec.routes is not None]
    if not found:
        raise ConfigError("no system that routes queries is installed", "see: rag-harness list systems")
    return found[0]


def _refuse_unlike_models(runs: list[ComparedRun]) -> None:
    first, *others = runs
    models = first.manifest.identity.get("models")
    for one in others:
        if one.manifest.identity.get("models") != models:
            what = f"{first.label} and {one.label} used different models, and a run has one of each role"
            raise ConfigError(what, "name runs with the same models, or omit --policy")


def _refuse_unroutable(runs: list[ComparedRun]) -> None:
    known = {spec.name: spec for spec in SYSTEMS.load_all()[0]}
    for one in runs:
        name = str(one.manifest.identity.get("system", {}).get("name", ""))
        spec = known.get(name)
        if one.manifest.is_imported or spec is None or spec.own_models or spec.sees_gold:
            what = f"queries cannot be routed to {one.label}: '{printable(name)}' cannot be run from a config"
            raise ConfigError(what, "name runs of systems that are installed here, or omit --policy")


def _said(study: RouteStudy) -> str:
    """The comment at the start of the file: the source of the table and its verdict."""
    n = counted(len(study.compared.query_ids), "query", "queries")
    lines = [
        f"Learnt by rag-harness route from {n} of {study.title}, by {printable(study.compared.measure.name)}.",
        verdict(study),
        "Models, data set and evaluators come from your command line or from another config.",
    ]
    return "".join(f"# {printable(line, 1000)}\n" for line in lines)
