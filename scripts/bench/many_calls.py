"""A system that only makes consecutive model calls, to measure the cost of the runner.

Its questions are generated; all prompts differ, and are as long as one with three passages.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import Field

from harness.core.records import Document, IndexStats, Prediction, Query
from harness.protocols import GENERATES, NO_ROLE, Message, Params, Runtime, SystemSpec

NAME = "many-calls"
_PASSAGE = "The bakery at the harbour opened in 1921, and Marta Lind has run it since. " * 25


class AnswerParams(Params):
    calls: int = Field(8, ge=1)


class ManyCalls:
    """See `harness.protocols.System`."""

    def __init__(self, _index: Params, answer: AnswerParams, runtime: Runtime) -> None:
        self._calls, self._runtime = answer.calls, runtime

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Build nothing."""
        return IndexStats(documents=len(corpus))

    async def load(self) -> None:
        """Nothing to load."""

    async def answer(self, query: Query) -> Prediction:
        """Make the calls of a query."""
        chat = self._runtime.chat
        assert chat  # noqa: S101 - the spec names it
        for step in range(self._calls):
            reply = await chat.complete(messages(query.text, step))
        return Prediction(answer=reply)

    def close(self) -> None:
        """Nothing to close."""


SPEC = SystemSpec(
    name=NAME,
    version="1",
    summary="so many calls of its model, one after the other",
    index_params=Params,
    answer_params=AnswerParams,
    build=ManyCalls,
    index_roles=NO_ROLE,
    answer_roles=GENERATES,
)


def messages(question: str, step: int) -> list[Message]:
    """The prompt of one call: 1,900 characters of passages, then the question."""
    return [
        Message("system", "Answer in one word."),
        Message("user", f"{_PASSAGE}\n\nStep {step} of this question: {question}"),
    ]


def question(number: int) -> str:
    """The question with this number."""
    return f"Who runs the bakery number {number}?"


@contextmanager
def installed(queries: int) -> Iterator[tuple[Path, dict[str, str]]]:
    """(a folder with `docs` and `questions.jsonl`, environment variables with which a process finds the
    system).
    """
    with TemporaryDirectory(prefix="bench-runner-") as made:
        folder = Path(made)
        (folder / "docs").mkdir()
        (folder / "docs" / "bakery.md").write_text(f"# Bakery\n\n{_PASSAGE}\n", encoding="utf-8")
        lines = (json.dumps({"question": question(number)}) for number in range(queries))
        (folder / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        told = folder / "site" / "bench_many_calls-1.dist-info"
        told.mkdir(parents=True)
        (told / "METADATA").write_text("Metadata-Version: 2.1\nName: bench-many-calls\nVersion: 1\n")
        (told / "entry_points.txt").write_text(f"[rag_harness.systems]\n{NAME} = {Path(__file__).stem}:SPEC\n")
        yield folder, {"PYTHONPATH": f"{folder / 'site'}:{Path(__file__).parent}"}
