"""What keeps the house in order, read off its syntax trees."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import grimp
import networkx as nx
import pytest

import harness
import systems
from harness.registry import DATASETS, EVALUATORS, SYSTEMS

HARNESS, SYSTEM_ROOM = Path(harness.__file__).parent, Path(systems.__file__).parent
SHARED = [path for room in ("cli", "api", "runner", "report") for path in sorted((HARNESS / room).rglob("*.py"))]
OUR_WORDS = {"answer", "gold", "files", "http", "https", "python", "evidence"}
"""Names of plug-ins that are words of ours as well: the answer of a prediction, the gold side of a query, files,
what a URL begins with, the language, an answer's evidence."""
PARAMS = {"IndexParams", "AnswerParams"}
"""Every system calls its own so: they mean the same thing, each in its own folder."""
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def plugged_names() -> set[str]:
    evaluators = [EVALUATORS.load(name) for name in EVALUATORS.names()]
    measures = {measure.name for spec in evaluators for measure in spec.measures(spec.params())}
    return {*SYSTEMS.names(), *DATASETS.names(), *EVALUATORS.names(), *measures} - OUR_WORDS


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text that code works with, and what it imports; what only explains the code is left out."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("harness."):
            yield node.lineno, node.module.replace(".", " ")


@pytest.mark.parametrize("path", SHARED, ids=lambda path: str(path.relative_to(HARNESS)))
def test_what_all_share_knows_no_system_data_set_evaluator_or_measure_by_name(path: Path) -> None:
    # An answer's evidence is a noun of records, whoever else is called so.
    names = "|".join(map(re.escape, sorted(plugged_names(), key=len, reverse=True)))
    named = re.compile(rf"(?<![\w-])({names})(?![\w-])")
    found = [(line, text) for line, text in texts(ast.parse(path.read_text("utf-8"))) if named.search(text)]
    assert not found


@pytest.mark.parametrize("path", SHARED, ids=lambda path: str(path.relative_to(HARNESS)))
def test_what_all_share_knows_no_kind_of_pipeline(path: Path) -> None:
    kinds = [name for name in SYSTEMS.names() if SYSTEMS.load(name).at is not None]
    named = re.compile(rf"(?<![\w-])({'|'.join(kinds)}):(?!//)")
    assert len(kinds) >= 5
    assert not [(line, text) for line, text in texts(ast.parse(path.read_text("utf-8"))) if named.search(text)]


def test_the_walk_sees_a_name_in_code_and_not_in_a_docstring() -> None:
    tree = ast.parse(
        '"""accuracy"""\nfrom harness.evaluators.ragas import X\nif name == "Hit@10": y = f"a {x} kg"\n'
    )
    named = {name for _, text in texts(tree) for name in plugged_names() if name in text.split()}
    assert named == {"Hit@10", "ragas", "kg"}


def test_nothing_imports_itself_through_others() -> None:
    graph = grimp.build_graph("harness", "systems", cache_dir=None)
    arrows = nx.DiGraph()
    for module in graph.modules:
        arrows.add_edges_from((module, other) for other in graph.find_modules_directly_imported_by(module))
    circles = [sorted(part) for part in nx.strongly_connected_components(arrows) if len(part) > 1]
    assert circles == []


def test_no_two_public_types_share_a_name() -> None:
    places = defaultdict(list)
    for path in (*HARNESS.rglob("*.py"), *SYSTEM_ROOM.rglob("*.py")):
        for name in _types(ast.parse(path.read_text("utf-8"))):
            places[name].append(str(path))
    assert {name: where for name, where in places.items() if len(where) > 1 and name not in PARAMS} == {}


def _types(tree: ast.Module) -> Iterator[str]:
    """Public classes and aliases of a module."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[0].isupper() and not name.isupper() and not name.startswith("_"):
                yield name


ROOMS = (
    *("cli", "testing", "api", "annotating", "questions", "validity", "report", "runner"),
    *("evaluators", "datasets", "analysis", "models", "store"),
    *("registry", "config", "extraction", "asking", "protocols", "display", "records", "serving"),
    *("identity", "errors"),
    *("outside", "plain_files", "own_process", "process_environment"),
)
SYSTEMS_ROOMS = ("systems", "parts")


def drawn_arrows() -> str:
    """A line for each room: what it imports, from top to bottom."""
    graph = grimp.build_graph("harness", "systems", cache_dir=None)
    arrows = defaultdict(set)
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            arrows[_room(module)].add(_room(other))
    below = {room: [one for one in (*ROOMS, *SYSTEMS_ROOMS) if one in arrows[room] - {room}] for room in arrows}
    return "".join(f"{room:<11} {' '.join(below.get(room) or ['-'])}\n" for room in (*SYSTEMS_ROOMS, *ROOMS))


def _room(module: str) -> str:
    package, *inside = module.split(".")
    if package == "systems":
        return "parts" if inside[:1] == ["parts"] else "systems"
    return inside[0] if inside else package


def test_the_drawing_shows_the_arrows_that_the_code_has() -> None:
    document = (HARNESS.parent / "ARCHITECTURE.md").read_text("utf-8")
    assert document.split("<!-- arrows -->\n```\n")[1].split("```")[0] == drawn_arrows()
