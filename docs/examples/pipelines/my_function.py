"""A pipeline that is a function: words that question and document share, then one call of the model it is lent."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.request import Request, urlopen


def make(documents: Sequence[dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A function of a question, over these documents."""
    texts = {document["doc_id"]: document["text"] for document in documents}
    words = {doc_id: set(_words(text)) for doc_id, text in texts.items()}

    def answer(question: str, base_url: str, api_key: str, model: str) -> dict[str, Any]:
        """What the contract asks for. `base_url` is this question's own."""
        asked = set(_words(question))
        best = sorted(texts, key=lambda doc_id: len(asked & words[doc_id]), reverse=True)[:3]
        found = [{"text": texts[doc_id], "doc_id": doc_id} for doc_id in best]
        if not model:  # The run is about retrieval alone.
            return {"answer": None, "contexts": found}
        prompt = "\n\n".join([*(texts[doc_id] for doc_id in best), f"Question: {question}"])
        return {"answer": _complete(base_url, api_key, model, prompt), "contexts": found}

    return answer


def _words(text: str) -> list[str]:
    return re.findall(r"\w{4,}", text.lower())


def _complete(base_url: str, api_key: str, model: str, prompt: str) -> str:
    body = {"model": model, "messages": [{"role": "user", "content": prompt}]}
    headers = {"content-type": "application/json", "authorization": f"Bearer {api_key}"}
    request = Request(f"{base_url}/chat/completions", json.dumps(body).encode(), headers)  # noqa: S310
    with urlopen(request) as reply:  # noqa: S310
        return str(json.load(reply)["choices"][0]["message"]["content"])
