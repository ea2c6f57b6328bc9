"""Runs as traces of OpenTelemetry, by its conventions for generative AI: a trace for each query."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.api.frames import ReadRun
from harness.core.records import RunRecord, Score, Usage
from harness.extensions.runs.exported_runs import ExportedRuns, scores_by_query
from harness.store.asked_calls import TimedCall, timed_calls

_A_LINE = 100
"""Queries in a line: a request of at most some megabytes, which any collector takes."""
_IDS = ("traceId", "spanId", "parentSpanId")
_MOST = 1 << 62
"""Limit of whole numbers in the format, with room for the length of a span."""
_UNSET, _ERROR = 0, 2
"""Status codes of a span."""
_INTERNAL, _CLIENT = 1, 3
"""Kinds of a span."""
Attributes = Mapping[str, str | int | float | None]
Span = dict[str, Any]


def write_spans(exported: ExportedRuns, folder: Path) -> None:
    """`<run>.jsonl` for each run, as OTLP's JSON: each line is a request that a collector takes at /v1/traces.

    Of model calls it has names, tokens and times, not the prompts and replies. A query whose seconds are unknown
    has a span without length.
    """
    for read in exported.runs:
        calls: dict[str, list[TimedCall]] = {}
        for call in timed_calls(exported.originals[read.run.run_id].journal_path):
            query, _, _attempt = call.scope.rpartition("/")
            calls.setdefault(query, []).append(call)
        scores = scores_by_query(read)
        with (folder / f"{read.run.run_id}.jsonl").open("x", encoding="utf-8") as file:
            for start in range(0, len(read.records), _A_LINE):
                spans = [
                    span
                    for record in read.records[start : start + _A_LINE]
                    for span in _spans(
                        read,
                        record,
                        calls.get(f"answer/{record.query_id}/{record.repeat}", []),
                        scores.get((record.query_id, record.repeat), []),
                    )
                ]
                file.write(f"{_request(read, spans)}\n")


def _spans(
    read: ReadRun, record: RunRecord, calls: Sequence[TimedCall], scores: Sequence[Score]
) -> Iterator[Span]:
    key = f"{read.run.run_id}/{record.query_id}/{record.repeat}"
    trace, root = _id(key, 16), _id(f"{key}/query", 8)
    usage, begin = record.cost.usage.get("generator", Usage()), _nanoseconds(record.started_at)
    row, prediction, failure = read.sample.get(record.query_id), record.prediction, record.failure
    name = str(read.base["system"])
    yield {
        "trace_id": trace,
        "span_id": root,
        "name": f"invoke_workflow {name}",
        "kind": _INTERNAL,
        "start_time_unix_nano": begin,
        "end_time_unix_nano": begin + _length(record.cost.wall_s),
        "attributes": _attributes(
            {
                "gen_ai.operation.name": "invoke_workflow",
                "gen_ai.workflow.name": name,
                "gen_ai.input.messages": _messages("user", row.query.text if row else None),
                "gen_ai.output.messages": _messages("assistant", prediction.answer if prediction else None),
                **_tokens(usage, is_known=usage.has_tokens and not usage.unmetered_calls),
                "error.type": failure.kind if failure else None,
                "rag_harness.run.id": read.run.run_id,
                "rag_harness.query.id": record.query_id,
                "rag_harness.repeat": record.repeat,
                "rag_harness.throttled_s": record.cost.throttled_s,
            }
        ),
        "status": {"code": _ERROR, "message": failure.message} if failure else {"code": _UNSET},
        "events": [_event(score, begin + _length(record.cost.wall_s)) for score in scores],
    }
    models = read.manifest.models
    for number, call in enumerate(calls):
        operation = "embeddings" if call.role.endswith("embedder") else "chat"
        start = _nanoseconds(call.started_at)
        yield {
            "trace_id": trace,
            "span_id": _id(f"{key}/call/{number}", 8),
            "parent_span_id": root,
            "name": f"{operation} {call.model}",
            "kind": _CLIENT,
            "start_time_unix_nano": start,
            "end_time_unix_nano": start + _length(call.wall_s),
            "attributes": _attributes(
                {
                    "gen_ai.operation.name": operation,
                    "gen_ai.provider.name": str((models.get(call.role) or {}).get("provider", "unknown")),
                    "gen_ai.request.model": call.model,
                    **_tokens(call.usage, is_known=not call.usage.unmetered_calls),
                    "rag_harness.role": call.role,
                    "rag_harness.attempt": call.scope.rpartition("/")[2],
                }
            ),
        }


def _event(score: Score, at: int) -> dict[str, Any]:
    found: Attributes = {
        "gen_ai.evaluation.name": score.measure,
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.score.label": score.label or None,
        "gen_ai.evaluation.explanation": score.explanation or None,
        "rag_harness.score.status": score.status,
    }
    return {"name": "gen_ai.evaluation.result", "time_unix_nano": at, "attributes": _attributes(found)}


def _request(read: ReadRun, spans: Sequence[Span]) -> str:
    """OTLP's JSON, which has ids in hexadecimal and kinds as numbers."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    resource = _attributes({"service.name": "rag-harness", "rag_harness.dataset": str(read.base["dataset"])})
    held: Any = {
        "resource": {"attributes": resource},
        "scope_spans": [{"scope": {"name": "rag-harness"}, "spans": spans}],
    }
    found = MessageToDict(TracesData(resource_spans=[held]), use_integers_for_enums=True)
    for span in found["resourceSpans"][0]["scopeSpans"][0].get("spans", ()):
        span.update({name: base64.b64decode(span[name]).hex() for name in _IDS if name in span})
    return json.dumps(found, ensure_ascii=False)


def _attributes(given: Attributes) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in given.items() if value is not None]


def _value(value: str | float) -> dict[str, Any]:
    if isinstance(value, float):
        return {"double_value": value}
    is_number = isinstance(value, int) and abs(value) < _MOST
    return {"int_value": value} if is_number else {"string_value": str(value)}


def _tokens(usage: Usage, *, is_known: bool) -> Attributes:
    if not is_known:
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
    }


def _messages(role: str, text: str | None) -> str | None:
    if text is None:
        return None
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)


def _id(text: str, n_bytes: int) -> bytes:
    """The same for the same run, so that what is sent twice is not two traces."""
    return hashlib.sha256(text.encode()).digest()[:n_bytes]


def _nanoseconds(moment: str) -> int:
    """Since 1970; 0 for what is no time: run directories are untrusted."""
    try:
        return min(max(0, int(datetime.fromisoformat(moment).timestamp() * 1e9)), _MOST)
    except (ValueError, OverflowError):
        return 0


def _length(seconds: float | None) -> int:
    # In this order, NaN gives 0.
    return int(min(max(0.0, seconds or 0.0), 1e8) * 1e9)
