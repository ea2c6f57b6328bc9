"""What ships beside the code: around the package in a repository, inside it where it was installed."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDER = "configs"


def shipped_configs() -> Path:
    """The folder of the configs."""
    return _shipped(_FOLDER, _FOLDER)


def shipped_examples() -> Path:
    """The folder of plug-ins as packages of their own, one for each kind."""
    return _shipped("examples", "docs/examples")


def config_path(path: Path) -> Path:
    """`path`, or, where there is no such file, the one that ships under that name (`configs/bench/demo.yaml`)."""
    if path.exists() or path.is_absolute():
        return path
    parts = path.parts[1:] if path.parts[:1] == (_FOLDER,) else path.parts
    shipped = shipped_configs().joinpath(*parts)
    return shipped if shipped.is_file() else path


def _shipped(bundled: str, in_repository: str) -> Path:
    """As the wheel holds it (pyproject.toml, force-include), else as the repository does."""
    inside = _PACKAGE / "_bundled" / bundled
    return inside if inside.is_dir() else _PACKAGE.parent / in_repository
