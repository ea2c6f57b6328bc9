"""Result files of lm-eval, inspect_ai and promptfoo: their samples as rows with usual names of columns.

lm-eval: `samples_<task>_<time>.jsonl`. inspect_ai: a log of version 2, as `.json` or as `.eval`, a zip archive
with `header.json` and a file for each sample. promptfoo: JSON or JSON Lines of `eval --output`, version 2 or 3.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from harness.core.errors import DataError, MissingDependency, install
from harness.datasets.decompression_limits import refuse_too_long, refuse_too_many, values_of_json
from harness.datasets.json_rows import strict_json
from harness.datasets.row_fields import kind_of

INSPECT = "inspect_ai"
_HEADER, _SAMPLES = "header.json", "samples/"
_ENTRY, _ENCRYPTED, _ZSTD = b"PK\x01\x02", 1, 93
_WHOLE_LOG = "write it again with the version of the tool that made it"
_INSPECT_VERSION, _PROMPTFOO_VERSIONS = 2, (2, 3)
_TO_JSON = "convert it: inspect log convert FILE --to json --output-dir ."
_QUESTIONS = ("question", "query", "input", "problem", "prompt", "text", "goal", "ctx")
"""Keys with the question in a document of lm-eval, the likeliest first."""
_WHOLE_ANSWER = ("equals", "factuality", "similar")
"""Assertions of promptfoo whose value is an expected answer."""
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Of inspect_ai: correct, partly correct, incorrect, no answer."""
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
Row = Mapping[str, Any]


def sample_row(value: Row) -> tuple[str, Row]:
    """The tool whose sample this is, and the row for it; an empty name and the value itself for any other row."""
    if {"doc_id", "doc", "arguments", "filtered_resps"} <= value.keys():
        return "lm-eval", _of_lm_eval(value)
    if {"epoch", "input", "target", "output"} <= value.keys() and isinstance(value["output"], Mapping):
        return INSPECT, _of_inspect(value)
    if {"vars", "prompt", "provider", "success"} <= value.keys() and isinstance(value["vars"], Mapping):
        return "promptfoo", _of_promptfoo(value)
    return "", value


def check_log(path: Path, value: Row) -> None:
    """DataError: the object is a result file of another version, or has no samples."""
    version, results = value.get("version"), value.get("results")
    if {"eval", "plan", "status"} <= value.keys():
        if version != _INSPECT_VERSION:
            what = f"{path} is an inspect_ai log of version {_shown(version)}, and {_INSPECT_VERSION} is read"
            raise DataError(what, _WHOLE_LOG)
        if not value.get("samples"):
            raise DataError(f"{path} is an inspect_ai log without samples", "name a log that has them")
    if isinstance(results, Mapping) and {"configs", "n-shot"} <= value.keys():
        fix = "name the samples_*.jsonl beside it, which lm_eval writes with --log_samples"
        raise DataError(f"{path} has the means of lm-eval, without answers", fix)
    found = results.get("version", 3) if isinstance(results, Mapping) and "evalId" in value else 3
    if found not in _PROMPTFOO_VERSIONS:
        found = f"{path} is a promptfoo result of version {_shown(found)}"
        raise DataError(f"{found}, and {' and '.join(map(str, _PROMPTFOO_VERSIONS))} are read", _WHOLE_LOG)


def is_eval_log(data: bytes) -> bool:
    """Whether the bytes are those of an `.eval` log."""
    if not data.startswith(b"PK\3\4") or data.count(_ENTRY) > 200_000:
        return False
    return not {_HEADER, "_journal/start.json"}.isdisjoint(names_in_zip(data))


