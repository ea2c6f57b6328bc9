"""A chain, an agent or a retriever of LangChain: `--system langchain:my_module:make_chain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from harness.core.errors import need
from harness.core.records import Document, Usage
from systems.pipelines.params import ChainParams
from systems.pipelines.python_pipeline import CodePipeline, family
from systems.pipelines.replies import (
    PipelineReply,
    WrongShape,
    context_of,
    kind,
    read_answer,
    read_reply,
    read_usage,
)

_ANSWERS = ("answer", "result", "output", "output_text")
_CONTEXTS = ("context", "source_documents", "contexts", "documents")
_INPUTS = ("input", "question", "query")


class ChainPipeline(CodePipeline):
    wants = "a Runnable of LangChain, or a function that makes one"
    _params: ChainParams

    def is_pipeline(self, found: Any) -> bool:
        return not isinstance(found, type) and hasattr(found, "invoke") and hasattr(found, "ainvoke")

    def as_documents(self, corpus: Sequence[Document]) -> Sequence[Any]:
        """LangChain's own, with `doc_id` and `title` beside the metadata."""
        from langchain_core.documents import Document as TheirDocument

        return [
            TheirDocument(
                page_content=one.text,
                id=one.doc_id,
                metadata={**one.metadata, "doc_id": one.doc_id, "title": one.title},
            )
            for one in corpus
        ]

    def asking(self, pipeline: Any, question: str, _offered: Mapping[str, Any]) -> Callable[[], Any]:
        """A text, or the key that its schema asks for."""
        key = self._params.input if self._params.input != "auto" else _input_key(pipeline)
        return partial(pipeline.ainvoke, question if key == "text" else {key: question})

    def reply(self, said: Any) -> PipelineReply:
        """A text or a message; documents alone, of a retriever; or an object that holds both."""
        if isinstance(said, list | tuple):
            return PipelineReply(answer=None, contexts=self._contexts(said))
        if not isinstance(said, Mapping):
            return PipelineReply(_text(said), usage=_usage(said), has_contexts=False)
        if messages := said.get("messages"):
            answer, usage = messages[-1], _usage(*messages)
        elif not any(name in said for name in _ANSWERS):
            return read_reply(said)
        else:
            answer = _of(said, _ANSWERS)
            usage = read_usage(said["usage"]) if said.get("usage") is not None else _usage(answer)
        found = _of(said, _CONTEXTS)
        return PipelineReply(_text(answer), self._contexts(found or ()), usage, has_contexts=found is not None)

    def _contexts(self, found: Any) -> tuple[Any, ...]:
        if isinstance(found, str):
            return (context_of(found, None, None, "context"),)
        if not isinstance(found, Sequence):
            raise WrongShape(f"'context' must be documents, not {kind(found)}")
        return tuple(self._context(one, f"context.{place}") for place, one in enumerate(found))

    def _context(self, found: Any, where: str) -> Any:
        if isinstance(found, str):
            return context_of(found, None, None, where)
        if not hasattr(found, "page_content"):
            raise WrongShape(f"'{where}' must be a document of LangChain, not {kind(found)}")
        metadata = getattr(found, "metadata", None) or {}
        return context_of(found.page_content, metadata.get(self._params.doc_id), None, where)


def _input_key(pipeline: Any) -> str:
    """The input key in a chain's schema; `text` if it has none of the known keys."""
    try:
        schema = pipeline.get_input_jsonschema()
    except Exception:  # What some schemas cannot be written as.
        return "text"
    asked = schema.get("properties") or {}
    return next((name for name in _INPUTS if name in asked), "text")


def _text(said: Any) -> str | None:
    text = getattr(said, "text", None) if hasattr(said, "content") else said
    return read_answer(str(text) if isinstance(text, str) else text)


def _usage(*messages: Any) -> Usage | None:
    """Usage as reported by the models' servers, in LangChain's messages."""
    counted = [one.usage_metadata for one in messages if getattr(one, "usage_metadata", None)]
    if not counted:
        return None
    return Usage(
        calls=len(counted),
        input_tokens=sum(max(0, int(one.get("input_tokens", 0))) for one in counted),
        output_tokens=sum(max(0, int(one.get("output_tokens", 0))) for one in counted),
    )


def _of(said: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((said[name] for name in names if said.get(name) is not None), None)


SPEC = family(
    "langchain",
    ChainPipeline,
    ChainParams,
    lambda: need("pipeline-langchain", "langchain_core"),
    "your LangChain chain: --system langchain:my_module:make_chain (docs/your-pipeline.md)",
)
