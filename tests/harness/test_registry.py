"""Systems, data sets and evaluators by name: found through entry points, explained where they are broken."""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine, CommandLineHere
from plugins import PlugIn

from harness import registry
from harness.core.errors import ConfigError, HarnessError
from harness.protocols import DatasetSpec, SystemSpec

Register = Callable[[str, str, str], None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """register(group, name, value): as if a third party's package were installed beside ours."""

    def add(group: str, name: str, value: str) -> None:
        points = [*entry_points(group=group), EntryPoint(name, value, group)]
        monkeypatch.setattr(registry, "_found", lambda asked: registry._by_name(points) if asked == group else {})

    return add


def test_the_shipped_systems_data_sets_and_evaluators_are_found() -> None:
    assert "naive" in registry.SYSTEMS.names()
    assert "demo" in registry.DATASETS.names()
    assert "answer" in registry.EVALUATORS.names()


def test_every_registered_name_loads_and_calls_itself_by_it() -> None:
    for name in registry.SYSTEMS.names():
        system = registry.SYSTEMS.load(name)
        assert isinstance(system, SystemSpec)
        assert system.name == name
    for name in registry.DATASETS.names():
        dataset = registry.DATASETS.load(name)
        assert isinstance(dataset, DatasetSpec)
        assert dataset.name == name
    for name in registry.EVALUATORS.names():
        assert registry.EVALUATORS.load(name).name == name


@pytest.mark.parametrize(
    ("load", "noun", "wrong", "right"),
    [
        (registry.SYSTEMS.load, "system", "niave", "naive"),
        (registry.SYSTEMS.load, "system", "Graph_RAG", "community"),
        (registry.DATASETS.load, "data set", "demmo", "demo"),
        (registry.EVALUATORS.load, "evaluator", "anwser", "answer"),
    ],
)
def test_an_unknown_name_is_one_line_with_the_nearest_known_one(
    load: Callable[[str], object], noun: str, wrong: str, right: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(wrong)
    assert str(caught.value) == f"unknown {noun} '{wrong}': did you mean '{right}'?"


def test_where_nothing_is_registered_the_line_says_how_to_reinstall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_found", lambda group: {})
    with pytest.raises(ConfigError, match=r"no system is registered: reinstall: run `make setup`"):
        registry.SYSTEMS.load("naive")


def test_a_name_that_two_packages_register_is_refused_and_hurts_no_other(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("rag_harness.systems", "kg", "theirs.kg:SPEC")
    assert registry.SYSTEMS.load("naive").name == "naive"
    with pytest.raises(ConfigError) as caught:
        registry.SYSTEMS.load("kg")
    said = str(caught.value)
    assert said.startswith("two packages register the system 'kg' (")
    assert said.endswith("systems.kg.system:SPEC and theirs.kg:SPEC): uninstall one of them")


def test_the_same_entry_point_seen_twice_is_no_conflict(register: Register) -> None:
    """As after an editable install beside a wheel of the same package."""
    register("rag_harness.systems", "naive", "systems.naive.system:SPEC")
    assert registry.SYSTEMS.load("naive").name == "naive"


def test_a_plug_in_that_calls_itself_as_another_does_is_refused(register: Register) -> None:
    """Its runs would have the other's ids."""
    register("rag_harness.systems", "theirs", "systems.naive.system:SPEC")
    with pytest.raises(ConfigError) as caught:
        registry.SYSTEMS.load("theirs")
    assert str(caught.value) == (
        "system 'theirs' (systems.naive.system:SPEC) calls itself 'naive': register it under that name"
    )


FAULTS = {
    "no_such_package.system:SPEC": "install what it needs",
    "broken_plugin:SPEC": "ZeroDivisionError",
    "leaving_plugin:SPEC": "SystemExit: bye",
    "harness.core.errors:SPEC": "has no attribute 'SPEC'",
    "harness.core.errors:nearest": "is no SystemSpec: export one",
    "not a module at all": "not a module at all",
}


@pytest.mark.parametrize(("value", "said"), FAULTS.items())
def test_a_broken_plug_in_is_one_line_that_names_it_and_the_others_are_there(
    register: Register, value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_plugin.py").write_text("SPEC = 1 / 0\n")
    (tmp_path / "leaving_plugin.py").write_text("import sys; sys.exit('bye')")
    monkeypatch.syspath_prepend(tmp_path)
    register("rag_harness.systems", "theirs", value)
    loaded, refusals = registry.SYSTEMS.load_all()
    assert {"naive", "kg"} <= {spec.name for spec in loaded}
    assert "theirs" in registry.SYSTEMS.names()
    (refusal,) = refusals
    assert str(refusal).startswith(f"system 'theirs' ({value})")
    assert said in str(refusal)
    assert "\n" not in str(refusal)
    with pytest.raises(HarnessError) as caught:
        registry.SYSTEMS.load("theirs")
    assert str(caught.value) == str(refusal)


def test_a_plug_in_may_name_systems_by_what_stands_behind_a_colon(plug_in: PlugIn) -> None:
    code = """
    from dataclasses import replace
    from harness.protocols import NO_ROLE, Params, SystemSpec
    def at(target):
        return replace(SPEC, name=f"cupboard:{target.lower()}", at=None)
    SPEC = SystemSpec("cupboard", "1", "by target", Params, Params, None, NO_ROLE, NO_ROLE, at=at)
    """
    plug_in("rag_harness.systems", "cupboard", code)
    assert registry.SYSTEMS.load("cupboard:Tea:green").name == "cupboard:tea:green"
    assert registry.SYSTEMS.load("cupboard").at is not None


def test_a_system_that_stands_for_itself_takes_nothing_behind_a_colon() -> None:
    with pytest.raises(ConfigError, match="'naive' stands for itself: write naive, without a colon"):
        registry.SYSTEMS.load("naive:tea")


# An extension that is missing or cannot be imported costs one line; everything else works.


MISSING, ERROR = "import no_such_package\n", "SPEC = 1 / 0\n"
EXITS, NO_SPEC = "raise SystemExit('bye')\n", "SPEC = 'no command'\n"


@pytest.fixture
def here(tmp_path: Path) -> CommandLineHere:
    return CommandLineHere(tmp_path)


@pytest.mark.parametrize("code", [MISSING, EXITS])
def test_a_broken_command_is_one_line_and_the_others_are_listed(
    tmp_path: Path, plug_in: PlugIn, code: str
) -> None:
    plug_in("rag_harness.commands", "lame", code)
    here = CommandLine(tmp_path)
    shown = here.call("--help")
    assert shown.returncode == 0
    (line,) = shown.stderr.splitlines()
    assert "'lame'" in line
    assert all(f" {name} " in shown.stdout for name in ("run", "ask", "review"))
    assert "'lame'" in here.refused("lame")
    assert here.call("plan", "-c", str(SMOKE)).stderr == ""


def test_a_command_that_is_not_installed_is_named_with_the_nearest(here: CommandLineHere) -> None:
    done = here.call("anotate")
    assert done.returncode == 2
    assert "annotate" in done.stderr


@pytest.mark.usefixtures("workers_here")
@pytest.mark.parametrize("command", ["run", "evaluate"])
def test_an_unknown_executor_is_one_line_with_the_nearest(here: CommandLineHere, command: str) -> None:
    words = {"run": ("run", "-c", str(SMOKE)), "evaluate": ("evaluate", here.run()["run_id"])}[command]
    line = here.refused(*words, "--executor", "rya")
    assert "'rya'" in line
    assert "'ray'" in line


@pytest.mark.parametrize("code", [ERROR, NO_SPEC])
def test_a_broken_executor_is_one_line_where_it_is_asked_for(
    here: CommandLineHere, plug_in: PlugIn, code: str
) -> None:
    plug_in("rag_harness.executors", "lame", code)
    assert "'lame'" in here.refused("run", "-c", str(SMOKE), "--executor", "lame")
    assert here.call("plan", "-c", str(SMOKE)).stderr == ""
