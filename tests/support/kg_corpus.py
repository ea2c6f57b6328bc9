"""A corpus for kg, a model that extracts its triplets, and questions about it."""

import json
import re
from typing import Any

from asking import asked
from runtimes import Asked, BareRuntime

from harness.core.records import Context, Document
from systems.kg.system import SPEC

TEXTS = {
    "d0": "Ingrid Solvane runs Tidewright Power. Tidewright Power builds turbines for Gull Sound.",
    "d1": "Ondrevik makes signals for the Coastal Line. Norrand Rail runs the Coastal Line.",
    "d2": "Gull Sound lies off Port Aldery. Port Aldery is a town.",
    "d3": "",
}
CORPUS = [
    Document(doc_id=doc_id, text=text, title=f"Article {doc_id}", metadata={"source": "The Post"})
    for doc_id, text in TEXTS.items()
]
THESIS: dict[str, Any] = {"names_by": "rules", "mentions": False, "rank": "words", "hops": 1}
"""Its parameters for retrieval."""
STATEMENT = re.compile(
    r"([A-Z]\w+(?: [A-Z]\w+)*) (runs|builds turbines for|makes signals for|lies off) (?:the )?"
    r"([A-Z]\w+(?: [A-Z]\w+)*)"
)


def scripted(asked: Asked) -> str:
    """Extracts the matches of STATEMENT; answers any other request with `an answer`."""
    if asked.json_schema is None:
        return "an answer"
    text = asked.messages[-1].content.split("Text:")[1]
    found = [dict(zip(("head", "relation", "tail"), match, strict=True)) for match in STATEMENT.findall(text)]
    return json.dumps({"triplets": found})


async def ask(runtime: BareRuntime, text: str, **answer: Any) -> tuple[Context, ...]:
    return (await asked(SPEC, runtime, text, **{**THESIS, **answer})).contexts


def of_kind(contexts: tuple[Context, ...], kind: str) -> list[str]:
    return [context.text for context in contexts if context.kind == kind]
