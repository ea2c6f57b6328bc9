"""Cells are resolved, checked and named before anything is paid for."""

from collections.abc import Sequence

import pytest

from harness.config import load_config
from harness.core.errors import ConfigError
from harness.runner.plan import Cell, plan_cells

FAKE = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=2")


def cells(*settings: str) -> list[Cell]:
    return plan_cells(load_config(None, [*FAKE, *settings]))


def cell(*settings: str) -> Cell:
    (only,) = cells(*settings)
    return only


def test_the_same_config_has_the_same_run_id() -> None:
    assert cell().run_id == cell().run_id
    assert cell().run_id.startswith("demo--naive--")


@pytest.mark.parametrize(
    "setting",
    [
        "answer.top_k=3",
        "index.chunk_size=600",
        "dataset.sample.seed=1",
        "dataset.sample.per_type=3",
        "dataset.corpus=cited",
        "models.generator.temperature=0.5",
        "models.generator.max_tokens=9",
        "models.generator.options.reply=Paris",
        "models.embedder.model=other",
        "limits.query_timeout_s=5",
        "limits.concurrency=2",
        "answer_style=sentence",
        "seed=7",
        "repeats=2",
    ],
)
def test_what_determines_the_result_changes_the_run_id(setting: str) -> None:
    assert cell(setting).run_id != cell().run_id


@pytest.mark.parametrize(
    "setting",
    [
        "runner.resources_interval_s=9",
        "runner.failure_tolerance=0.5",
        "models.generator.timeout_s=5",
        "models.generator.max_retries=1",
        "models.generator.requests_per_minute=60",
        "models.embedder.batch_size=3",
        "models.judge.max_tokens=9",
        "answer_style=short",
        "measure=em",
        "prices=own.yaml",
        "evaluators=[]",
    ],
)
def test_what_does_not_determine_the_result_leaves_the_run_id(setting: str) -> None:
    assert cell(setting).run_id == cell().run_id


def test_an_answer_parameter_reuses_the_index_and_an_index_parameter_does_not() -> None:
    assert cell("answer.top_k=3").index_id == cell().index_id
    assert cell("models.generator.max_tokens=9").index_id == cell().index_id
    assert cell("answer_style=sentence").index_id == cell().index_id
    assert cell("index.chunk_size=600").index_id != cell().index_id
    assert cell("models.embedder.model=other").index_id != cell().index_id


def test_where_a_local_model_lies_and_its_port_are_not_its_identity() -> None:
    local = ("models.generator.provider=local",)
    assert cell(*local, "models.generator.options.port=4711").run_id == cell(*local).run_id
    assert cell(*local, "models.generator.options.context_tokens=4096").run_id != cell(*local).run_id
    assert len(cell(*local).identity["models"]["generator"]["weights_sha256"]) == 64


def test_a_key_in_the_environment_never_changes_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    (found,) = plan_cells(load_config(None, []))
    assert {role: model.provider for role, model in found.models.items()} == {
        "generator": "local",
        "embedder": "minilm",
    }


