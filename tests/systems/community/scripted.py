"""A language model for these tests, by rules; run as a script it builds an index and prints what it came to."""

import asyncio
import hashlib
import json
import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asking import indexed
from harbour_corpus import CORPUS, NAME, QUERY, STATEMENT, TEXTS
from runtimes import Asked, BareRuntime, Chat

from harness.core.records import Document
from systems.community import library
from systems.community.params import AnswerParams, IndexParams
from systems.community.reports import REPORT_SCHEMA
from systems.community.system import SPEC, CommunitySystem

ENTITIES = sorted({name for text in TEXTS.values() for name in re.findall(NAME, text) if " " in name})


def answer_by_rule(asked: Asked) -> str:
    """Triplets, a report, points or an answer, whichever is asked for."""
    if asked.json_schema is not None:
        (kind,) = asked.json_schema["properties"].keys() & {"triplets", "findings", "points"}
        return json.dumps({kind: RULES[kind](asked)} if kind != "findings" else _report(asked))
    if "-Goal-" in asked.messages[0].content:
        return records(asked.messages[0].content) if len(asked.messages) == 1 else "<|COMPLETE|>"
    if "Description List" in asked.text:
        return "A summary."
    return "Ingrid Solvane"


def _triplets(asked: Asked) -> list[dict[str, str]]:
    found = STATEMENT.findall(asked.messages[1].content)
    return [{"head": head, "relation": relation, "tail": tail} for head, relation, tail in found]


def _report(asked: Asked) -> dict[str, Any]:
    names = list(dict.fromkeys(re.findall(rf'\d,\t"({NAME})"', asked.messages[1].content)))
    finding = {"summary": names[0], "explanation": f"{names[0]} is named here."}
    return {
        "title": names[0],
        "summary": f"About {', '.join(names)}.",
        "rating": len(names),
        "findings": [finding],
    }


def _points(asked: Asked) -> list[dict[str, Any]]:
    """A point for each report that shares names with the question; the more it shares, the higher its score."""
    reports, question = asked.messages[1].content.split("Question: ")
    names = set(re.findall(NAME, question.split("\n")[0]))
    points: list[dict[str, Any]] = []
    for number, text in enumerate(reports.split("[Report ")[1:], start=1):
        shared = sorted(name for name in names if name in text)
        points.append({"report": number, "description": f"{' and '.join(shared)}, {number}", "score": len(shared)})
    return sorted(points, key=lambda point: -point["score"])[:5]


RULES: dict[str, Callable[[Asked], Any]] = {"triplets": _triplets, "points": _points}


def records(prompt: str) -> str:
    """The library's own format, for the text in its prompt."""
    text = prompt.split("-Real Data-")[1]
    found = STATEMENT.findall(text)
    names = dict.fromkeys(name for head, _, tail in found for name in (head, tail))
    entities = [f'("entity"<|>"{name}"<|>"organization"<|>"{name} is an organization.")' for name in names]
    relations = [f'("relationship"<|>"{a}"<|>"{b}"<|>"{a} {verb} {b}"<|>7)' for a, verb, b in found]
    return "##".join([*entities, *relations]) + "<|COMPLETE|>"


class Failing:
    """Answers by rule, except where a prompt holds one of some words."""

    def __init__(self, *words: str, failure: Exception | str) -> None:
        self._words = words
        self._failure = failure

    def __call__(self, asked: Asked) -> str:
        if not any(word in asked.text for word in self._words):
            return answer_by_rule(asked)
        if isinstance(self._failure, Exception):
            raise self._failure
        return self._failure


async def build(runtime: BareRuntime, corpus: list[Document] | None = None, **params: Any) -> Any:
    """Index the corpus, CORPUS unless given; its stats."""
    return await indexed(SPEC, runtime, CORPUS if corpus is None else corpus, params)


async def opened(runtime: BareRuntime, **params: Any) -> CommunitySystem:
    """The built index, ready to answer."""
    system = CommunitySystem(IndexParams(), AnswerParams.model_validate(params), runtime)
    await system.load()
    return system


def stored(runtime: BareRuntime, name: str) -> Any:
    return json.loads((runtime.index_dir / f"{name}.json").read_text())


def graph_of(runtime: BareRuntime) -> Any:
    return library.storages().LeidenGraph("chunk_entity_relation", {"working_dir": str(runtime.index_dir)})._graph


def reports_asked(chat: Chat) -> list[Asked]:
    return [call for call in chat.calls if call.json_schema == REPORT_SCHEMA]


async def main(folder: Path) -> None:
    """Build with both extractors, answer in both modes, print a digest of it all, and who logs."""
    digest = hashlib.sha256()
    for extractor in ("bounded", "nano"):
        place = folder / extractor
        place.mkdir(parents=True)
        chat = Chat(answer_by_rule)
        runtime = BareRuntime(place, chat)
        stats = await build(runtime, extractor=extractor, report_tokens=200)
        for mode in ("global", "local"):
            digest.update((await (await opened(runtime, mode=mode)).answer(QUERY)).model_dump_json().encode())
        digest.update("\n".join([str(stats), *sorted(call.text for call in chat.calls)]).encode())
        for path in sorted(place.iterdir()):
            digest.update(path.read_bytes())
    print(digest.hexdigest(), logging.getLogger().handlers)  # noqa: T201 - its parent reads it


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
