"""The Hugging Face hub: its reachability, its local cache, single files, and revisions of models.

The environment variables of its library (HF_ENDPOINT for a mirror, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE,
HF_TOKEN, proxies) have their usual meaning.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from harness.core.errors import HarnessError, MissingDependency, ModelUnavailable, install
from harness.core.network import FIX, REFUSED, connect_once, proxy_of, use_network_settings
from harness.models.weight_catalogue import HubFile, WeightFile

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
            raise ModelUnavailable(f"hub: {type(error).__name__}: {_line(error)}") from error
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


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
