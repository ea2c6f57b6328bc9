"""Community reports: one structured call a community, and what stands in where there is no report."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from harness.asking.structured import Answered, Question, ask_json
from harness.extraction.names import one_line
from harness.protocols import ChatModel
from systems.community import library
from systems.community.guard import Guard
from systems.community.tokens import clip
from systems.parts.prompts import reports as prompts

_STAND_IN_TOKENS = 400
_MARK = "\x00material\x00"


class ReportWriter:
    """Writes the reports that nano-graphrag asks for."""

    def __init__(self, chat: ChatModel, guard: Guard, max_tokens: int, progress: Callable[[int], None]) -> None:
        self._chat = chat
        self._guard = guard
        self._max_tokens = max_tokens
        self._progress = progress
        self._before, self._after = _around_material()
        self.written = 0
        """Reports done, one way or the other."""
        self.failed = 0
        """Those of them that are a stand-in."""

    async def write(self, prompt: str) -> str:
        """The report, as JSON, on the tables in the library's prompt. Never raises, so that the insert goes on."""
        material = clip(prompt.removeprefix(self._before).removesuffix(self._after), self._max_tokens)
        answered = await self._guard.run(lambda: self._ask(material))
        self.written += 1
        self._progress(self.written)
        if answered is None:
            self.failed += 1
            return json.dumps(_stand_in(material))
        return json.dumps(answered.value)

    async def _ask(self, material: str) -> Answered[dict[str, Any]]:
        question = Question(
            prompts.report_messages(material), prompts.REPORT_SCHEMA, read_report, prompts.REPORT_MAX_TOKENS
        )
        return await ask_json(self._chat, question)


def _around_material() -> tuple[str, str]:
    """What the library's report prompt says before and after the tables: ours says it in other words."""
    template = library.load().prompt.PROMPTS["community_report"]
    before, after = template.format(input_text=_MARK).split(_MARK)
    return before, after


def _stand_in(material: str) -> dict[str, Any]:
    """In place of a report: the head of its tables, with the lowest rating."""
    return {"title": "A community without a report", "summary": clip(material, _STAND_IN_TOKENS), "rating": 0} | {
        "findings": []
    }


def read_report(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The report in a reply, within the bounds of the schema; ValueError where it says nothing."""
    summary = _text(reply.get("summary"), prompts.MAX_SUMMARY)
    if not summary:
        raise ValueError("the report has no summary")
    listed = reply.get("findings")
    findings = [_finding(item) for item in listed[: prompts.MAX_FINDINGS]] if isinstance(listed, list) else []
    return {
        "title": _text(reply.get("title"), prompts.MAX_TITLE) or "Community",
        "summary": summary,
        "rating": bounded_number(reply.get("rating"), 10) or 0,
        "findings": [finding for finding in findings if finding],
    }


def _finding(item: object) -> dict[str, str] | None:
    if not isinstance(item, dict):
        return None
    summary = _text(item.get("summary"), prompts.MAX_HEADLINE)
    return {"summary": summary, "explanation": _text(item.get("explanation"), prompts.MAX_EXPLANATION)}


def _text(value: object, length: int) -> str:
    return one_line(value)[:length].strip() if isinstance(value, str) else ""


def bounded_number(value: object, highest: float) -> float | None:
    """A finite number from 0 to `highest`, brought within these bounds; None where `value` is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return min(max(value, 0), highest)
