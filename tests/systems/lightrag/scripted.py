"""A language model for these tests, by rules; run as a script it builds an index and prints what it came to."""

import asyncio
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asking import indexed
from harbour_corpus import CORPUS, NAME, QUERY, STATEMENT
from runtimes import Asked, BareRuntime, Chat

from harness.core.records import Document, IndexStats
from systems.lightrag.params import AnswerParams, IndexParams
from systems.lightrag.system import SPEC, LightRAGSystem

REPEATED = [Document(doc_id=f"yard{n}", text=f"Yard{n} Alpha joined Tidewright Power.") for n in range(10)]
"""Each describes one company in other words: more than the library keeps without joining them."""
MODES = ("naive", "local", "global", "hybrid", "mix")


def answer_by_rule(asked: Asked) -> str:
    """Keywords, records in either form, a summary or an answer, whichever is asked for."""
    properties = (asked.json_schema or {}).get("properties", {})
    if "low_level_keywords" in properties:
        question = asked.text.rsplit("Who", 1)[-1].split("---Output---")[0]
        low = re.findall(NAME, question)
        return json.dumps({"high_level_keywords": ["leads", "built"], "low_level_keywords": low})
    if "missed" in asked.messages[-1].content:
        return "{}" if properties else "<|COMPLETE|>"
    if "---Input Text---" in asked.messages[-1].content:
        return _records(asked.messages[-1].content, as_json=bool(properties))
    if "Description List" in asked.text:
        return "A summary."
    return "Ingrid Solvane"


def _records(prompt: str, as_json: bool) -> str:
    found = STATEMENT.findall(prompt.rsplit("---Input Text---", 1)[-1].split("---Output---", maxsplit=1)[0])
    names = dict.fromkeys(name for head, _, tail in found for name in (head, tail))
    first = next(iter(names), "")
    if as_json:
        entities = [
            {"name": name, "type": "Organization", "description": f"{name} stands beside {first}."}
            for name in names
        ]
        relations = [
            {"source": a, "target": b, "keywords": verb, "description": f"{a} {verb} {b}."} for a, verb, b in found
        ]
        return json.dumps({"entities": entities, "relationships": relations})
    rows = [f"entity<|#|>{name}<|#|>Organization<|#|>{name} stands beside {first}." for name in names]
    rows += [f"relation<|#|>{a}<|#|>{b}<|#|>{verb}<|#|>{a} {verb} {b}." for a, verb, b in found]
    return "\n".join([*rows, "<|COMPLETE|>"])


async def build(runtime: BareRuntime, corpus: Sequence[Document] | None = None, **params: Any) -> IndexStats:
    """Index the corpus, CORPUS unless given."""
    return await indexed(SPEC, runtime, CORPUS if corpus is None else corpus, params)


async def opened(runtime: BareRuntime, **params: Any) -> LightRAGSystem:
    """The built index, ready to answer."""
    system = LightRAGSystem(IndexParams(), AnswerParams.model_validate(params), runtime)
    await system.load()
    return system


async def main(folder: Path) -> None:
    """Build in both forms, answer in all modes, print a digest of every call and answer."""
    digest = hashlib.sha256()
    for extraction in ("text", "json"):
        place = folder / extraction
        place.mkdir(parents=True)
        chat = Chat(answer_by_rule)
        runtime = BareRuntime(place, chat)
        stats = await build(runtime, [*CORPUS, *REPEATED], extraction=extraction)
        for mode in MODES:
            system = await opened(runtime, mode=mode)
            digest.update((await system.answer(QUERY)).model_dump_json().encode())
            system.close()
        digest.update("\n".join([str(stats), *sorted(call.text for call in chat.calls)]).encode())
    print(digest.hexdigest())  # noqa: T201 - its parent reads it


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
