"""Answers made wrong, scored by real evaluators that ask no model."""

from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from paired_runs import ScoredRun, write_run

from harness.api.config_building import named_judge
from harness.api.evaluating import EvaluateOptions
from harness.core.errors import ConfigError, MissingDependency
from harness.display.plotting import plotting
from harness.extensions.meta_evaluation.figures import MovedParameter, draw_sweeps
from harness.extensions.meta_evaluation.perturbed_runs import PerturbationChoice
from harness.extensions.meta_evaluation.sensitivity import (
    PerturbationEffect,
    SensitivityOptions,
    SensitivityResult,
    by_measure,
    chosen_swaps,
    measure_sensitivity,
    parse_sweep,
    verdict_by_rule,
)
from harness.extensions.meta_evaluation.sensitivity_output import (
    cost_table,
    note_on_unread_metrics,
    of_readers,
    overview,
    sensitivity_data,
    sweep_table,
    verdict_of,
)
from harness.protocols import Measure
from harness.statistics.confidence_intervals import UNKNOWN, Interval
from harness.store import RunDir

PLACES = (
    *("Oslo", "Bergen", "Tromso", "Bodo", "Molde", "Narvik"),
    *("Hamar", "Moss", "Halden", "Larvik", "Vadso", "Alta"),
)
SWAPS = ("wrong_answer", "negation", "number", "truncation", "generic", "query")


def references(results: Path, n: int = 12, **more: object) -> RunDir:
    gold = [f"The ferry to {place} is {number + 10} km long" for number, place in enumerate(PLACES[:n])]
    queries = [f"q{number:03d}" for number in range(n)]
    texts = {query: f"How long is the ferry to {place}?" for query, place in zip(queries, PLACES, strict=False)}
    plan = ScoredRun(scores={"accuracy": [1.0] * n}, queries=queries, gold=gold, texts=texts, said=("Oslo",))
    return write_run(results, replace(plan, **more))  # type: ignore[arg-type]


def options(results: Path, **more: object) -> SensitivityOptions:
    choice = replace(PerturbationChoice(swaps=SWAPS), **more)  # type: ignore[arg-type]
    return SensitivityOptions(choice, EvaluateOptions(evaluators=("answer",), results=results, quiet=True))


@pytest.fixture(scope="module")
def sensed(tmp_path_factory: pytest.TempPathFactory) -> SensitivityResult:
    results = tmp_path_factory.mktemp("results")
    return measure_sensitivity(references(results), options(results))


def effect(sensed: SensitivityResult, measure: str, swap: str) -> PerturbationEffect:
    return next(one for one in sensed.effects if (one.measure.name, one.swap.name) == (measure, swap))


def test_a_measure_that_compares_with_the_reference_notices_whatever_is_edited(sensed: SensitivityResult) -> None:
    for swap in ("wrong_answer", "negation", "number", "truncation", "generic"):
        found = effect(sensed, "token_f1", swap)
        assert (found.verdict, found.auc.value, found.n) == ("notices", 1.0, 12)
        assert found.auc.interval == (None, None), "a perfect order of few answers has no interval"
        assert found.drop is not None
        assert found.drop > 0
    few, half = (effect(sensed, "token_f1", swap).drop or 0 for swap in ("negation", "truncation"))
    assert few < half


@pytest.mark.parametrize(
    ("measure", "swap", "verdict"),
    [
        ("token_f1", "query", "cannot notice"),
        # No value of a dozen answers is another, which shows no miss.
        ("false_abstention_rate", "wrong_answer", "undecided"),
    ],
)
def test_a_measure_that_never_moves_misses_nothing_yet(
    sensed: SensitivityResult, measure: str, swap: str, verdict: str
) -> None:
    found = effect(sensed, measure, swap)
    assert (found.verdict, found.drop) == (verdict, 0.0)


def test_every_measure_has_a_line_and_a_row(sensed: SensitivityResult) -> None:
    groups = by_measure(sensed.effects)
    assert len(overview(sensed.effects).rows) == len(groups)
    lines = [verdict_of(measure, own) for measure, own in groups]
    assert any(line.startswith("token F1: notices: another query's answer, negated") for line in lines)
    assert len(sensitivity_data(sensed.effects)) == len(groups) * len(SWAPS)


