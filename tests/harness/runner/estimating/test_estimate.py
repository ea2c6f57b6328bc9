"""What cells will take, from formulas and from the runs that are there."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cells import cell, cells, ran
from paired_runs import ScoredRun, write_run
from pydantic import JsonValue

from harness.config import BudgetConfig
from harness.core.records import Cost, Estimate, EvaluationRecord, PhaseEstimate, Range, Usage
from harness.protocols import Params
from harness.registry import EVALUATORS
from harness.runner.estimating import estimate as estimating
from harness.runner.estimating.earlier_runs import EarlierRuns
from harness.runner.estimating.estimate import Estimator, keep_estimate, say_total
from harness.runner.estimating.estimate_text import in_one_line, likely_answers
from harness.runner.evaluating.evaluate import evaluate_runs
from harness.runner.evaluating.plan import PlannedEvaluator, plan_evaluation
from harness.runner.executing.execute import open_run
from harness.runner.progress import Reporter
from harness.statistics.estimate import Rates, Task, phases_left, predict
from harness.statistics.prices import load_prices
from harness.store import IndexDir


def estimate(results: Path, *settings: str) -> Estimate:
    return Estimator(results, load_prices()).estimate(cell(*settings))


def most(span: Range | None, end: str = "high") -> float:
    return getattr(span, end) if span else 0.0


class Heard(Reporter):
    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def test_without_any_run_the_formula_says_what_it_assumes(tmp_path: Path) -> None:
    found = estimate(tmp_path / "results")
    assert found.answer.calls == 4
    assert found.answer.output_tokens
    assert 0 < found.answer.output_tokens.low < found.answer.output_tokens.high == 4 * 256
    assert found.answer.seconds
    assert any("assumed" in note for note in found.answer.notes)
    assert found.index.calls == 0
    assert not (tmp_path / "results").exists()


def test_every_repeat_is_counted_and_without_a_generator_nothing_is_generated(tmp_path: Path) -> None:
    assert estimate(tmp_path, "repeats=3").answer.calls == 12
    found = estimate(tmp_path, "models.generator.provider=none").answer
    nothing = Range(low=0, high=0)
    assert (found.calls, found.input_tokens, found.usd) == (0, nothing, nothing)


def test_dollars_are_those_of_the_configured_model_and_unknown_without_a_price(tmp_path: Path) -> None:
    priced = estimate(tmp_path, "models.generator.provider=openai").answer
    assert priced.usd
    for end in ("low", "high"):
        usage = most(priced.input_tokens, end) * 0.15 + most(priced.output_tokens, end) * 0.60
        assert getattr(priced.usd, end) == pytest.approx(usage / 1e6, rel=2e-3)
    unpriced = estimate(tmp_path, "models.generator.provider=openai", "models.generator.model=unheard-of").answer
    assert unpriced.usd is None
    assert any("no price" in note for note in unpriced.notes)


def test_the_cost_of_a_judge_is_unknown_without_an_earlier_evaluation(tmp_path: Path) -> None:
    judged = estimate(tmp_path, "evaluators=[answer,rag_eval]", "models.judge.provider=fake").judging
    assert list(judged) == ["rag_eval"]
    assert (judged["rag_eval"].calls, judged["rag_eval"].basis) == (None, "unknown")
    paid = ("models.judge_embedder.provider=openai", "models.judge_embedder.model=text-embedding-3-large")
    embedded = estimate(tmp_path, "evaluators=[answer,cosine]", *paid).judging["cosine"]
    assert embedded.usd is None
    assert "no earlier evaluation by this evaluator and embedder" in embedded.notes
    assert estimate(tmp_path, "evaluators=[answer,cosine]").judging == {}


@pytest.mark.usefixtures("workers_here")
def test_a_finished_run_is_judged_anew_by_another_judge_and_other_parameters(tmp_path: Path) -> None:
    fake = ("evaluators=[rag_eval]", "models.judge.provider=fake", "models.judge.model=one")
    done = ran(tmp_path, *fake)
    evaluate_runs([done.run], plan_evaluation(cell(*fake).config), tmp_path, Reporter(quiet=True))
    assert estimate(tmp_path, *fake).judging == {}
    assert list(estimate(tmp_path, *fake, "models.judge.model=other").judging) == ["rag_eval"]
    assert list(estimate(tmp_path, *fake, "per_evaluator.rag_eval.calls=parallel").judging) == ["rag_eval"]


def test_an_index_that_a_router_lends_is_paid_by_whoever_comes_first(tmp_path: Path) -> None:
    routed = {"system": "naive", "answer": {"top_k": 3}}
    policy = {"routes": {"comparison": routed}, "otherwise": {"system": "naive"}, "classifier": "rules"}
    found = cells("systems=[naive,router]", f"per_system.router.answer={json.dumps(policy)}")
    first, second = Estimator(tmp_path, load_prices()).estimate_all(found)
    assert (first.index_is_shared, second.index_is_shared) == (False, True)


def test_a_system_that_says_nothing_is_unknown(tmp_path: Path) -> None:
    silent = replace(cell(), spec=replace(cell().spec, expect=None))
    found = Estimator(tmp_path, load_prices()).estimate(silent)
    assert (found.expected, found.index.calls, found.answer.calls, found.answer.usd) == (None,) * 4


def routed(classifier: str, **answer: int) -> str:
    small, large = {"system": "naive", "answer": answer}, {"system": "naive", "index": {"chunk_size": 400}}
    policy = {"routes": {"comparison": small, "temporal": small}, "otherwise": large, "classifier": classifier}
    return f"per_system.router.answer={json.dumps(policy)}"


def test_a_router_is_expected_to_take_what_its_dearest_route_takes_and_each_index_once(tmp_path: Path) -> None:
    by_rules = estimate(tmp_path, "systems=[router]", routed("rules", top_k=50))
    dearest = estimate(tmp_path, "systems=[naive]", "answer.top_k=50")
    other = estimate(tmp_path, "systems=[naive]", "index.chunk_size=400")
    assert by_rules.answer.calls == dearest.answer.calls
    assert most(by_rules.answer.input_tokens) == most(dearest.answer.input_tokens)
    assert by_rules.expected and dearest.expected and other.expected
    parts = (dearest.expected.index.embedded_texts, other.expected.index.embedded_texts)
    assert by_rules.expected.index.embedded_texts == sum(parts)
    assert "an upper bound: every query goes to naive top_k=50" in by_rules.answer.notes
    by_model = estimate(tmp_path, "systems=[router]", routed("model", top_k=50))
    assert by_model.answer.calls == 2 * 4, "it also asks for the type of each query"
    assert most(by_model.answer.input_tokens) > most(by_rules.answer.input_tokens)


def test_a_run_saves_its_estimate_and_prints_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = cell()
    run, heard = open_run(planned, tmp_path), Heard()
    with monkeypatch.context() as patch:
        patch.setattr(estimating.Estimator, "estimate", broken)
        keep_estimate(planned, run, load_prices(), heard)
    assert heard.lines == ["  note: no estimate (ZeroDivisionError: no such rate)"], "a mistake stops no run"
    assert run.estimate() is None
    say_total([planned], Estimator(tmp_path, load_prices()), heard)
    keep_estimate(planned, run, load_prices(), heard)
    kept = run.estimate()
    assert kept == Estimator(tmp_path, load_prices()).estimate(planned)
    assert "estimate" in heard.lines[1] and "$0.00" in heard.lines[1]
    before = (run.path / "estimate.json").read_bytes()
    run.write_estimate(kept.model_copy(update={"n_left": 0}))
    keep_estimate(planned, run, load_prices(), heard)
    assert (run.path / "estimate.json").read_bytes() == before
    assert len(heard.lines) == 2


def broken(*_: object) -> None:
    raise ZeroDivisionError("no such\nrate")


def test_damaged_runs_beside_it_are_passed_over(tmp_path: Path) -> None:
    run = open_run(cell("seed=9"), tmp_path)
    (run.path / "index.json").write_text("{")
    (run.path / "calls.sqlite").write_text("no database")
    (run.path / "records.jsonl").write_text("{}\n")
    (tmp_path / "demo--odd--1").mkdir()
    (tmp_path / "demo--odd--1" / "manifest.json").write_text("[]")
    assert estimate(tmp_path).answer.calls == 4


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        ((90, 150), "2 min"),
        ((180, 300), "3-5 min"),
        ((7800, 10_800), "2 h 10 min - 3 h"),
        ((20, 600), "20 s - 10 min"),
    ],
)
def test_the_line_of_a_run_is_a_range(seconds: tuple[float, float], shown: str) -> None:
    def half(low: float, high: float) -> Range:
        return Range(low=low / 2, high=high / 2)

    phase = PhaseEstimate(
        calls=1,
        input_tokens=half(400_000, 400_000),
        output_tokens=half(10_000, 90_000),
        usd=half(1, 2),
        seconds=half(*seconds),
        basis="4 earlier runs",
    )
    found = Estimate(run_id="r", index=phase, answer=phase, n_answers=1, n_left=1)
    assert in_one_line([found]) == f"{shown}, 410,000-490,000 tokens, $1.00-2.00; from 4 earlier runs"


@pytest.mark.parametrize(
    ("minutes", "shown"), [(1, "roughly 4 of 20"), (0.2, "a few of 20"), (16, "16 to 20 of 20"), (20, "")]
)
def test_a_budget_is_said_to_allow_a_number_or_a_narrow_range(minutes: float, shown: str) -> None:
    index = PhaseEstimate(calls=0, seconds=Range(low=0, high=0))
    answers = PhaseEstimate(calls=20, seconds=Range(low=60, high=1200))
    found = Estimate(run_id="r", index=index, answer=answers, n_answers=20, n_left=20)
    allowed = likely_answers(BudgetConfig(minutes=minutes), [found])
    assert allowed.removesuffix(" answers per system") == shown


@pytest.mark.slow
@pytest.mark.usefixtures("workers_here")
def test_the_next_run_is_expected_to_take_what_the_last_one_took(tmp_path: Path) -> None:
    planned = cell("answer.top_k=2")
    keep_estimate(planned, open_run(planned, tmp_path), load_prices(), Heard())
    result = ran(tmp_path, "answer.top_k=2")
    assert result.run.estimate() is not None
    found = estimate(tmp_path, "answer.top_k=2", "limits.query_timeout_s=99")
    used = [record.cost.usage["generator"] for record in result.run.records().values()]
    assert found.answer.basis == "1 earlier run"
    assert found.answer.calls == 4
    for name in ("input_tokens", "output_tokens"):
        measured = sum(getattr(usage, name) for usage in used)
        assert most(getattr(found.answer, name), "low") <= measured <= most(getattr(found.answer, name))
    seconds = sum(record.cost.wall_s or 0.0 for record in result.run.records().values())
    assert most(found.answer.seconds, "low") <= seconds <= most(found.answer.seconds)
    assert found.index_is_built
    assert json.loads((result.run.path / "estimate.json").read_text())["n_left"] == 4
    assert estimate(tmp_path, "answer.top_k=2").n_left == 0


@pytest.mark.usefixtures("workers_here")
def test_vectors_that_are_stored_take_no_time_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever they were made: the cache is the user's."""
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    retrieval = ("models.generator.provider=none", "index.chunk_size=321")
    before = estimate(tmp_path / "new", *retrieval).index.seconds
    planned = cell(*retrieval)
    keep_estimate(planned, open_run(planned, tmp_path / "done"), load_prices(), Heard())
    run = ran(tmp_path / "done", *retrieval).run
    after = estimate(tmp_path / "new", *retrieval).index.seconds
    assert most(before, "low") > 0
    assert most(after, "low") == 0
    assert most(after) < most(before) / 10
    fresh = Estimator(tmp_path / "new", load_prices(), fresh_index=True).estimate(planned)
    assert fresh.index.seconds == before
    # Its formula has calls that a run without a generator does not make.
    took = sum(record.cost.wall_s or 0.0 for record in run.records().values())
    other = estimate(tmp_path / "done", *retrieval, "answer.top_k=3").answer.seconds
    assert most(other, "low") < took < most(other)
    # Of sentences that another system stores besides, nothing is known before they are extracted.
    beside = ("systems=[kg]", "index.extractor=nlp", *retrieval)
    assert most(estimate(tmp_path / "new", *beside).index.seconds) > most(after)


