"""A retrieval chain of LangChain over Chroma."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_chroma import Chroma
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter

PROMPT = ChatPromptTemplate.from_template("Answer from this alone:\n{context}\n\nQuestion: {question}")


def make_chain(
    documents: Sequence[Any], folder: Path, base_url: str, api_key: str, model: str, embedding_model: str
) -> Any:
    """Build its store where there is none, and answer from it."""
    server = {"base_url": base_url, "api_key": api_key}
    embeddings = OpenAIEmbeddings(model=embedding_model, check_embedding_ctx_length=False, **server)
    store = Chroma("passages", embeddings, persist_directory=str(folder))
    if not store.get(limit=1)["ids"]:
        splitter = RecursiveCharacterTextSplitter(chunk_size=1200, chunk_overlap=100)
        store.add_documents(splitter.split_documents(documents))
    search = store.as_retriever(search_kwargs={"k": 10})
    if not model:  # The run is about retrieval alone; so is the build, where only the embedder is lent.
        return search
    found = RunnableParallel(context=search, question=RunnablePassthrough())
    chat = ChatOpenAI(model=model, temperature=0, **server)
    return found.assign(answer=RunnableLambda(_shown) | PROMPT | chat | StrOutputParser())


def _shown(found: dict[str, Any]) -> dict[str, str]:
    """What the prompt holds: the passages' texts, not all that is known of them."""
    texts = (passage.page_content for passage in found["context"])
    return {"context": "\n\n".join(texts), "question": found["question"]}
