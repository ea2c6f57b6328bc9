"""How fast are passages embedded here, compared with the two embedders that a user would choose instead?

Three ways over the same texts, in turn, `--rounds` times, each in its own process with the model loaded before the
clock starts: the built-in MiniLM (onnxruntime), sentence-transformers (torch), and Chroma's own. Chroma's code
uses our weights, so that nothing is downloaded and only the code differs; torch reads the float32 weights from
which ours were rounded. Vectors are compared with the built-in's: the largest difference of one number in a unit
vector, and the smallest cosine.

Passages are those of MultiHop-RAG (1,200 characters, 100 overlap) if RAG_HARNESS_DATA is set, else of the demo
corpus; statements are their sentences, as short as the triplets of a graph.

Examples:
  RAG_HARNESS_DATA=data .venv/bin/python scripts/bench/embedding.py
  RAG_HARNESS_DATA=data .venv/bin/python scripts/bench/embedding.py --texts 6626 --rounds 1
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from benching import counted, in_own_process, in_turn
from common import command_line, machine, print_table, started
from numpy.typing import NDArray

from harness.core.errors import HarnessError

Rows = NDArray[np.float32]
_SEED = 7


def main() -> None:
    """A table of passages, then one of statements."""
    parser = command_line(__doc__)
    parser.add_argument("--texts", type=counted, default=512, help="random texts of each kind (default 512)")
    parser.add_argument("--rounds", type=counted, default=3, help="repeats of each way, in turn (default 3)")
    asked = parser.parse_args()
    print(machine())
    passages = _passages()
    for name, texts in (("passages", passages), ("statements", _statements(passages))):
        chosen = random.Random(_SEED).sample(texts, min(asked.texts, len(texts)))  # noqa: S311 - draws, hides nothing
        _print_ways(name, chosen, asked.rounds)


def _print_ways(name: str, texts: Sequence[str], rounds: int) -> None:
    mean_length = statistics.fmean(map(len, texts))
    print(f"\n{len(texts):,} {name} of {mean_length:,.0f} characters; median of {rounds} rounds\n")
    # Each in its own process, because three thread pools in one would compete.
    found = in_turn({way: partial(in_own_process, _embedded, way, list(texts)) for way in WAYS}, rounds)
    taken = {way: statistics.median(seconds for seconds, _ in own) for way, own in found.items()}
    vectors = {way: own[-1][1] for way, own in found.items()}
    header = ("embedder", "texts/s", "time, ours = 1", "largest difference", "smallest cosine")
    print_table(header, (_row(way, len(texts), taken, vectors) for way in WAYS))


def _row(way: str, n: int, taken: Mapping[str, float], vectors: Mapping[str, Rows]) -> tuple[str, ...]:
    ours, difference = vectors[BUILT_IN], float(np.abs(vectors[way] - vectors[BUILT_IN]).max())
    cosine, ratio = float((vectors[way] * ours).sum(axis=1).min()), taken[way] / taken[BUILT_IN]
    return way, f"{n / taken[way]:.1f}", f"{ratio:.2f}", f"{difference:.1e}", f"{cosine:.4f}"


def _embedded(way: str, texts: list[str]) -> tuple[float, Rows]:
    """Seconds and vectors."""
    embed = WAYS[way]()
    embed(texts[:8])
    began = time.perf_counter()
    rows = embed(texts)
    return time.perf_counter() - began, rows


Embed = Callable[[Sequence[str]], Rows]


def _built_in() -> Embed:
    from harness.models.providers.minilm import MiniLM

    model = MiniLM()
    return lambda texts: asyncio.run(model.embed(texts))


def _sentence_transformers() -> Embed:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    from harness.evaluators.bertscore.loading import minilm_folder
    from harness.models.providers.minilm import MINILM_MAX_TOKENS

    reads = Transformer(str(minilm_folder()))
    reads.max_seq_length = MINILM_MAX_TOKENS
    model = SentenceTransformer(
        modules=[reads, Pooling(reads.get_embedding_dimension()), Normalize()], device="cpu"
    )
    return partial(model.encode, show_progress_bar=False)


def _chroma() -> Embed:
    from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2

    from harness.models.huggingface_hub_files import MINILM_ONNX, MINILM_TOKENIZER
    from harness.models.weights import fetch

    folder = Path(tempfile.mkdtemp(prefix="chroma-minilm-"))
    inner = folder / ONNXMiniLM_L6_V2.EXTRACTED_FOLDER_NAME
    inner.mkdir()
    (inner / "model.onnx").symlink_to(fetch(MINILM_ONNX))
    (inner / "tokenizer.json").symlink_to(fetch(MINILM_TOKENIZER))
    # It downloads its own weights unless every file of its archive exists.
    for name in ("config.json", "special_tokens_map.json", "tokenizer_config.json", "vocab.txt"):
        (inner / name).touch()
    model = ONNXMiniLM_L6_V2(preferred_providers=["CPUExecutionProvider"])
    model.DOWNLOAD_PATH = folder
    return lambda texts: np.stack(model(list(texts)))


BUILT_IN = "built-in MiniLM"
WAYS: dict[str, Callable[[], Embed]] = {
    BUILT_IN: _built_in,
    "sentence-transformers": _sentence_transformers,
    "Chroma's": _chroma,
}


def _passages() -> list[str]:
    from harness.registry import DATASETS
    from systems.common.chunking import ChunkParams, iter_chunks

    try:
        documents = DATASETS.load("multihop_rag").load("default").documents
    except HarnessError as error:
        print(f"without MultiHop-RAG ({error}): the demo corpus")
        documents = DATASETS.load("demo").load("default").documents
    return [chunk.text for chunk in iter_chunks(documents, ChunkParams(chunk_size=1200, chunk_overlap=100))]


def _statements(passages: Sequence[str]) -> list[str]:
    return [said.strip() for passage in passages for said in passage.split(". ") if 30 <= len(said) <= 160]


if __name__ == "__main__":
    started(main)
