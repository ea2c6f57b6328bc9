"""all-MiniLM-L6-v2, the default embedder, as a token encoder on onnxruntime."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.evaluators.bertscore.windows import Marks, WindowEncoder, workers_here
from harness.models.minilm_embedder import check_minilm
from harness.models.vectors import unit_rows
from harness.models.weight_catalogue import MINILM_ONNX, MINILM_TOKENIZER
from harness.models.weights import fetch

if TYPE_CHECKING:
    from harness.evaluators.bertscore.windows import TokenIds
    from harness.protocols import Vectors

_WINDOW = 512
"""Number of positions of the model."""


class MiniLMTokens(WindowEncoder):
    """See `Encoder`: the last layer's vectors, weights stored as int8 and computed in float32."""

    def __init__(self) -> None:
        check_minilm()
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        # One thread per window: the last bits of a vector depend on the number of threads.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(
            str(fetch(MINILM_ONNX)), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_file(str(fetch(MINILM_TOKENIZER)))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        marks = [self._tokenizer.token_to_id(mark) for mark in ("[SEP]", "[CLS]")]
        unweighed = [one for one in marks if one is not None]
        workers = workers_here()
        pool = ThreadPoolExecutor(workers, thread_name_prefix="bertscore")
        super().__init__(Marks(1, 1, unweighed), _WINDOW, pool, workers)

    def close(self) -> None:
        """End the threads and release the model."""
        super().close()
        self._session = None

    def _ids(self, text: str) -> TokenIds:
        # Surrounding white space is stripped, as in the bert-score package.
        return np.array(self._tokenizer.encode(text.strip()).ids, dtype=np.int64)

    def _embed(self, window: TokenIds) -> Vectors:
        ids = window[None]
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden: Vectors = self._session.run(None, inputs)[0][0]
        return unit_rows(hidden)
