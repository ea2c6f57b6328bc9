"""The configs that ship: around the package in a repository, inside it where it was installed."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDER = "configs"


def shipped_configs() -> Path:
    """The folder of them."""
    bundled = _PACKAGE / "_bundled" / _FOLDER
    return bundled if bundled.is_dir() else _PACKAGE.parent / _FOLDER


def config_path(path: Path) -> Path:
    """`path`, or, where there is no such file, the one that ships under that name (`configs/bench/demo.yaml`)."""
    if path.exists() or path.is_absolute():
        return path
    parts = path.parts[1:] if path.parts[:1] == (_FOLDER,) else path.parts
    shipped = shipped_configs().joinpath(*parts)
    return shipped if shipped.is_file() else path
