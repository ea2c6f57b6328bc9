"""The result of `route` as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.display.text_format import printable
from harness.extensions.routing.eligible_systems import RouteStudy
from harness.extensions.routing.gains import PolicyGain
from harness.extensions.routing.tables import gains_of, is_shown, named_gains, verdict


def route_json(study: RouteStudy) -> dict[str, Any]:
    """All tables, splits and notes. Gains are in the unit of the metric, minus weighted costs."""
    gains, choice = study.gains, study.choice
    luck = {id(gains.by_type): gains.by_type_chance, id(gains.by_query): gains.by_query_chance}
    means = np.average(study.values, axis=0, weights=study.recorded.weights)
    return {
        "dataset": study.title,
        "measure": printable(study.compared.measure.name),
        "cost": choice.cost,
        "cost_weight": choice.cost_weight,
        "mix": study.compared.mix,
        "n_queries": len(study.compared.query_ids),
        "n_documents": gains.n_clusters,
        "systems": [
            {"run_id": printable(one.run.run_id, 200), "system": one.label, "mean": mean}
            for one, mean in zip(study.runs, means.tolist(), strict=True)
        ],
        "verdict": verdict(study),
        "is_shown": is_shown(study),
        "policies": [
            {"policy": name, **_gain(study, one), "gain_by_luck": _luck(luck.get(id(one)))}
            for name, one in named_gains(study).items()
        ],
        "routes": {
            told: {
                "otherwise": study.names[table.otherwise],
                "types": {printable(name): study.names[at] for name, at in table.systems.items()},
            }
            for told, table in study.tables.items()
        },
        "splits": [
            {
                "split": split.number,
                "n_teaching": int(split.teaches.sum()),
                "n_testing": int((~split.teaches).sum()),
                "gains": {told: float(one.gains[at]) for told, one in gains.learnt.items()},
            }
            for at, split in enumerate(gains.splits)
        ],
        "notes": list(study.notes),
    }


def _gain(study: RouteStudy, one: PolicyGain) -> dict[str, float | None]:
    if one is study.gains.single:
        return {"worth": float(one.values.mean()), "gain": 0.0, "ci_low": None, "ci_high": None}
    found = gains_of(study, one)
    return {
        "worth": float(one.values.mean()),
        "gain": found.mean,
        "ci_low": found.interval.low,
        "ci_high": found.interval.high,
    }


def _luck(one: PolicyGain | None) -> float | None:
    return None if one is None else float(one.gains.mean())
