"""Finds the configs, examples and report that ship with the code, in a repository or in an installed package."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDER = "configs"


def shipped_configs() -> Path:
    return _shipped(_FOLDER, _FOLDER)


def shipped_examples() -> Path:
    return _shipped("examples", "docs/examples")


def shipped_report() -> Path:
    return _shipped("demo", "results/published/demo") / "report.html"


def config_path(path: Path) -> Path:
    """`path`, or the shipped config of that name if there is no such file (`configs/bench/demo.yaml`)."""
    if path.exists() or path.is_absolute():
        return path
    parts = path.parts[1:] if path.parts[:1] == (_FOLDER,) else path.parts
    shipped = shipped_configs().joinpath(*parts)
    return shipped if shipped.is_file() else path


def _shipped(bundled: str, in_repository: str) -> Path:
    """The bundled folder of an installed wheel (pyproject.toml, force-include), else the one in the repository."""
    inside = _PACKAGE / "_bundled" / bundled
    return inside if inside.is_dir() else _PACKAGE.parent / in_repository
