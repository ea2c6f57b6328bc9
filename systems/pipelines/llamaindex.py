"""A query engine or a retriever of LlamaIndex: `--system llamaindex:my_module:make_engine`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from harness.core.errors import need
from harness.core.records import Context, Document
from systems.pipelines.params import ChainParams
from systems.pipelines.python_pipeline import CodePipeline, family
from systems.pipelines.replies import PipelineReply, WrongShape, context_of, kind, read_answer

_NOTHING = "Empty Response"
"""LlamaIndex's answer if no passage was found."""


class EnginePipeline(CodePipeline):
    wants = "a query engine of LlamaIndex, or a function that makes one"
    _params: ChainParams

    def is_pipeline(self, found: Any) -> bool:
        return not isinstance(found, type) and (hasattr(found, "query") or hasattr(found, "retrieve"))

    def as_documents(self, corpus: Sequence[Document]) -> Sequence[Any]:
        """LlamaIndex's own, with `doc_id` and `title` beside the metadata, which no model is shown."""
        from llama_index.core import Document as TheirDocument

        hidden = ["doc_id"]
        return [
            TheirDocument(
                text=one.text,
                id_=one.doc_id,
                metadata={**one.metadata, "doc_id": one.doc_id, "title": one.title},
                excluded_embed_metadata_keys=hidden,
                excluded_llm_metadata_keys=hidden,
            )
            for one in corpus
        ]

    def asking(self, pipeline: Any, question: str, _offered: Mapping[str, Any]) -> Callable[[], Any]:
        return partial(_ask, pipeline, question)

    def reply(self, said: Any) -> PipelineReply:
        """A response with its sources; nodes alone, of a retriever."""
        if isinstance(said, list | tuple):
            return PipelineReply(answer=None, contexts=self._contexts(said))
        if hasattr(said, "get_response") and not isinstance(getattr(said, "response", None), str):
            said = said.get_response()  # It was streamed.
        if not hasattr(said, "response"):
            raise WrongShape(f"the reply must be a Response of LlamaIndex, not {kind(said)}")
        answer = None if said.response in {None, _NOTHING} else said.response
        return PipelineReply(
            read_answer(answer) if answer is not None else "", self._contexts(said.source_nodes or ())
        )

    def _contexts(self, nodes: Sequence[Any]) -> tuple[Context, ...]:
        return tuple(self._context(one, f"source_nodes.{place}") for place, one in enumerate(nodes))

    def _context(self, found: Any, where: str) -> Context:
        node = getattr(found, "node", found)
        if not hasattr(node, "get_content"):
            raise WrongShape(f"'{where}' must be a node of LlamaIndex, not {kind(found)}")
        doc_id = (node.metadata or {}).get(self._params.doc_id) or getattr(node, "ref_doc_id", None)
        return context_of(node.get_content(), doc_id, getattr(found, "score", None), where)


async def _ask(pipeline: Any, question: str) -> Any:
    ask, wait = ("aquery", "query") if hasattr(pipeline, "query") else ("aretrieve", "retrieve")
    if hasattr(pipeline, ask):
        try:
            return await getattr(pipeline, ask)(question)
        except NotImplementedError:
            pass
    return getattr(pipeline, wait)(question)


SPEC = family(
    "llamaindex",
    EnginePipeline,
    ChainParams,
    lambda: need("pipeline-llamaindex", "llama_index"),
    "your LlamaIndex query engine: --system llamaindex:my_module:make_engine (docs/your-pipeline.md)",
)
