"""Late interaction: passages ranked by the tokens that they share in meaning with a question (ColBERT, Khattab &
Zaharia 2020).

Every token of both texts has a vector of unit length. The score of a passage is MaxSim: the sum, over the tokens
of the question, of the highest cosine with a token of the passage.

The encoder is all-MiniLM-L6-v2, the default embedder, before its vectors are averaged. It was not trained for late
interaction, as ColBERT's is; nothing is stored in the index, so every passage is encoded for every question.
"""

import asyncio
from collections.abc import Sequence

import numpy as np

from harness.core.current_process import usable_cores
from harness.llm_utils.concurrency import map_bounded
from harness.models.providers.minilm import minilm_session
from harness.models.vectors import unit_rows
from harness.protocols import Vectors

_MAX_TOKENS = 512
"""Of a text, which are all that the encoder has positions for; the rest is cut off."""


def max_sim(question: Vectors, passage: Vectors) -> float:
    """Both of shape (tokens, d), unit rows; 0 if either has no token."""
    if not len(question) or not len(passage):
        return 0.0
    return float((question @ passage.T).max(axis=1).sum(dtype=np.float64))


class LateInteraction:
    """See `harness.protocols.Reranker`. Each text is encoded alone, so its vectors depend on no other text."""

    def __init__(self) -> None:
        # A thread for each text: the last bits of a vector depend on the number of threads.
        self._session, self._tokenizer = minilm_session(1)
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        asked = await asyncio.to_thread(self._tokens, question)

        async def score(passage: str) -> float:
            return await asyncio.to_thread(lambda: max_sim(asked, self._tokens(passage)))

        return await map_bounded(score, passages, usable_cores())

    def _tokens(self, text: str) -> Vectors:
        """The vectors of its tokens, without those of [CLS] and [SEP]."""
        encoded = self._tokenizer.encode(text)
        ids = np.array([encoded.ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden: Vectors = self._session.run(None, inputs)[0][0]
        return unit_rows(hidden[np.array(encoded.special_tokens_mask) == 0])