def test_a_matrix_spans_cells_that_share_one_index() -> None:
    found = cells("matrix.answer.top_k=[1, 3, 5]")
    assert [one.answer_params.model_dump()["top_k"] for one in found] == [1, 3, 5]
    assert len({one.run_id for one in found}) == 3
    assert len({one.index_id for one in found}) == 1


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        (["answer.topk=3"], "did you mean 'top_k'?"),
        (["matrix.answer.topk=[1]"], "did you mean 'top_k'?"),
        (["per_system.naive.answer.topk=3"], "did you mean 'top_k'?"),
        (["per_system.nave.answer.top_k=3"], "did you mean 'naive'?"),
        (["answer.styel=short"], "unknown key 'answer.styel': known: fetch_k, prompts, rerank, search, top_k"),
        (["index.chunk_size=0"], "index.chunk_size"),
        (["index.chunk_overlap=1200"], "chunk_overlap must be smaller"),
        (["systems=[]"], "nothing to run"),
        (["evaluators=[anser]"], "did you mean 'answer'?"),
    ],
)
def test_a_mistake_in_any_cell_is_refused_with_a_hint(settings: Sequence[str], hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        cells(*settings)
    assert hint in str(refused.value)


def test_a_systems_own_section_wins_over_the_shared_one() -> None:
    found = cell("answer.top_k=3", "per_system.naive.answer.top_k=8")
    assert found.answer_params.model_dump()["top_k"] == 8


def test_a_setting_for_all_systems_holds_for_those_for_which_a_config_says_otherwise() -> None:
    """Or `--set answer.top_k=8` would change nothing of a system, without a word."""
    source = {"per_system": {"naive": {"answer": {"top_k": 3, "search": "bm25"}}}}
    (found,) = plan_cells(load_config(source, [*FAKE, "answer.top_k=8"]))
    params = found.answer_params.model_dump()
    assert (params["top_k"], params["search"]) == (8, "bm25")
    assert source == {"per_system": {"naive": {"answer": {"top_k": 3, "search": "bm25"}}}}


@pytest.mark.parametrize(
    "settings",
    [
        ["matrix.per_evaluator.kg_nlp.tau=[0.6,0.8]", "evaluators=[kg_nlp]"],
        ["matrix.margin=[2,5]"],
        ["matrix.models.judge.model=[a,b]"],
    ],
)
def test_an_axis_of_what_changes_no_answer_is_refused(settings: Sequence[str]) -> None:
    with pytest.raises(ConfigError, match="changes no answer"):
        cells(*settings)


def test_an_axis_of_the_command_holds_for_systems_for_which_a_config_says_otherwise() -> None:
    source = {"per_system": {"naive": {"answer": {"top_k": 3}}}}
    found = plan_cells(load_config(source, [*FAKE, "matrix.answer.top_k=[1,5]"]))
    assert [one.answer_params.model_dump()["top_k"] for one in found] == [1, 5]


def test_a_sweep_of_other_systems_leaves_one_cell_of_a_system_that_has_no_such_parameter() -> None:
    found = cells("systems=[closed-book]", "per_system.naive.answer.top_k=3", "matrix.answer.top_k=[1,5]")
    assert len(found) == 1


def test_an_axis_that_one_of_the_systems_knows_is_swept_for_that_one() -> None:
    found = cells("systems=[closed-book,naive]", "matrix.answer.top_k=[1,3]")
    assert [one.spec.name for one in found] == ["closed-book", "naive", "naive"]


def test_a_shared_key_of_a_system_that_was_left_out_is_no_mistake() -> None:
    of_both = ("index.headings=true", "per_system.naive.answer.top_k=3", "index.extractor=nlp")
    (alone,) = cells("systems=[closed-book]", "per_system.kg.answer.top_k=3", *of_both)
    assert alone.run_id == cell("systems=[closed-book]").run_id
    with pytest.raises(ConfigError, match=r"unknown key 'index\.extractor'"):
        cells("systems=[closed-book]", *of_both)


KG = ("systems=[kg]",)
NONE = "models.generator.provider=none"


def test_the_generator_is_part_of_an_index_only_where_it_builds_it() -> None:
    other = "models.generator.model=other"
    assert cell(*KG).index_id != cell(*KG, other).index_id
    without = (*KG, "index.extractor=nlp")
    assert cell(*without).index_id == cell(*without, other).index_id == cell(*without, NONE).index_id
    assert cell(*without).run_id != cell(*without, NONE).run_id


def test_an_index_that_needs_a_generator_is_refused_without_one() -> None:
    with pytest.raises(ConfigError, match="builds its index with a generator"):
        cells(*KG, NONE)


def test_systems_over_the_same_passages_share_an_index_and_baselines_have_their_own() -> None:
    by_name = {one.spec.name: one for one in cells("systems=[naive,recursive,closed-book,gold]")}
    assert by_name["naive"].index_id == by_name["recursive"].index_id
    assert len({one.index_id for one in by_name.values()}) == 3
    assert [name for name, one in by_name.items() if one.spec.sees_gold] == ["gold"]
    assert [name for name, one in by_name.items() if one.spec.baseline] == ["closed-book", "gold"]


def test_how_a_model_decodes_does_not_make_it_another_server_and_what_it_is_does() -> None:
    servers = cell().servers
    assert cell("models.generator.temperature=0.5", "models.generator.max_tokens=9").servers == servers
    assert cell("models.generator.options.reply=Paris").servers["generator"] != servers["generator"]
    assert cell("models.generator.options.reply=Paris").servers["embedder"] == servers["embedder"]
