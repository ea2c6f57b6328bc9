"""The run's embedder with LightRAG's interface."""

import asyncio
from collections.abc import Sequence

from harness.protocols import Runtime, Vectors


class Embedding:
    """Embeds texts and keeps the first failure, because the library replaces the exception."""

    def __init__(self, runtime: Runtime, dimension: int = 0) -> None:
        self._runtime = runtime
        self._failure: Exception | None = None
        self._measured: dict[str, Vectors] = {}
        self.dimension = dimension
        """Dimension of the vectors; 0 until it is measured."""

    async def measure(self, text: str) -> None:
        """Find the dimension, which the library needs first, with a text that it will embed anyway."""
        (vector,) = await self._runtime.embedder.embed_documents([text])
        self._measured = {text: vector}
        self.dimension = len(vector)

    async def of_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension); raises the embedder's errors."""
        import numpy as np

        missing = [text for text in texts if text not in self._measured]
        try:
            found = iter(await self._runtime.embedder.embed_documents(missing) if missing else ())
        except Exception as error:
            self._failure = self._failure or error
            raise
        return np.array([self._measured[text] if text in self._measured else next(found) for text in texts])

    async def of_query(self, texts: Sequence[str]) -> Vectors:
        """The same for a question and its keywords, which the library embeds in one call."""
        import numpy as np

        with self._runtime.stage("embed_query"):
            return np.array(await asyncio.gather(*map(self._runtime.embedder.embed_query, texts)))

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure
