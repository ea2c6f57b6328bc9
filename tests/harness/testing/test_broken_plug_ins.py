"""For each clause of each contract a plug-in that breaks it, and fails that test and no other that it meets."""

import inspect
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import broken_datasets
import broken_evaluators
import broken_systems
import pytest

from harness.testing import DatasetContract, EvaluatorContract, SystemContract

pytestmark = [pytest.mark.slow, pytest.mark.long]
KINDS: dict[str, tuple[type, ModuleType]] = {
    "systems": (SystemContract, broken_systems),
    "datasets": (DatasetContract, broken_datasets),
    "evaluators": (EvaluatorContract, broken_evaluators),
}
COSTLY = {"fresh", "rebuilt", "side_by_side", "monkeypatch"}
"""Parameters of tests that start processes of their own: only who breaks one of those is tested by them."""
EVERY = 12
"""Besides the clauses that it breaks, each plug-in meets every twelfth one, beginning with another."""
AT_ONCE = 2
"""Processes for the broken systems: many of them make a test wait for what does not come."""
Failures = Mapping[str, set[str]]


def breaks(kind: str) -> dict[str, tuple[str, ...]]:
    """Plug-in -> the tests that it fails."""
    return {broken.__name__: tests for broken, tests in KINDS[kind][1].BREAKS.items()}


def clauses(contract: type) -> list[str]:
    return [name for name in dir(contract) if name.startswith("test_")]


def costs(contract: type, test: str) -> set[str]:
    return set(inspect.signature(getattr(contract, test)).parameters) & COSTLY


def selected(kind: str, name: str) -> Iterator[str]:
    contract, broken = KINDS[kind][0], breaks(kind)[name]
    allowed = {cost for test in broken for cost in costs(contract, test)}
    first = [*breaks(kind)].index(name)
    for number, test in enumerate(clauses(contract), first):
        is_met = not broken or number % EVERY == 0
        if test in broken or (is_met and costs(contract, test) <= allowed):
            yield f"test_{kind}.py::Test{name}::{test}"


def write_tests(work: Path, kind: str) -> None:
    contract = KINDS[kind][0].__name__
    classes = [f"class Test{name}({contract}):\n    name = '{name}'\n" for name in breaks(kind)]
    text = "\n\n".join([f"from harness.testing import {contract}", *classes])
    (work / f"test_{kind}.py").write_text(text)


def install(site: Path) -> None:
    """The plug-ins of all kinds as one package."""
    (site / "broken-1.dist-info").mkdir(parents=True)
    (site / "broken-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    groups = []
    for kind, (_, module) in KINDS.items():
        assert module.__file__
        shutil.copy(module.__file__, site)
        points = [f"{name} = {module.__name__}:{name}_SPEC" for name in breaks(kind)]
        groups.append("\n".join([f"[rag_harness.{kind}]", *points]))
    (site / "broken-1.dist-info" / "entry_points.txt").write_text("\n\n".join(groups))


def failures(path: Path) -> Failures:
    """Class -> its tests that failed, as pytest wrote them down."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for case in ElementTree.parse(path).iter("testcase"):
        name = case.attrib["classname"].rpartition(".Test")[2]
        failed = case.find("failure") is not None or case.find("error") is not None
        found[name] |= {case.attrib["name"].partition("[")[0]} if failed else set()
    return found


def start(kind: str, names: Sequence[str], work: Path) -> "subprocess.Popen[bytes]":
    """These plug-ins against their contract, as their author would run it; found.xml in `work` will tell."""
    install(work / "site")
    write_tests(work, kind)
    (work / "home").mkdir()
    (work / "data").mkdir()
    (work / "data" / "broken.txt").write_text("here")
    nodes = [node for name in names for node in selected(kind, name)]
    options = ["-q", "-p", "no:langsmith_plugin", "-p", "no:cacheprovider", "-p", "no:asyncio", "--tb=short"]
    env = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")},
        "PYTHONPATH": os.pathsep.join(filter(None, [str(work / "site"), os.environ.get("PYTHONPATH")])),
        "HOME": str(work / "home"),
        "RAG_HARNESS_DATA": str(work / "data"),
    }
    inner = [f"--basetemp={work / 'inner'}", f"--junitxml={work / 'found.xml'}"]
    with (work / "said.txt").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *inner, *nodes], cwd=work, env=env, stdout=said, stderr=said
        )


@pytest.fixture(scope="module", params=KINDS)
def failed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Failures]:
    """Every broken plug-in of a kind against its contract."""
    kind, found = str(request.param), dict[str, set[str]]()
    names, parts = list(breaks(kind)), AT_ONCE if kind == "systems" else 1
    works = [tmp_path_factory.mktemp("broken") for _ in range(parts)]
    running = [start(kind, names[part::parts], work) for part, work in enumerate(works)]
    for process, work in zip(running, works, strict=True):
        process.wait()
        assert (work / "found.xml").is_file(), (work / "said.txt").read_text()[-8000:]
        found |= failures(work / "found.xml")
    return kind, found


@pytest.mark.timeout(1200)
def test_who_breaks_a_clause_fails_that_test_and_no_other(failed: tuple[str, Failures]) -> None:
    kind, found = failed
    wanted = {name: set(tests) for name, tests in breaks(kind).items()}
    assert found == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_every_clause_is_broken_by_somebody(kind: str) -> None:
    broken = {test for tests in breaks(kind).values() for test in tests}
    assert sorted(broken) == clauses(KINDS[kind][0])