def test_a_measure_that_reads_nothing_of_what_was_changed_is_named_in_one_line(tmp_path: Path) -> None:
    sensed = measure_sensitivity(references(tmp_path), options(tmp_path, swaps=("query",)))
    shown, (said,) = of_readers(sensed.effects), note_on_unread_metrics(sensed.effects)
    kept, named = {one.measure.name for one in shown}, said.partition(": ")[2].split(", ")
    assert said.startswith(f"{len(named)} measures read nothing of what was changed: ")
    assert "token_f1" in named
    assert kept | set(named) == {measure.name for measure, _ in by_measure(sensed.effects)}
    assert not kept & set(named)


def test_costs_are_of_the_evaluators_of_this_command(tmp_path: Path) -> None:
    run, wanted = references(tmp_path), options(tmp_path, swaps=("generic",))
    measure_sensitivity(run, replace(wanted, evaluate=replace(wanted.evaluate, evaluators=("novel_tokens",))))
    sensed = measure_sensitivity(run, wanted)
    assert {one.evaluator for one in sensed.runs.base.evaluations()} == {"answer", "novel_tokens"}
    table = cost_table(sensed.runs.runs, sensed.evaluators, sensed.evaluation.spending.prices)
    assert [row[0] for row in table.rows] == ["answer"]


def test_swapped_answers_are_runs_that_lie_apart_from_those_of_systems(sensed: SensitivityResult) -> None:
    results = sensed.runs.base.path.parents[2]
    assert len([*results.glob("*/manifest.json")]) == 1
    assert all(run.is_closed() for run in sensed.runs.runs)


def test_the_same_command_finds_the_swapped_answers_again(tmp_path: Path) -> None:
    run = references(tmp_path)
    first, again = (
        measure_sensitivity(run, options(tmp_path, n=10, seed=3, swaps=("wrong_answer",))) for _ in range(2)
    )
    assert [one.path for one in first.runs.runs] == [one.path for one in again.runs.runs]
    assert sensitivity_data(first.effects) == sensitivity_data(again.effects)
    assert "10 of 12 queries, drawn with seed 3" in first.notes


def test_abstentions_and_null_queries_are_not_edited_and_few_answers_are_refused(tmp_path: Path) -> None:
    run = references(tmp_path, said=("Insufficient information", *["Oslo"] * 11))
    sensed = measure_sensitivity(run, options(tmp_path, base="own", swaps=("generic",)))
    assert sensed.runs.n_cases == 11
    assert any(note.startswith("1 queries have no answer to edit") for note in sensed.notes)
    with pytest.raises(ConfigError, match="has 9 reference answers to edit; fewer than 10 show nothing"):
        measure_sensitivity(references(tmp_path / "few", 9), options(tmp_path / "few"))


def test_without_a_judge_evaluators_that_ask_one_are_left_out(tmp_path: Path) -> None:
    run, without = references(tmp_path), replace(options(tmp_path), asks_judges=False)
    both = replace(without, evaluate=replace(without.evaluate, evaluators=("answer", "rag_eval")))
    assert "left out, because they need a judge: rag_eval" in measure_sensitivity(run, both).notes
    alone = replace(without, evaluate=replace(without.evaluate, evaluators=("rag_eval",)))
    with pytest.raises(ConfigError, match="each of these evaluators asks a judge"):
        measure_sensitivity(run, alone)


