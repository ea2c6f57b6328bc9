"""A query engine of LlamaIndex. Its models are 30 lines here, so that the example needs llama-index-core alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from llama_index.core import StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.node_parser import TokenTextSplitter


def make_engine(documents: Sequence[Any], folder: Path, base_url: str, api_key: str, model: str) -> Any:
    """Build its index where there is none, and answer from it."""
    embedder = Embedder(base_url=base_url, api_key=api_key)
    if (folder / "docstore.json").exists():
        stored = StorageContext.from_defaults(persist_dir=str(folder))
        index = load_index_from_storage(stored, embed_model=embedder)
    else:
        splitter = TokenTextSplitter(chunk_size=256, chunk_overlap=20)
        index = VectorStoreIndex.from_documents(documents, embed_model=embedder, transformations=[splitter])
        index.storage_context.persist(str(folder))
    if not model:  # The run is about retrieval alone; so is the build, where only the embedder is lent.
        return index.as_retriever(similarity_top_k=10)
    return index.as_query_engine(llm=Model(base_url=base_url, api_key=api_key, name=model), similarity_top_k=10)


class Model(CustomLLM):  # type: ignore[misc]
    """Any chat model of OpenAI's protocol."""

    base_url: str
    api_key: str
    name: str

    @property
    def metadata(self) -> Any:
        """What LlamaIndex has to know of it."""
        return LLMMetadata(context_window=32_000, num_output=256, model_name=self.name)

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    def complete(self, prompt: str, **_: Any) -> Any:
        """One call."""
        body = {"model": self.name, "messages": [{"role": "user", "content": prompt}]}
        reply = post(f"{self.base_url}/chat/completions", self.api_key, body)
        return CompletionResponse(text=reply["choices"][0]["message"]["content"])

    @llm_completion_callback()  # type: ignore[untyped-decorator]
    def stream_complete(self, prompt: str, **_: Any) -> Any:
        """The whole reply as one piece."""
        yield self.complete(prompt)


class Embedder(BaseEmbedding):  # type: ignore[misc]
    """Any embedder of OpenAI's protocol."""

    base_url: str
    api_key: str

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        body = {"model": "embedding", "input": texts}
        return [row["embedding"] for row in post(f"{self.base_url}/embeddings", self.api_key, body)["data"]]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def post(url: str, api_key: str, body: dict[str, Any]) -> Any:
    """The JSON that a server replies."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {api_key}"}
    request = Request(url, json.dumps(body).encode(), headers)  # noqa: S310
    with urlopen(request) as reply:  # noqa: S310
        return json.load(reply)
