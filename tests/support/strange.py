"""Strange values, configs and answer files as hypothesis strategies, and how what reads them ends."""

import json
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bounded import TooLong, at_most
from command_line import CommandLineHere
from hypothesis import strategies as st

from harness.config import BenchConfig
from harness.core.errors import HarnessError
from harness.core.hashing import flatten
from harness.runner.importing.answer_file import read_file

LIMIT_S = 20
"""A longer run counts as a hang."""


class Raw(str):
    """Inserted into a text without quotes."""


YAML_SCALARS = [
    ".nan", ".inf", "-.inf", "2024-13-45", "2024-01-05", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00",
    "9" * 5000, "9" * 400, "1e999", "-0", "0x", "0o17", "1_000", "190:20:30", "~", "null", "yes",
    "on", "=", "<<", "*a",
    "&a [*a]", "&a {x: *a}", "&a [&b [*a, *b], *b]", "!!set {a, b}", "!!binary aGk=",
    "!!binary '*'", "!!omap [a: 1]",
    "!!python/object/apply:os.getcwd []", "!!timestamp x", "!!int x", "!!float []", "!!map []",
    "!local x", "? [a]",
    "[" * 50 + "]" * 50, "[" * 3000, "{a: " * 60 + "1" + "}" * 60, '"\\ud800"', '"\\0"',
    '"\\x1b[31m"', "'", '"', "|", ">-",
    "%", "@", "`", "#", "- -", "[,]", "{,}", "{1: 2}", "{[a]: b}", "{null: 1}", "{<<: 1}",
    "{<<: [{a: 1}, 2]}", "''",
]  # fmt: skip
JSON_SCALARS = [
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000, "9" * 400, "1.5", "-0.0", "1e308", '"\\ud800"',
    '"\\u0000"', '"\\u001b[31m\\u202e"', "[" * 900 + "]" * 900, "[" * 30_000,
    '{"a":' * 800 + "1" + "}" * 800, "nul", "",
    '{"a": 1, "a": 2}', "01", "'x'", '"\t"', '"0001-01-01T00:00:00+14:00"',
    '"9999-12-31T23:59:59-14:00"', '"\\ud83d\\ude00"',
]  # fmt: skip
WORDS = [
    "", " ", "none", "full", "naive", "kg", "community", "demo", "uda_qa", "local", "openai",
    "openai-compatible", "vllm",
    "fake", "minilm", "sentence-transformers", "../../etc", "/dev/zero", "/dev/stdin",
    "/proc/self/mem", "pipe", "/", ".",
    "a" * 300, "http://x..y/v1", "http://h:99999/v1", "http://[::1/v1", "http://u:p@h", "\x1b[31m",
    "é" * 50, "\u202e",
    "answer", "retrieval", "rag_eval", "OPENAI_API_KEY", "[bold]", "{0}", "%s", "$(id)", "answer.top_k", "system",
]  # fmt: skip
_numbers = st.integers(-3, 3) | st.sampled_from([2**31, 2**63, -(2**63), 10**18, 10**30, 1e300, 1e-300, 0.5, -1.0])
_texts = st.sampled_from(WORDS) | st.text(max_size=20)


def values(scalars: Sequence[str]) -> st.SearchStrategy[Any]:
    """Any value that a text of that kind may contain."""
    leaves = st.sampled_from([Raw(one) for one in scalars]) | _numbers | _texts | st.booleans() | st.none()
    return leaves | st.recursive(
        leaves,
        lambda below: st.lists(below, max_size=3) | st.dictionaries(_texts, below, max_size=3),
        max_leaves=5,
    )