def test_kg_eval_is_held_beside_ragas_which_is_left_out_where_it_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, preset = chosen_swaps("kg-eval")
    assert preset is not None
    assert "ragas" in preset.evaluators

    def missing(_name: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr("harness.evaluators.ragas.version", missing)
    run, plain = references(tmp_path), options(tmp_path)
    asked = replace(plain.evaluate, evaluators=("answer", "ragas"), settings=preset.settings)
    sensed = measure_sensitivity(run, replace(plain, evaluate=asked, optional=preset.optional))
    assert any(note.startswith("left out: ragas") for note in sensed.notes)
    with pytest.raises(MissingDependency):
        measure_sensitivity(run, replace(plain, evaluate=asked))


def test_wishes_come_before_a_preset_and_unknown_words_are_named() -> None:
    choice, preset = chosen_swaps("rag-eval", None, (), 50, 1)
    assert preset is not None
    assert (choice.base, choice.swaps, choice.n) == ("own", preset.swaps, 50)
    assert chosen_swaps("rag-eval", "reference")[0].base == "reference"
    for name, swaps in (("kgeval", ()), (None, ("wrong",))):
        with pytest.raises(ConfigError, match="did you mean"):
            chosen_swaps(name, swaps=swaps)


def test_judges_and_sweeps_are_read_or_refused() -> None:
    assert named_judge("openai/gpt-4o-mini") == (
        'models.judge.provider="openai"',
        'models.judge.model="gpt-4o-mini"',
    )
    assert parse_sweep("kg_nlp.tau=0.5, 0.7").values == ("0.5", "0.7")
    for text in ("kg_nlp", "kg_nlp.tau", "kg_nlp=1", "kg_nlp.tau="):
        with pytest.raises(ConfigError, match="is no sweep"):
            parse_sweep(text)
    for judge in ("openai/", "/x"):
        with pytest.raises(ConfigError, match=judge):
            named_judge(judge)


def test_a_parameter_that_was_moved_has_a_row_and_a_point_for_each_value(sensed: SensitivityResult) -> None:
    found = effect(sensed, "token_f1", "wrong_answer")
    points = [MovedParameter("tau", value, found) for value in ("0.5", "0.7")]
    assert [row[1] for row in sweep_table(points).rows] == ["tau = 0.5", "tau = 0.7"]
    with plotting() as new_figure:
        (drawing,) = draw_sweeps(points, new_figure)
        assert [line.get_xdata().tolist() for line in drawing.figure.axes[0].lines] == [[0, 1], [0, 1]]  # type: ignore[union-attr]
        assert draw_sweeps(points[:1], new_figure) == []


@pytest.mark.parametrize(
    ("sweep", "said"), [("kg_nlp.taux=1", "did you mean 'tau'"), ("kg.tau=0.5", "asks a judge")]
)
def test_a_sweep_that_cannot_be_is_refused_before_anything_is_scored(
    tmp_path: Path, sweep: str, said: str
) -> None:
    wanted = replace(options(tmp_path), sweeps=(parse_sweep(sweep),), asks_judges=False)
    with pytest.raises(ConfigError, match=said):
        measure_sensitivity(references(tmp_path), wanted)
    assert not (tmp_path / "sensitivity").exists()


@pytest.mark.parametrize(
    ("drops", "interval", "area", "verdict"),
    [
        ([0.5] * 40, Interval(0.4, 0.6), 0.95, "notices"),
        ([0.5] * 40, Interval(0.4, 0.6), 0.8, "in part"),
        ([0.1] * 40, Interval(0.01, 0.2), 0.6, "hardly"),
        ([-0.1] * 40, Interval(-0.2, -0.01), 0.4, "prefers it"),
        ([0.0] * 39 + [0.1], Interval(-0.01, 0.02), 0.51, "misses"),
        # Small in points of the measure, and yet each answer is told apart.
        ([0.01] * 40, Interval(-0.001, 0.02), 1.0, "undecided"),
        ([0.0] * 39 + [1.0], Interval(-0.03, 0.2), 0.51, "undecided"),
        ([0.0] * 40, UNKNOWN, 0.5, "misses"),
        ([0.0] * 20, UNKNOWN, 0.5, "undecided"),
        ([0.5] * 9, UNKNOWN, 1.0, "too few"),
        ([1.0] * 40, UNKNOWN, 1.0, "notices"),
        # Without an interval whichever answer is the first decides nothing.
        ([-0.3, 0.3] * 8, UNKNOWN, 0.55, "undecided"),
        ([0.3, -0.3] * 8, UNKNOWN, 0.55, "undecided"),
        ([0.0, *[0.6] * 7, *[-0.6] * 8], UNKNOWN, 0.5, "undecided"),
    ],
)
def test_the_word_follows_from_the_drop_and_the_area(
    drops: list[float], interval: Interval, area: float, verdict: str
) -> None:
    measure = Measure("m", "", 0.0, reads=frozenset({"answer"}), range=(0.0, 1.0))
    assert verdict_by_rule(frozenset({"answer"}), measure, drops, interval, area) == verdict
