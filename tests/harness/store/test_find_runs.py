"""Which runs a name on the command line means."""

import shutil
from pathlib import Path

import pytest

from harness.core.errors import ConfigError
from harness.store import Done, RunDir, find_runs

from .conftest import MakeManifest

KG, NAIVE, OTHER = "demo--kg--aaaaaaaaaaaa", "demo--naive--bbbbbbbbbbbb", "ms_marco--naive--bbbbbbbbbbbc"


@pytest.fixture
def results(tmp_path: Path, make_manifest: MakeManifest) -> Path:
    folder = tmp_path / "results"
    for name in (NAIVE, KG, OTHER):
        RunDir.create(folder, make_manifest(name, system={"name": name.split("--")[1]}), [])
    (folder / "indexes" / "0123456789ab").mkdir(parents=True)
    (folder / "half-made").mkdir()
    return folder


def found(results: Path, *names: str) -> list[str]:
    return [run.run_id for run in find_runs(results, names)]


def refusal(results: Path, name: str) -> str:
    with pytest.raises(ConfigError) as caught:
        find_runs(results, [name])
    return str(caught.value)


def test_a_run_is_found_by_a_unique_part_of_its_id_and_without_a_name_all_are(
    results: Path, make_manifest: MakeManifest
) -> None:
    assert found(results) == [KG, NAIVE, OTHER]
    names = {KG: KG, "demo--k": KG, "aaaa": KG, "ms_": OTHER, "bbbbbbbbbbbc": OTHER, "bbbb": NAIVE}
    assert {name: found(results, name) for name in names} == {name: [run] for name, run in names.items()}
    # A system means the run of that system, not of one whose name contains it.
    RunDir.create(results, make_manifest("demo--my-kg--cccccccccccc"), [])
    assert found(results, "kg") == [KG]


def test_a_run_is_found_by_its_path_in_any_folder(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results)
    for name in (KG, f"./{KG}/"):
        (run,) = find_runs(tmp_path / "elsewhere", [name])
        assert (run.path, run.run_id) == (results / KG, KG)


def test_a_name_that_matches_several_runs_is_refused_with_how_they_differ(
    results: Path, make_manifest: MakeManifest
) -> None:
    assert all(f"{run[-12:]} {run.split('--')[1]}" in refusal(results, "demo--") for run in (KG, NAIVE))
    for number, search, generator in (
        (1, "bm25", {"provider": "none"}),
        (2, "dense", {"provider": "none"}),
        (3, "dense", {"provider": "fake", "model": "fake-7b"}),
    ):
        plain = make_manifest(f"demo--plain--{number:012}")
        system = {"name": "plain", "answer": {"top_k": 4, "search": search}}
        identity = {**plain.identity, "system": system, "models": {"generator": generator}}
        RunDir.create(results, plain.model_copy(update={"identity": identity}), [])
    RunDir(results / "demo--plain--000000000003").rename("readable")
    line = refusal(results, "demo--plain")
    listed = dict(one.split(" ", 1) for one in line.split("name one: ")[1].split("; "))
    assert {name: found(results, name)[0][-1] for name in listed} == dict(
        zip(("000000000001", "000000000002", "readable"), "123", strict=True)
    )
    assert "search=bm25" in listed["000000000001"] and "search=dense" in listed["000000000002"]
    assert "fake-7b" in listed["readable"] and "fake-7b" not in listed["000000000002"]
    assert "top_k" not in line and "plain" not in " ".join(listed.values())


def test_the_first_of_many_matching_runs_are_listed_damaged_ones_by_their_ids(
    results: Path, make_manifest: MakeManifest
) -> None:
    for number in range(7):
        RunDir.create(results, make_manifest(f"demo--many--{number:012}"), [])
    line = refusal(results, "many")
    assert line.count("0000000000") == 5
    assert f"runs list --results {results}" in line
    (results / "demo--many--000000000000" / "manifest.json").write_text("[")
    assert "000000000000" in refusal(results, "many")
    wrong = "demo--kg--aaaaaaaaaaab"
    assert refusal(results, wrong) == f"no run '{wrong}' under {results}: did you mean '{KG}'?"


def test_a_copy_is_not_a_second_run(results: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(results / KG)
    assert [run.path.resolve() for run in find_runs(results, [KG, KG, str(link)])] == [results / KG] * 3
    copy = results / "zz-kept"
    shutil.copytree(results / KG, copy)
    assert found(results) == [KG, NAIVE, OTHER]
    assert [run.path for run in find_runs(results, [str(copy)])] == [copy]
    with pytest.raises(ConfigError) as caught:
        find_runs(results, [KG, str(copy)])
    assert str(caught.value) == (
        f"{copy} is a copy of {results / KG}: name one of them: a copy is not a second measurement"
    )


def test_a_run_is_found_by_its_name_also_if_it_was_finished_before(results: Path) -> None:
    finished = RunDir(results / OTHER)
    finished.mark_done(Done(n_expected=0, n_ok=0, n_error=0, finished_at="2026-11-20"))
    RunDir(results / NAIVE).rename("trial1")
    RunDir(results / OTHER).rename("kg")
    assert found(results, "trial1", "rial") == [NAIVE, NAIVE]
    assert found(results, "kg") == [OTHER]  # A whole name means more than a part of an id.
    assert RunDir(results / OTHER).done() == finished.done() is not None
    RunDir(results / KG).rename("trial2")
    line = refusal(results, "trial")
    assert "trial1 naive" in line
    assert "trial2 kg" in line
