"""Systems, data sets and evaluators by name: found through entry points, explained where they are broken."""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine, CommandLineHere
from plugins import PlugIn

from harness import registry
from harness.core.errors import ConfigError, HarnessError

Register = Callable[[str, str, str], None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """register(group, name, value): as if a third party's package were installed beside ours."""

    def add(group: str, name: str, value: str) -> None:
        points = [*entry_points(group=group), EntryPoint(name, value, group)]
        monkeypatch.setattr(registry, "_found", lambda asked: registry._by_name(points) if asked == group else {})

    return add


def test_every_registered_name_loads_and_calls_itself_by_it() -> None:
    for shipped, registered in (
        ("naive", registry.SYSTEMS),
        ("demo", registry.DATASETS),
        ("answer", registry.EVALUATORS),
    ):
        assert shipped in registered.names()
        assert [registered.load(name).name for name in registered.names()] == list(registered.names())


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


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            *("kg", "theirs.kg:SPEC"),
            r"two packages register the system 'kg' \(.*systems\.kg\.system:SPEC and theirs\.kg:SPEC\): uninstall",
        ),
        # Its runs would have the other's ids.
        (
            *("theirs", "systems.naive.system:SPEC"),
            r"system 'theirs' \(systems\.naive\.system:SPEC\) calls itself 'naive': register it under that name",
        ),
        # As after an editable install beside a wheel of the same package.
        ("naive", "systems.naive.system:SPEC", None),
    ],
)
def test_a_name_that_is_also_anothers_is_refused_and_hurts_no_other(
    register: Register, name: str, value: str, said: str | None
) -> None:
    register("rag_harness.systems", name, value)
    assert registry.SYSTEMS.load("naive").name == "naive"
    if said:
        with pytest.raises(ConfigError, match=said):
            registry.SYSTEMS.load(name)


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
    with pytest.raises(ConfigError, match="'naive' stands for itself: write naive, without a colon"):
        registry.SYSTEMS.load("naive:tea")


# An extension that is missing or cannot be imported costs one line; everything else works.


@pytest.fixture
def here(tmp_path: Path) -> CommandLineHere:
    return CommandLineHere(tmp_path)


@pytest.mark.parametrize("code", ["import no_such_package\n", "raise SystemExit('bye')\n"])
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
    misspelt = here.call("anotate")
    assert misspelt.returncode == 2
    assert "annotate" in misspelt.stderr


@pytest.mark.usefixtures("workers_here")
@pytest.mark.parametrize("command", ["run", "evaluate"])
def test_an_unknown_executor_is_one_line_with_the_nearest(here: CommandLineHere, command: str) -> None:
    words = {"run": ("run", "-c", str(SMOKE)), "evaluate": ("evaluate", here.run()["run_id"])}[command]
    line = here.refused(*words, "--executor", "rya")
    assert "'rya'" in line
    assert "'ray'" in line


@pytest.mark.parametrize("code", ["SPEC = 1 / 0\n", "SPEC = 'no executor'\n"])
def test_a_broken_executor_is_one_line_where_it_is_asked_for(
    here: CommandLineHere, plug_in: PlugIn, code: str
) -> None:
    plug_in("rag_harness.executors", "lame", code)
    assert "'lame'" in here.refused("run", "-c", str(SMOKE), "--executor", "lame")
    assert here.call("plan", "-c", str(SMOKE)).stderr == ""
