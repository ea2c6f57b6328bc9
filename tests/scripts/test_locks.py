"""scripts/locks as it stands: what `make setup` installs is named exactly, by hash, and listed."""

import json
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "scripts" / "locks"
NAMES = sorted(path.stem for path in LOCKS.glob("*.txt"))


def entries(name: str) -> list[tuple[Requirement, list[str]]]:
    """(requirement, its hashes) of each entry of a lock."""
    text = (LOCKS / f"{name}.txt").read_text().replace("\\\n", " ")
    words = [re.split(r"\s+--hash=", line.strip()) for line in text.splitlines()]
    return [(Requirement(first), hashes) for first, *hashes in words]


def pins(*names: str) -> dict[tuple[str, str], str]:
    """(package, marker) -> version."""
    found = [requirement for name in names for requirement, _ in entries(name)]
    return {(item.name, str(item.marker)): str(item.specifier).removeprefix("==") for item in found}


@pytest.mark.parametrize("name", NAMES)
def test_every_package_is_one_version_with_the_hashes_of_its_files(name: str) -> None:
    for requirement, hashes in entries(name):
        (only,) = requirement.specifier
        assert only.operator == "==", requirement
        assert hashes, requirement
        for value in hashes:
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", value), requirement


def test_no_lock_names_an_index() -> None:
    assert {"bench", "dev", "st", "torch", "uv"} <= set(NAMES)
    for path in LOCKS.iterdir():
        assert not re.search(r"pypi\.org|pythonhosted|--(extra-)?index-url|--find-links", path.read_text()), path


def test_setup_installs_nothing_but_locked_wheels_and_this_repository() -> None:
    text = (ROOT / "scripts" / "setup").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    calls = [line for line in lines if re.search(r"\bpip install\b", line)]
    assert len(calls) == 2
    assert all("--no-deps" in line for line in calls)
    (by_name,) = [line for line in lines if re.search(r"by_(pip|uv)\b.*[a-z]==", line)]
    assert "TORCH_INDEX" in by_name
    assert "--require-hashes $no_build" in text
    assert "no_build=--no-build" in text


def test_what_setup_bench_and_setup_dev_have_in_common_is_the_same() -> None:
    # Whoever wants a package decides where it is wanted: markers differ, versions do not.
    dev, bench, st = (
        {name: version for (name, _), version in pins(lock).items()} for lock in ("dev", "bench", "st")
    )
    assert bench.items() <= dev.items()
    shared = {name: version for name, version in st.items() if name in dev}
    assert shared.items() <= dev.items()


def test_the_locks_hold_what_the_package_asks_for() -> None:
    """A range that was changed without scripts/lock is seen here."""
    locked = {canonicalize_name(name): version for (name, _), version in pins("dev", "st", "torch").items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = chain(project["dependencies"], *project["optional-dependencies"].values())
    asked = [item for item in map(Requirement, listed) if item.name != project["name"]]
    assert len(asked) > 40
    found = [(item, locked.get(canonicalize_name(item.name), "")) for item in asked]
    wrong = [str(item) for item, version in found if not item.specifier.contains(version)]
    assert wrong == []


def test_the_bill_of_materials_is_that_of_the_locks() -> None:
    bill = json.loads((LOCKS / "sbom.json").read_text())
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "rag-bench-harness")
    listed = sorted((item["name"], item["version"]) for item in bill["components"])
    wanted = [(name, version) for (name, _), version in pins("uv", "bench", "nodeps").items()]
    assert listed == sorted(wanted)
    assert {item["purl"] for item in bill["components"]} == {
        f"pkg:pypi/{name}@{version}" for name, version in wanted
    }
