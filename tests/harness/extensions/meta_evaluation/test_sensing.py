"""Answers made wrong, scored by real evaluators that ask no model."""

import json
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from command_line import CommandLineHere
from paired_runs import ScoredRun, write_run

from harness.api.config_building import named_judge
from harness.api.evaluating import EvaluateOptions
from harness.core.errors import ConfigError, MissingDependency
from harness.display.plotting import plotting
from harness.extensions.meta_evaluation.perturbed_runs import PerturbationChoice
from harness.extensions.meta_evaluation.sensitivity import (
    PerturbationEffect,
    SensitivityResult,
    SweptValue,
    by_measure,
    measure_sensitivity,
    parse_sweep,
    preset_named,
    verdict_by_rule,
)
from harness.extensions.meta_evaluation.sensitivity_output import (
    cost_table,
    draw_sweeps,
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
SWAPS = ("wrong_answer", "name", "negation", "number", "truncation", "generic", "query")
ONE_SWAP = PerturbationChoice(swaps=("generic",))


def references(results: Path, n: int = 12, said: tuple[str, ...] = ("Oslo",)) -> RunDir:
    gold = [f"The ferry to {place} is {number + 10} km long" for number, place in enumerate(PLACES[:n])]
    queries = [f"q{number:03d}" for number in range(n)]
    texts = {query: f"How long is the ferry to {place}?" for query, place in zip(queries, PLACES, strict=False)}
    plan = ScoredRun(scores={"accuracy": [1.0] * n}, queries=queries, gold=gold, texts=texts, said=said)
    return write_run(results, plan)


def scoring(results: Path, *evaluators: str) -> EvaluateOptions:
    return EvaluateOptions(evaluators=evaluators or ("answer",), results=results, quiet=True)


@pytest.fixture(scope="module")
def sensed(tmp_path_factory: pytest.TempPathFactory) -> SensitivityResult:
    results = tmp_path_factory.mktemp("results")
    return measure_sensitivity(references(results), PerturbationChoice(swaps=SWAPS), scoring(results))


def effect(sensed: SensitivityResult, measure: str, swap: str) -> PerturbationEffect:
    return next(one for one in sensed.effects if (one.measure.name, one.swap.name) == (measure, swap))


def test_a_measure_that_compares_with_the_reference_notices_every_edit(sensed: SensitivityResult) -> None:
    for swap in ("wrong_answer", "name", "negation", "number", "truncation", "generic"):
        found = effect(sensed, "token_f1", swap)
        assert (found.verdict, found.auc.value, found.n) == ("notices", 1.0, 12)
        assert found.auc.interval == (None, None), "a perfect order of few answers has no interval"
        assert found.drop is not None
        assert found.drop > 0
    few, half = (effect(sensed, "token_f1", swap).drop or 0 for swap in ("negation", "truncation"))
    assert few < half
    unread = effect(sensed, "token_f1", "query")
    assert (unread.verdict, unread.drop) == ("cannot notice", 0.0)
    # Equal values of a dozen answers are too few to show a miss.
    equal = effect(sensed, "false_abstention_rate", "wrong_answer")
    assert (equal.verdict, equal.drop) == ("undecided", 0.0)


def test_every_measure_has_a_sentence_and_a_row(sensed: SensitivityResult) -> None:
    groups = by_measure(sensed.effects)
    assert len(overview(sensed.effects).rows) == len(groups)
    lines = [verdict_of(measure, own) for measure, own in groups]
    assert any(line.startswith("token F1: notices: another query's answer, another name") for line in lines)
    assert len(sensitivity_data(sensed.effects)) == len(groups) * len(SWAPS)


def test_measures_that_do_not_read_what_was_changed_are_named_in_one_note(sensed: SensitivityResult) -> None:
    effects = [one for one in sensed.effects if one.swap.name == "query"]
    shown, (note,) = of_readers(effects)
    kept, named = {one.measure.name for one in shown}, set(note.partition(": ")[2].split(", "))
    assert "token_f1" in named
    assert kept | named == {one.measure.name for one in effects}
    assert not kept & named


def test_the_same_command_reuses_its_changed_answers_beside_the_runs_of_systems(tmp_path: Path) -> None:
    run, choice = references(tmp_path), PerturbationChoice(swaps=("wrong_answer",), n=10, seed=3)
    measure_sensitivity(run, choice, scoring(tmp_path, "novel_tokens"))
    first, again = (measure_sensitivity(run, choice, scoring(tmp_path)) for _ in range(2))
    assert [one.path for one in first.runs.runs] == [one.path for one in again.runs.runs]
    assert sensitivity_data(first.effects) == sensitivity_data(again.effects)
    assert "10 of 12 queries, drawn with seed 3" in first.notes
    assert len([*tmp_path.glob("*/manifest.json")]) == 1
    assert all(one.is_closed() for one in first.runs.runs)
    # Costs are of the evaluators of this command only.
    assert {one.evaluator for one in again.runs.base.evaluations()} == {"answer", "novel_tokens"}
    table = cost_table(again.runs.runs, again.evaluators, again.evaluation.spending.prices)
    assert [row[0] for row in table.rows] == ["answer"]


def test_abstentions_are_not_edited_and_fewer_than_ten_answers_are_refused(tmp_path: Path) -> None:
    run = references(tmp_path, said=("Insufficient information", *["Oslo"] * 11))
    sensed = measure_sensitivity(run, replace(ONE_SWAP, base="own"), scoring(tmp_path))
    assert sensed.runs.n_cases == 11
    assert any(note.startswith("1 queries have no answer to edit") for note in sensed.notes)
    few = references(tmp_path / "few", 9)
    with pytest.raises(ConfigError, match="has 9 reference answers to edit"):
        measure_sensitivity(few, ONE_SWAP, scoring(tmp_path / "few"))


def test_evaluators_that_cannot_run_here_are_left_out_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, preset = references(tmp_path), preset_named("kg-eval")
    both = scoring(tmp_path, "answer", "rag_eval")
    without_judge = measure_sensitivity(run, ONE_SWAP, both, asks_judges=False)
    assert without_judge.evaluators == ("answer",)
    assert any(note.endswith(": rag_eval") for note in without_judge.notes)
    with pytest.raises(ConfigError, match="asks a judge: rag_eval"):
        measure_sensitivity(run, ONE_SWAP, scoring(tmp_path, "rag_eval"), asks_judges=False)

    def missing(_name: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr("harness.evaluators.ragas.version", missing)
    asked = replace(scoring(tmp_path, "answer", "ragas"), settings=preset.settings)
    assert "ragas" in preset.evaluators
    sensed = measure_sensitivity(run, ONE_SWAP, asked, optional=preset.optional)
    assert any(note.startswith("left out: ragas") for note in sensed.notes)
    with pytest.raises(MissingDependency):
        measure_sensitivity(run, ONE_SWAP, asked)


def test_names_sweeps_and_judges_are_read_or_refused() -> None:
    assert (preset_named("rag-eval").base, preset_named(None).base) == ("own", "reference")
    with pytest.raises(ConfigError, match="did you mean 'kg-eval'"):
        preset_named("kgeval")
    with pytest.raises(ConfigError, match="did you mean 'wrong_answer'"):
        _ = PerturbationChoice(swaps=("wrong",)).chosen
    assert named_judge("openai/gpt-4o-mini") == (
        'models.judge.provider="openai"',
        'models.judge.model="gpt-4o-mini"',
    )
    assert [one.value for one in parse_sweep("kg_nlp.tau=0.5, 0.7")] == ["0.5", "0.7"]
    for text in ("kg_nlp", "kg_nlp.tau", "kg_nlp=1", "kg_nlp.tau="):
        with pytest.raises(ConfigError, match="is no sweep"):
            parse_sweep(text)
    for judge in ("openai/", "/x"):
        with pytest.raises(ConfigError, match=judge):
            named_judge(judge)


def test_each_value_of_a_parameter_has_a_row_and_a_point(sensed: SensitivityResult) -> None:
    found = effect(sensed, "token_f1", "wrong_answer")
    swept = [SweptValue("kg_nlp", "tau", value, (found,)) for value in ("0.5", "0.7")]
    assert [row[1] for row in sweep_table(swept).rows] == ["tau = 0.5", "tau = 0.7"]
    with plotting() as new_figure:
        both = [replace(one, effects=(found, effect(sensed, "accuracy", "wrong_answer"))) for one in swept]
        (drawing,) = draw_sweeps(both, new_figure)
        first, second = drawing.figure.axes
        assert first.get_ylim() == second.get_ylim()
        assert [bool(one.yaxis.get_tick_params()["labelleft"]) for one in (first, second)] == [True, False]
        (drawing,) = draw_sweeps(swept, new_figure)
        assert [line.get_xdata().tolist() for line in drawing.figure.axes[0].lines] == [[0, 1], [0, 1]]  # type: ignore[union-attr]
        assert draw_sweeps(swept[:1], new_figure) == []


def test_the_command_prints_json_and_writes_a_page(tmp_path: Path) -> None:
    cli = CommandLineHere(tmp_path)
    run, out = references(cli.results), tmp_path / "out"
    words = ("sensitivity", run.run_id, "-e", "answer", "--swap", "generic", "--json", "--quiet")
    data = json.loads(cli.call(*words, "--out", str(out)).stdout)
    assert (data["run"], data["n_answers"]) == (run.run_id, 12)
    assert json.loads((out / "sensitivity.json").read_text()) == data
    assert (out / "figures" / "auc.svg").is_file()


@pytest.mark.parametrize(
    ("sweep", "said"), [("kg_nlp.taux=1", "did you mean 'tau'"), ("kg.tau=0.5", "asks a judge: kg. .*--sweep")]
)
def test_an_impossible_sweep_is_refused_before_anything_is_scored(tmp_path: Path, sweep: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        measure_sensitivity(
            references(tmp_path), ONE_SWAP, scoring(tmp_path), asks_judges=False, sweeps=parse_sweep(sweep)
        )
    assert not (tmp_path / "sensitivity").exists()


@pytest.mark.parametrize(
    ("drops", "interval", "area", "verdict"),
    [
        ([0.5] * 40, Interval(0.4, 0.6), 0.95, "notices"),
        ([0.5] * 40, Interval(0.4, 0.6), 0.8, "in part"),
        ([0.1] * 40, Interval(0.01, 0.2), 0.6, "hardly"),
        ([-0.1] * 40, Interval(-0.2, -0.01), 0.4, "prefers it"),
        ([0.0] * 39 + [0.1], Interval(-0.01, 0.02), 0.51, "misses"),
        # A small drop, although every answer is separated.
        ([0.01] * 40, Interval(-0.001, 0.02), 1.0, "undecided"),
        ([0.0] * 39 + [1.0], Interval(-0.03, 0.2), 0.51, "undecided"),
        ([0.0] * 40, UNKNOWN, 0.5, "misses"),
        ([0.0] * 20, UNKNOWN, 0.5, "undecided"),
        ([0.5] * 9, UNKNOWN, 1.0, "too few"),
        ([1.0] * 40, UNKNOWN, 1.0, "notices"),
        # Without an interval, the order of the answers decides nothing.
        ([-0.3, 0.3] * 8, UNKNOWN, 0.55, "undecided"),
        ([0.3, -0.3] * 8, UNKNOWN, 0.55, "undecided"),
        ([0.0, *[0.6] * 7, *[-0.6] * 8], UNKNOWN, 0.5, "undecided"),
    ],
)
def test_the_verdict_follows_from_the_drop_and_the_area(
    drops: list[float], interval: Interval, area: float, verdict: str
) -> None:
    measure = Measure("m", "", 0.0, reads=frozenset({"answer"}), range=(0.0, 1.0))
    assert verdict_by_rule("answer", measure, drops, interval, area) == verdict
