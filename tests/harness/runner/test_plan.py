"""Cells are resolved, checked and named before anything is paid for."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import pytest
from cells import FAKE, cell, cells
from command_line import REPOSITORY
from records import known

from harness.config import BenchConfig, load_config
from harness.core.errors import ConfigError
from harness.datasets import load_dataset
from harness.datasets.demo import SPEC
from harness.datasets.sampling import query_order
from harness.protocols import Measure
from harness.runner.estimating.sample_size_notice import SampleSize, sample_sizes, size_lines, sizes_json
from harness.runner.evaluating.plan import EvaluationPlan, plan_evaluation
from harness.runner.plan import plan_cells
from harness.runner.race_plan import plan_race


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
    assert cell().run_id.startswith("demo--naive--")


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


def test_only_what_the_index_depends_on_changes_its_id() -> None:
    for setting in ("answer.top_k=3", "models.generator.max_tokens=9"):
        assert cell(setting).index_id == cell().index_id
    for setting in ("index.chunk_size=600", "models.embedder.model=other"):
        assert cell(setting).index_id != cell().index_id


def test_where_a_local_model_lies_and_its_port_are_not_its_identity() -> None:
    local = ("models.generator.provider=local",)
    assert cell(*local, "models.generator.options.port=4711").run_id == cell(*local).run_id
    assert cell(*local, "models.generator.options.context_tokens=4096").run_id != cell(*local).run_id
    assert len(cell(*local).identity["models"]["generator"]["weights_sha256"]) == 64
    served = ("models.generator.provider=ollama", "models.generator.model=m")
    elsewhere = cell(*served, "models.generator.base_url=http://127.0.0.1:9/v1")
    assert (elsewhere.run_id != cell(*served).run_id, elsewhere.index_id) == (True, cell(*served).index_id)


def test_a_key_in_the_environment_never_changes_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    (found,) = plan_cells(load_config(None, []))
    found_providers = {role: one.provider for role, one in found.models.items()}
    assert found_providers == {"generator": "local", "embedder": "minilm"}


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


def test_a_systems_own_section_wins_over_the_shared_one_and_the_command_over_both() -> None:
    found = cell("answer.top_k=3", "per_system.naive.answer.top_k=8")
    assert found.answer_params.model_dump()["top_k"] == 8
    source = {"per_system": {"naive": {"answer": {"top_k": 3, "search": "bm25"}}}}
    (found,) = plan_cells(load_config(source, [*FAKE, "answer.top_k=8"]))
    params = found.answer_params.model_dump()
    assert (params["top_k"], params["search"]) == (8, "bm25")
    swept = plan_cells(load_config(source, [*FAKE, "matrix.answer.top_k=[1,5]"]))
    assert [one.answer_params.model_dump()["top_k"] for one in swept] == [1, 5]
    assert len({one.index_id for one in swept}) == 1
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


def test_an_axis_is_swept_for_the_systems_that_know_it() -> None:
    found = cells("systems=[closed-book,naive]", "matrix.answer.top_k=[1,3]")
    assert [one.spec.name for one in found] == ["closed-book", "naive", "naive"]
    alone = cells("systems=[closed-book]", "per_system.naive.answer.top_k=3", "matrix.answer.top_k=[1,5]")
    assert len(alone) == 1


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
    with pytest.raises(ConfigError, match="builds its index with a generator") as refused:
        cells(*KG, NONE)
    _, _, setting = refused.value.fix.partition("--set ")
    assert cell(*KG, NONE, setting).index_id == cell(*KG, "index.extractor=nlp").index_id


def test_systems_over_the_same_passages_share_an_index_and_baselines_have_their_own() -> None:
    by_name = {one.spec.name: one for one in cells("systems=[naive,recursive,closed-book,gold]")}
    assert by_name["naive"].index_id == by_name["recursive"].index_id
    assert len({one.index_id for one in by_name.values()}) == 3
    assert [name for name, one in by_name.items() if one.spec.sees_gold] == ["gold"]
    assert [name for name, one in by_name.items() if one.spec.baseline] == ["closed-book", "gold"]


def test_passages_are_embedded_only_for_a_search_by_vectors_unless_a_config_says_otherwise() -> None:
    words = "answer.search=bm25"
    assert cell(words).embedder is None
    assert cell(words, "index.vectors=true").index_id == cell().index_id == cell("answer.search=hybrid").index_id
    crag = ("systems=[crag]", "answer.grader=model", words)
    assert cell(*crag).index_id != cell(*crag, "answer.search_again=dense").index_id
    assert cell(*crag, "answer.search_again=dense").index_id == cell().index_id


def test_only_what_a_model_is_makes_it_another_server_not_how_it_decodes() -> None:
    servers = cell().servers
    assert cell("models.generator.temperature=0.5", "models.generator.max_tokens=9").servers == servers
    other = cell("models.generator.options.reply=Paris").servers
    assert (other["generator"] != servers["generator"], other["embedder"]) == (True, servers["embedder"])


# By which measures a race can be held, and which it is told to take instead.


def config(measure: str) -> BenchConfig:
    tree: dict[str, Any] = {
        "systems": ["naive"],
        "dataset": {"name": "demo", "sample": {"per_type": 2}},
        "models": {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}},
        "matrix": {"answer.top_k": [1, 4]},
        "evaluators": ["retrieval"],
        "measure": measure,
        "race": {},
    }
    return BenchConfig.model_validate(tree)


def only(plan: EvaluationPlan, *names: str) -> EvaluationPlan:
    """The plan whose evaluator measures nothing but those."""
    (planned,) = plan.evaluators
    kept: tuple[Measure, ...] = tuple(one for one in planned.measures if one.name in names)
    assert len(kept) == len(names)
    spec = replace(planned.spec, measures=lambda _: kept)
    return replace(plan, evaluators=(replace(planned, spec=spec),))


@pytest.mark.parametrize("measure", ["map_compat@10", "documents_named", "contexts_shown"])
def test_no_race_is_held_by_a_measure_without_an_upper_end_nor_is_one_told_to_take_it(measure: str) -> None:
    """Each difference would be 0 of what can be, and the first system named would win."""
    chosen = config(measure)
    plan = only(plan_evaluation(chosen), *{measure, "map_compat@10", "mrr_compat@10", "hits_compat@10"})
    with pytest.raises(ConfigError, match=f"'{measure}' has no known bounds") as refused:
        plan_race(chosen, plan_cells(chosen), plan)
    assert refused.value.fix.endswith(": hits_compat@10, mrr_compat@10")


def test_a_race_counts_differences_as_parts_of_the_largest_that_can_be() -> None:
    chosen = config("mrr_compat@10")
    plan = plan_evaluation(chosen)
    (planned,) = plan.evaluators
    wide = tuple(replace(one, range=(-1.0, 3.0)) if "mrr" in one.name else one for one in planned.measures)
    wider = replace(plan, evaluators=(replace(planned, spec=replace(planned.spec, measures=lambda _: wide)),))
    for given, span in ((plan, 1.0), (wider, 4.0)):
        race = known(plan_race(chosen, plan_cells(chosen), given))
        assert race.rules.span == span


# What so many queries can tell apart, before anything is paid.


SYSTEMS = ["naive", "recursive", "closed-book"]


def sizes(**keys: object) -> list[SampleSize]:
    return sample_sizes(plan_cells(BenchConfig.model_validate({"dataset": {"name": "demo"}, **keys})))


def of(n: int, systems: int) -> SampleSize:
    return SampleSize("demo", n, 100, systems, {0.05: 1284, 0.2: 71})


def test_baselines_are_no_systems_that_have_to_be_told_apart() -> None:
    (size,) = sizes(systems=SYSTEMS)
    assert (size.n_systems, size.n_pairs) == (2, 1)
    assert sizes(systems=["gold", "closed-book"]) == []


def test_the_line_says_what_so_many_queries_can_show_and_what_the_data_set_has() -> None:
    assert "only if one system is better on 8 of 8" in of(8, 4).line
    assert "no difference can be significant" in of(7, 4).line
    assert "significant" not in of(9, 4).line
    assert of(50, 2).line.endswith("5 points about 1,300, 20 points about 80; the data set has 100")
    (line,) = size_lines([of(50, 2), of(50, 4), of(50, 3)])
    assert line == of(50, 4).line, "a sample that configs share is one line about the larger comparison"


def test_more_systems_take_more_queries() -> None:
    (few,), (many,) = sizes(systems=SYSTEMS[:2]), sizes(systems=["naive"], matrix={"answer.top_k": [1, 2, 3, 4]})
    for step in (0.05, 0.1, 0.2):
        assert (few.needed[step] or 0) < (many.needed[step] or 0)


@pytest.mark.parametrize("page", ["README.md", "docs/STATISTICS.md"])
def test_pages_name_the_numbers_of_queries_that_a_plan_of_two_systems_names(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    (line,) = size_lines(sizes(systems=["naive", "recursive"]))
    needed = re.findall(r"\b(?:5|10) points about ([0-9,]+)\b", line)
    assert len(needed) == 2
    assert all(number in text for number in needed)


@pytest.mark.parametrize("systems", [["naive"], SYSTEMS])
def test_too_few_queries_are_not_refused_and_a_single_run_has_no_difference_to_find(systems: list[str]) -> None:
    found = sizes(systems=systems, dataset={"name": "demo", "sample": {"per_type": 1}})
    assert bool(size_lines(found)) == (len(systems) > 1)
    assert sizes_json(found)[0]["can_show_anything"] is False


# The order in which queries are taken when cells take turns.


WHOLE = load_dataset(SPEC)


def test_it_holds_every_query_once_and_depends_on_the_seed_and_not_on_the_order_of_rows() -> None:
    order = query_order(WHOLE.references, 0)
    turned = replace(WHOLE, queries=WHOLE.queries[::-1], references=WHOLE.references[::-1])
    assert sorted(order) == sorted(query.query_id for query in WHOLE.queries)
    assert query_order(turned.references, 0) == order != query_order(WHOLE.references, 1)


def test_every_beginning_holds_of_each_type_its_share_give_or_take_a_query() -> None:
    types = {one.query_id: one.query_type for one in WHOLE.references}
    whole = Counter(types.values())
    order = query_order(WHOLE.references, 3)
    for length in range(1, len(order) + 1):
        taken = Counter(types[query_id] for query_id in order[:length])
        for query_type, n in whole.items():
            assert abs(taken[query_type] - length * n / len(order)) < ceil(len(whole) / 2), (length, taken)
