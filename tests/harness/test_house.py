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
from harness.registry import DATASETS, EVALUATORS, SYSTEMS

HARNESS = Path(harness.__file__).parent
SHARED = [path for room in ("cli", "api", "runner", "report") for path in sorted((HARNESS / room).rglob("*.py"))]
OUR_WORDS = {"answer", "gold", "files", "http", "https", "python", "evidence"}
"""Names of plug-ins that are words of ours as well: the answer of a prediction, the gold side of a query, files,
what a URL begins with, the language, an answer's evidence."""


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


def test_shared_code_names_no_system_data_set_evaluator_or_measure() -> None:
    # An answer's evidence is a field of records, whatever plug-in has the same name.
    names = "|".join(map(re.escape, sorted(plugged_names(), key=len, reverse=True)))
    assert lines_with(re.compile(rf"(?<![\w-])({names})(?![\w-])")) == []


def test_shared_code_names_no_kind_of_pipeline() -> None:
    kinds = [name for name in SYSTEMS.names() if SYSTEMS.load(name).at is not None]
    assert len(kinds) >= 5
    assert lines_with(re.compile(rf"(?<![\w-])({'|'.join(kinds)}):(?!//)")) == []


def lines_with(named: re.Pattern[str]) -> list[tuple[str, int, str]]:
    return [
        (str(path.relative_to(HARNESS)), line, text)
        for path in SHARED
        for line, text in texts(ast.parse(path.read_text("utf-8")))
        if named.search(text)
    ]


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


ROOMS = (
    *("extensions", "cli", "testing", "api", "report", "runner"),
    *("evaluators", "datasets", "statistics", "models", "store"),
    *("registry", "config", "extraction", "llm_utils", "protocols", "display", "core"),
)
SYSTEMS_ROOMS = ("systems", "common")


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
        return "common" if inside[:1] == ["common"] else "systems"
    return inside[0] if inside else package


def test_the_drawing_shows_the_arrows_that_the_code_has() -> None:
    document = (HARNESS.parent / "ARCHITECTURE.md").read_text("utf-8")
    assert document.split("<!-- arrows -->\n```\n")[1].split("```")[0] == drawn_arrows()


# What the pages tell a reader to open or to run is there.


ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("systems/*/README.md")]
)
_NAMED = re.compile(r"\b(?:configs|scripts|docs)/[\w./-]+\.(?:yaml|py|md)\b")
_LINKED = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_config_script_and_page_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [name for name in _NAMED.findall(text) if not (ROOT / name).exists()]
    missing += [link for link in _LINKED.findall(text) if not (page.parent / link).exists()]
    assert missing == []


def test_pages_are_found() -> None:
    assert {"README.md", "ARCHITECTURE.md"} <= {page.name for page in PAGES}