@pytest.mark.usefixtures("workers_here")
def test_calls_of_an_interrupted_build_are_not_left(tmp_path: Path) -> None:
    kg = ("systems=[kg]", "dataset.corpus=cited")
    ran(tmp_path, *kg)
    other = (*kg, "answer.top_k=17")
    assert estimate(tmp_path, *other).index_is_built
    IndexDir(tmp_path, cell(*kg).index_id).forget()
    left = phases_left(estimate(tmp_path, *other))
    assert left["index"].calls == 0
    assert left["answer"].calls == 4


# What an evaluation will take, from earlier ones: the same evaluator, and contexts as long.


JUDGE: dict[str, JsonValue] = {"provider": "fake", "model": "fake"}


def judged(system: str, version: str, calls: int) -> ScoredRun:
    cost = Cost(wall_s=1.0, usage={"judge": Usage(calls=calls)})
    made = EvaluationRecord(evaluator="mine", version=version, models={"judge": JUDGE}, cost=cost)
    return ScoredRun(system=system, scores={"grade": [1.0] * int(version)}, evaluator=made)


@pytest.mark.parametrize(("system", "calls"), [("long", 20), ("short", 5), ("other", 12.5)])
def test_judge_calls_are_those_of_the_same_system(tmp_path: Path, system: str, calls: float) -> None:
    for plan in (judged("long", "2", 20), judged("short", "2", 5), judged("long", "1", 1)):
        write_run(tmp_path / plan.evaluator.version, plan)
    for folder in ("1", "2"):
        for run in (tmp_path / folder).glob("*"):
            run.rename(tmp_path / f"{run.name}-{folder}")
    spec = replace(EVALUATORS.load("answer"), name="mine", version="2", params=Params)
    planned = PlannedEvaluator(spec, Params())
    earlier = EarlierRuns(tmp_path).judged(planned, system, {"judge": JUDGE})
    task = Task(units=2, work=None, rates=Rates(), earlier=earlier, price=lambda _: 0.0, embedder_is_metered=True)
    assert predict(task).calls == calls
