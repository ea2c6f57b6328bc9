"""An answer as JSON."""

from typing import Any

from harness.extensions.ask.confidence import JudgedLive
from harness.extensions.ask.session import Asked


def as_value(asked: Asked) -> dict[str, Any]:
    """One JSON object; its keys are listed in docs/ask.md."""
    record = asked.record
    said = record.prediction.model_dump(mode="json") if record.prediction else {}
    return {
        "run_id": asked.run_id,
        "question": asked.question,
        "status": record.status,
        "failure": record.failure.model_dump(mode="json") if record.failure else None,
        "answer": said.get("answer"),
        "evidence": said.get("evidence", []),
        "contexts": said.get("contexts", []),
        "trace": said.get("trace", []),
        "sources": {
            doc_id: {"title": document.title, **document.metadata} for doc_id, document in asked.sources.items()
        },
        "judged": [_judged(one) for one in asked.judged],
        "usd": asked.usd,
        "latency_s": record.cost.latency_s,
        "cost": record.cost.model_dump(mode="json"),
    }


def _judged(one: JudgedLive) -> dict[str, Any]:
    return {
        "measure": one.measure.name,
        "status": one.score.status,
        "value": one.score.value,
        "explanation": one.score.explanation,
        "usage": {role: used.model_dump(mode="json") for role, used in one.usage.items()},
        "usd": one.usd,
    }
