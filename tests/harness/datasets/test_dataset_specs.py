import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.datasets import local_files
from harness.protocols import DatasetSpec

ROOT = Path(local_files.__file__).resolve().parents[2]


def entry_points() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, str] = project["entry-points"]["rag_harness.datasets"]
    return found


@pytest.mark.parametrize("name", sorted(entry_points()))
def test_every_entry_point_leads_to_the_spec_of_that_name(name: str) -> None:
    module, _, attribute = entry_points()[name].partition(":")
    spec = getattr(importlib.import_module(module), attribute)
    assert isinstance(spec, DatasetSpec)
    assert spec.name == name
    assert spec.summary
    assert len(set(spec.subsets)) == len(spec.subsets) > 0


def test_importing_the_room_imports_no_heavy_library() -> None:
    modules = [target.partition(":")[0] for target in entry_points().values()]
    script = f"import sys, {', '.join(modules)}; print({{'datasets', 'numpy', 'pandas'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
