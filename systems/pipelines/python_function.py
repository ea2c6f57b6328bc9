"""A function in Python: `--system python:my_module:answer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from harness.core.records import Document
from systems.pipelines.params import CodeParams
from systems.pipelines.python_pipeline import FACTORY, CodePipeline, family, parameters
from systems.pipelines.replies import PipelineReply, read_reply


class FunctionPipeline(CodePipeline):
    wants = "a function of a question"

    def is_pipeline(self, found: Any) -> bool:
        """A callable with a parameter that no factory has, or with a parameter for the question."""
        if not callable(found) or isinstance(found, type):
            return False
        names = parameters(found)
        return "question" in names or not names or bool(set(names[:1]) - FACTORY)

    def as_documents(self, corpus: Sequence[Document]) -> Sequence[Any]:
        return [document.model_dump() for document in corpus]

    def asking(self, pipeline: Any, question: str, offered: Mapping[str, Any]) -> Callable[[], Any]:
        """By name if possible, otherwise the question is the first argument."""
        names = parameters(pipeline)
        given = {name: value for name, value in offered.items() if name in names}
        if "question" in names:
            return partial(pipeline, **given, question=question)
        return partial(pipeline, question, **given)

    def reply(self, said: Any) -> PipelineReply:
        return read_reply(said)


SPEC = family(
    "python",
    FunctionPipeline,
    CodeParams,
    lambda: None,
    "your function: --system python:my_module:answer (docs/your-pipeline.md)",
)
