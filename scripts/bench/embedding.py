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

import argparse
import asyncio
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from benching import command_line, print_table, said_of_machine, started
from numpy.typing import NDArray

from harness.core.errors import HarnessError

Rows = NDArray[np.float32]
_SEED = 7


def main() -> None:
    """A table of passages, then one of statements."""
    asked = _arguments()
    print(said_of_machine())
    passages = _passages()
    for name, texts in (("passages", passages), ("statements", _statements(passages))):
        chosen = random.Random(_SEED).sample(texts, min(asked.texts, len(texts)))  # noqa: S311 - draws, hides nothing
        _print_ways(name, chosen, asked.rounds)


def _print_ways(name: str, texts: Sequence[str], rounds: int) -> None:
    mean_length = statistics.fmean(map(len, texts))
    print(f"\n{len(texts):,} {name} of {mean_length:,.0f} characters; median of {rounds} rounds\n")
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    vectors: dict[str, Rows] = {}
    for _ in range(rounds):
        for way in WAYS:
            taken, rows = _alone(way, texts)
            seconds[way].append(taken)
            vectors[way] = rows
    ours = statistics.median(seconds[BUILT_IN])
    header = ("embedder", "texts/s", "time, ours = 1", "largest difference", "smallest cosine")
    print_table(header, (_row(way, len(texts), statistics.median(seconds[way]), ours, vectors) for way in WAYS))


def _row(way: str, n: int, taken: float, ours: float, vectors: dict[str, Rows]) -> tuple[str, ...]:
    difference = float(np.abs(vectors[way] - vectors[BUILT_IN]).max())
    cosine = float((vectors[way] * vectors[BUILT_IN]).sum(axis=1).min())
    return way, f"{n / taken:.1f}", f"{taken / ours:.2f}", f"{difference:.1e}", f"{cosine:.4f}"


def _alone(way: str, texts: Sequence[str]) -> tuple[float, Rows]:
    """Seconds and vectors of one way, in its own process, because three thread pools in one would compete."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(way, list(texts), there))
    process.start()
    there.close()
    try:
        taken, rows = here.recv()
    except EOFError:
        raise HarnessError(f"{way} ended without a result", "see what it printed above") from None
    finally:
        process.join()
    return float(taken), rows


def _work(way: str, texts: list[str], answer: Connection) -> None:
    embed = WAYS[way]()
    embed(texts[:8])
    began = time.perf_counter()
    rows = embed(texts)
    answer.send((time.perf_counter() - began, rows))


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


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--texts", type=int, default=512, help="random texts of each kind (default 512)")
    parser.add_argument("--rounds", type=int, default=3, help="repeats of each way, in turn (default 3)")
    return parser.parse_args()


if __name__ == "__main__":
    started(main)