def names_in_zip(data: bytes) -> list[str]:
    """Empty if it is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return []


def eval_log_samples(path: Path, data: bytes) -> Iterator[Row]:
    """The samples of an `.eval` log, one at a time, because their events may exceed memory together. DataError: it
    is damaged, unfinished, of another version, or unpacks to too much.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # A sample that was logged again has two entries; the later one counts.
            entries = {entry.filename: entry for entry in archive.infolist()}
            refuse_too_long(path, len(data), sum(entry.file_size for entry in entries.values()))
            if _HEADER not in entries:
                raise DataError(f"{path} is unfinished: it has no {_HEADER}", "finish it: inspect eval-retry FILE")
            names = [name for name in entries if name.startswith(_SAMPLES) and name.endswith(".json")]
            check_log(path, {**_object(path, data, archive, entries[_HEADER]), "samples": names})
            for name in names:
                yield _object(path, data, archive, entries[name])
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, RuntimeError) as error:
        raise DataError(f"{path} is damaged ({' '.join(str(error).split())[:100]})", _WHOLE_LOG) from error


def _object(path: Path, data: bytes, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> dict[str, Any]:
    if entry.flag_bits & _ENCRYPTED:
        raise DataError(f"{path} is encrypted", _TO_JSON)
    if entry.compress_type == _ZSTD:
        content = _from_zstd(path, data, entry)
    else:
        with archive.open(entry) as file:
            content = file.read(entry.file_size)
    refuse_too_many(path, values_of_json(content), len(content))
    value = strict_json(content.decode("utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{entry.filename!r} is {kind_of(value)}, not an object")
    return value


def _from_zstd(path: Path, data: bytes, entry: zipfile.ZipInfo) -> bytes:
    """New logs are packed with zstd, which Python's zipfile reads from 3.14 on only."""
    try:
        import pyarrow
    except ImportError as error:
        what = f"{path} is packed with zstd, and pyarrow is not installed"
        raise MissingDependency(what, f"{install('hub')}, or {_TO_JSON}") from error
    # Behind the local header, which has two lengths of its own.
    begin = entry.header_offset + 30
    lengths = data[begin - 4 : begin]
    start = begin + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
    packed = data[start : start + entry.compress_size]
    found: bytes = pyarrow.Codec("zstd").decompress(packed, decompressed_size=entry.file_size, asbytes=True)
    if zlib.crc32(found) != entry.CRC:
        raise ValueError(f"{entry.filename!r} does not match its checksum")
    return found


def _of_lm_eval(sample: Row) -> Row:
    """Of a task with choices, the answer is the likeliest one, and the reference the text of the right one."""
    doc, target, answer = sample["doc"], sample.get("target"), sample["filtered_resps"]
    prompts, choices = _requests(sample["arguments"])
    likeliest = _likeliest(answer)
    if likeliest is not None:
        target, answer = _choice(choices, target), _choice(choices, str(likeliest))
    while isinstance(answer, list):
        answer = answer[0] if answer else None
    asked = doc if isinstance(doc, Mapping) else {}
    texts = [asked[name] for name in _QUESTIONS if isinstance(asked.get(name), str)]
    metrics = sample.get("metrics")
    named = [name for name in metrics if isinstance(name, str)] if isinstance(metrics, list) else []
    return {
        "query_id": sample["doc_id"],
        "user_input": next(iter([*texts, *prompts]), None),
        "completion": answer,
        "reference": target,
        "filter": sample.get("filter"),
        **_scores({name: sample.get(name) for name in named}),
    }


def _requests(arguments: object) -> tuple[list[str], list[str]]:
    """The prompts of a sample, and their continuations: `{"gen_args_0": {"arg_0": ..., "arg_1": ...}}`, in older
    files a list of pairs.
    """
    pairs = [_listed(one) for one in _listed(arguments)]
    texts = [[text for text in pair if isinstance(text, str)] for pair in pairs]
    return [pair[0] for pair in texts if pair], [pair[1].strip() for pair in texts if len(pair) > 1]


def _listed(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []


def _likeliest(responses: object) -> int | None:
    """The place of the largest log-likelihood of pairs (log-likelihood, whether it is greedy); None for texts."""
    pairs = responses if isinstance(responses, list) else []
    if not all(isinstance(one, list) and len(one) == 2 and str(one[1]) in {"True", "False"} for one in pairs):
        return None
    try:
        likelihoods = [float(one[0]) for one in pairs]
    except (TypeError, ValueError):
        return None
    return None if not likelihoods or any(map(isnan, likelihoods)) else likelihoods.index(max(likelihoods))


def _choice(choices: Sequence[str], place: object) -> object:
    """The text of a choice by its place; the place itself where choices differ in the prompt only."""
    number = str(place)
    is_place = number.isdecimal() and len(set(choices)) == len(choices) > int(number)
    return choices[int(number)] if is_place else place


def _of_inspect(sample: Row) -> Row:
    """Without seconds: those of a sample include its scoring."""
    output, error, epoch, scores = sample["output"], sample.get("error"), sample["epoch"], sample.get("scores")
    by_scorer = scores.items() if isinstance(scores, Mapping) else ()
    return {
        "query_id": sample.get("id"),
        "user_input": _last_said(sample["input"]),
        "completion": output.get("completion") if output.get("choices") else None,
        "reference": sample["target"],
        "repeat": epoch - 1 if isinstance(epoch, int) else epoch,
        "error": error.get("message") if isinstance(error, Mapping) else None,
        "started_at": sample.get("started_at"),
        **_scores({name: one.get("value") for name, one in by_scorer if isinstance(one, Mapping)}),
        **_inspect_tokens(sample.get("model_usage"), sample.get("role_usage")),
    }


def _inspect_tokens(usage: object, roles: object) -> Row:
    """Of the model that answered; nothing if another model, or one in a role such as grader, was called too."""
    found = list(usage.values()) if isinstance(usage, Mapping) and not roles else []
    if len(found) != 1 or not isinstance(found[0], Mapping):
        return {}
    names = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    parts = [found[0].get(name) or 0 for name in names]
    if not all(isinstance(one, int) for one in parts):
        return {}
    return {"input_tokens": sum(parts), "cached_tokens": parts[1], "output_tokens": found[0].get("output_tokens")}


def _last_said(messages: object) -> object:
    """The text of an input, or the last thing that the user says in one of several messages."""
    if not isinstance(messages, list):
        return messages
    said = [one.get("content") for one in messages if isinstance(one, Mapping) and one.get("role") == "user"]
    content = said[-1] if said else None
    if not isinstance(content, list):
        return content
    texts = [one.get("text") for one in content if isinstance(one, Mapping) and one.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _of_promptfoo(sample: Row) -> Row:
    """With seconds and tokens, unless the reply came from promptfoo's cache."""
    response, latency = sample.get("response"), sample.get("latencyMs")
    held = response if isinstance(response, Mapping) and not response.get("cached") else {}
    tokens = held.get("tokenUsage")
    tokens = tokens if isinstance(tokens, Mapping) else {}
    return {
        # Its `id` is that of the result; the same test has the same place in each evaluation.
        **{name: value for name, value in sample.items() if name not in {"id", "testCase"}},
        "query_id": sample.get("testIdx"),
        "reference": _expected(sample["vars"], sample.get("testCase")) or None,
        **_scores({"score": sample.get("score")}),
        "latency_s": latency / 1000 if held and isinstance(latency, int | float) and abs(latency) < 1e12 else None,
        "input_tokens": tokens.get("prompt"),
        "output_tokens": tokens.get("completion"),
    }


def _expected(given: Row, test: object) -> list[str]:
    """The values of assertions that compare a whole answer; `contains` and the like say too little about one."""
    assertions = test.get("assert") if isinstance(test, Mapping) else None
    found = []
    for one in assertions if isinstance(assertions, list) else ():
        value = one.get("value") if isinstance(one, Mapping) and one.get("type") in _WHOLE_ANSWER else None
        variable = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        value = given.get(variable[1]) if variable else value
        found += [value] if isinstance(value, str) and "{{" not in value else []
    return found


def _scores(metrics: Row) -> Row:
    """The values of a sample's metrics, and the first from 0 to 1 as the score of the answer."""
    values = {
        name: _GRADES.get(value, value) if isinstance(value, str) else value for name, value in metrics.items()
    }
    shares = {name: value for name, value in values.items() if isinstance(value, int | float) and 0 <= value <= 1}
    name = next(iter(shares), None)
    return {"metrics": values, "reported_score": None if name is None else float(shares[name]), "score_name": name}


def _shown(value: object) -> str:
    return json.dumps(value)[:20]
