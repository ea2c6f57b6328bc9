"""Systems, data sets and evaluators by name: found through entry points, explained where they are broken."""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

import pytest

from harness import registry
from harness.errors import ConfigError, HarnessError, MissingDependency
from harness.protocols import DatasetSpec, SystemSpec

Register = Callable[[str, str, str], None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """register(group, name, value): as if a third party's package were installed beside ours."""

    def add(group: str, name: str, value: str) -> None:
        points = [*entry_points(group=group), EntryPoint(name, value, group)]
        monkeypatch.setattr(registry, "_found", lambda asked: registry._unique(points) if asked == group else {})

    return add


def test_the_shipped_systems_data_sets_and_evaluators_are_found() -> None:
    assert "naive" in registry.system_names()
    assert "demo" in registry.dataset_names()
    assert "answer" in registry.evaluator_names()


def test_every_registered_name_loads_and_calls_itself_by_it() -> None:
    for name in registry.system_names():
        system = registry.load_system(name)
        assert isinstance(system, SystemSpec)
        assert system.name == name
    for name in registry.dataset_names():
        dataset = registry.load_dataset_spec(name)
        assert isinstance(dataset, DatasetSpec)
        assert dataset.name == name
    for name in registry.evaluator_names():
        assert registry.load_evaluator(name).name == name


@pytest.mark.parametrize(
    ("load", "noun", "wrong", "right"),
    [
        (registry.load_system, "system", "niave", "naive"),
        (registry.load_dataset_spec, "dataset", "demmo", "demo"),
        (registry.load_evaluator, "evaluator", "anwser", "answer"),
    ],
)
def test_an_unknown_name_is_one_line_with_the_nearest_known_one(
    load: Callable[[str], object], noun: str, wrong: str, right: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(wrong)
    assert str(caught.value) == f"unknown {noun} '{wrong}': did you mean '{right}'?"


def test_an_entry_point_whose_module_is_not_there_says_what_is_missing(register: Register) -> None:
    register(registry.SYSTEMS, "theirs", "no_such_package.system:SPEC")
    with pytest.raises(MissingDependency) as caught:
        registry.load_system("theirs")
    assert str(caught.value) == (
        "system 'theirs' cannot be imported (No module named 'no_such_package'): install what it needs"
    )


def test_an_entry_point_that_names_no_attribute_of_its_module_says_so(register: Register) -> None:
    register(registry.SYSTEMS, "theirs", "harness.errors:SPEC")
    with pytest.raises(ConfigError) as caught:
        registry.load_system("theirs")
    assert "has no attribute 'SPEC'" in str(caught.value)
    assert "correct its entry point harness.errors:SPEC" in str(caught.value)


def test_an_entry_point_that_cannot_be_read_at_all_is_one_line(register: Register) -> None:
    register(registry.SYSTEMS, "theirs", "not a module at all")
    with pytest.raises(HarnessError) as caught:
        registry.load_system("theirs")
    assert "correct its entry point not a module at all" in str(caught.value)


def test_an_entry_point_to_something_else_says_what_it_should_export(register: Register) -> None:
    register(registry.SYSTEMS, "theirs", "harness.errors:nearest")
    with pytest.raises(ConfigError) as caught:
        registry.load_system("theirs")
    assert str(caught.value) == "system 'theirs': harness.errors:nearest is no SystemSpec: export one"


def test_a_broken_entry_point_hurts_nobody_who_does_not_ask_for_it(register: Register) -> None:
    register(registry.SYSTEMS, "theirs", "no_such_package.system:SPEC")
    assert registry.system_names() == sorted({*registry.system_names(), "theirs"})
    assert registry.load_system("naive").name == "naive"


def test_where_nothing_is_registered_the_line_says_how_to_reinstall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_found", lambda group: {})
    with pytest.raises(ConfigError, match=r"no system is registered: reinstall: pip install -e \."):
        registry.load_system("naive")


def test_a_name_that_two_packages_register_is_refused() -> None:
    points = [
        EntryPoint("kg", "ours.kg:SPEC", registry.SYSTEMS),
        EntryPoint("kg", "theirs.kg:SPEC", registry.SYSTEMS),
    ]
    with pytest.raises(ConfigError) as caught:
        registry._unique(points)
    assert str(caught.value) == (
        "two packages register the name 'kg' (ours.kg:SPEC and theirs.kg:SPEC): uninstall one of them"
    )


def test_the_same_entry_point_seen_twice_is_no_conflict() -> None:
    """As after an editable install beside a wheel of the same package."""
    point = EntryPoint("kg", "ours.kg:SPEC", registry.SYSTEMS)
    assert list(registry._unique([point, EntryPoint("kg", "ours.kg:SPEC", registry.SYSTEMS)])) == ["kg"]