def spelled(value: Any) -> str:
    """As JSON, which is also YAML; `Raw` is inserted unchanged."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)}: {spelled(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(spelled, value)) + "]"
    return json.dumps(value)


KEYS = [
    *flatten(BenchConfig().model_dump(mode="json")),
    *(
        "models",
        "models.judge",
        "dataset",
        "limits",
        "index",
        "index.chunk_size",
        "index.x",
        "answer",
        "answer.top_k",
    ),
    *("per_system", "per_system.naive.index.chunk_size", "per_evaluator", "per_evaluator.retrieval.ks", "matrix"),
    *("matrix.answer.top_k", "matrix.models.generator.model", "matrix.index.x", "exclude", "dataset.sample"),
    *(
        "models.generator.options.path",
        "models.generator.options.latency_s",
        "models.judge.options.context_tokens",
    ),
    *("", ".", "seed.x", "a.b.c", ".".join(["index"] * 100)),
]
SANE = [
    {},
    {"models.generator.provider": "none"},
    {"models.generator.provider": "vllm", "models.generator.model": "m"},
    {
        "models.judge.provider": "openai-compatible",
        "models.judge.model": "m",
        "models.judge.base_url": "http://h/v1",
    },
    {"models.embedder.provider": "openai-compatible", "models.embedder.base_url": "http://h/v1"},
    {"models.embedder.provider": "sentence-transformers"},
    {"systems": ["naive", "recursive"], "models.generator.provider": "fake"},
    {"systems": ["kg"], "index.extractor": "nlp"},
    {"evaluators": ["answer", "retrieval", "rag_eval"], "per_evaluator.retrieval.ks": [1]},
]
"""Valid keys next to a strange value, so that it is reached."""


@st.composite
def commands(draw: st.DrawFn) -> tuple[str, list[str]]:
    """(text of a config, arguments of a command that reads it as `own.yaml`)."""
    strange = st.dictionaries(st.sampled_from(KEYS), values(YAML_SCALARS), min_size=1, max_size=2)
    in_file, said = draw(st.sampled_from([(strange, st.just({})), (st.just({}), strange), (strange, strange)]))
    text = _nested({**draw(st.sampled_from(SANE)), **draw(in_file)})
    if text and not draw(st.integers(0, 7)):
        place, put = (
            draw(st.integers(0, len(text))),
            draw(st.sampled_from(["\n", "&a ", "*a", ":", "{", "\0", "- "])),
        )
        text = text[:place] + put + text[place + draw(st.integers(0, 1)) :]
    if not draw(st.integers(0, 30)):
        text = draw(st.text(max_size=30))
    named = (
        "own.yaml"
        if draw(st.integers(0, 50))
        else draw(st.sampled_from(["pipe", "data", "/dev/zero", "none.yaml"]))
    )
    words = ["plan" if draw(st.integers(0, 3)) else "estimate", "--config", named]
    for key, value in draw(said).items():
        words += ["--set", f"{key}={spelled(value)}".replace("\0", "")]
    return text, words


def _nested(settings: Mapping[str, Any]) -> str:
    tree: dict[str, Any] = {}
    for key, value in settings.items():
        *above, last = key.split(".")
        at = tree
        for part in above:
            below = at.get(part)
            at[part] = at = below if isinstance(below, dict) else {}
        at[last] = value
    return "\n".join(f"{json.dumps(key)}: {spelled(value)}" for key, value in tree.items())


def rows(like: Mapping[str, Any]) -> st.SearchStrategy[str]:
    """An object like this one, with some fields strange, doubled or left out."""
    strange = values(JSON_SCALARS)
    changes = st.dictionaries(st.sampled_from([*like, "other"]), strange, max_size=3)
    left_out = st.sets(st.sampled_from(list(like)), max_size=1)
    return st.builds(
        lambda changed, gone: spelled({key: one for key, one in {**like, **changed}.items() if key not in gone}),
        changes, left_out,
    ) | strange.map(spelled)  # fmt: skip


ANSWER = {
    "query": "Who?", "query_id": 3, "answer": "I.", "error": None, "contexts": [{"text": "t",
    "doc_ids": ["d"], "score": 1.5}],
    "input_tokens": 5, "output_tokens": 2.0, "cached_tokens": 0, "model_calls": 1, "latency_s": 0.5, "repeat": 0,
    "started_at": "2026-11-20T12:00:00+02:00",
}  # fmt: skip
ANSWERS = st.lists(rows(ANSWER), min_size=1, max_size=3).map("\n".join)
"""Texts of answer files."""


def wrong_with_answers(path: Path, text: str) -> str:
    """The fault in how such a file is read; empty: it is read, or refused in one line."""

    def read() -> str:
        path.write_bytes(text.encode(errors="surrogatepass"))
        try:
            for row in read_file(path, fields={}, where={}).rows:
                row.model_dump_json()
        except HarnessError as error:
            line = str(error)
            return "" if len(line) < 4000 and line.isprintable() else f"no line: {line[:300]!r}"
        return ""

    return wrong_with(read)


@dataclass
class Strange:
    """A folder for commands on strange input, without network or data."""

    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "data").mkdir()
        os.mkfifo(self.folder / "pipe")
        env = {"RAG_HARNESS_CACHE": str(self.folder / "cache"), "RAG_HARNESS_DATA": str(self.folder / "data")}
        self.cli = CommandLineHere(self.folder, {**env, "HF_HUB_OFFLINE": "1"})

    def wrong_with_command(self, text: str, words: Sequence[str]) -> str:
        """The fault in how the command ends; empty: it succeeds, or fails in one line with exit 2."""
        (self.folder / "own.yaml").write_bytes(text.encode(errors="surrogatepass"))

        def call() -> str:
            done = self.cli.call(*words)
            lines = done.stderr.strip().splitlines()
            is_refused = done.returncode == 2 and len(lines) == 1 and lines[0].startswith("error: ")
            if done.returncode == 0 or is_refused:
                return ""
            return f"exit {done.returncode}: {done.stderr[-300:]}"

        return wrong_with(call)


def wrong_with(call: Callable[[], str]) -> str:
    """The fault in how the call ends: its output, or the last lines of its traceback."""
    try:
        with at_most(LIMIT_S):
            return call()
    except (TooLong, Exception):
        return "".join(traceback.format_exc().splitlines(keepends=True)[-12:])
