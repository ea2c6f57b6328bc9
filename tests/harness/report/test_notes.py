"""Warnings: runs that differ in more than their system, seconds and languages, and judges that saw a part."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError
from records import known

from harness.core.records import Cost, EvaluationRecord, Score
from harness.evaluators.retrieval import RetrievalParams
from harness.report import load_chapters
from harness.report.chapter import what_differs
from harness.report.group_notes import group_notes
from harness.report.notes import share_notes
from harness.report.tables.costs import latency_table
from harness.report.view import Group, load_groups
from harness.statistics.columnar_scores import ScoreColumns
from harness.statistics.prices import load_prices
from harness.statistics.run_frame import Frame
from harness.store import Manifest, RunDir

MakeRun = Callable[..., RunDir]
LARGE = {"provider": "openai", "model": "large"}


def with_embedder(manifest: Manifest, embedder: dict[str, Any] | None) -> Manifest:
    """The same run with another embedder, or of a system that embeds nothing."""
    models = {role: model for role, model in manifest.identity["models"].items() if role != "embedder"}
    models |= {"embedder": embedder} if embedder else {}
    return manifest.model_copy(update={"identity": {**manifest.identity, "models": models}})


def test_only_runs_that_call_a_model_must_call_the_same(make_run: MakeRun) -> None:
    naive = make_run().manifest()
    assert list(group_notes([with_embedder(naive, None), naive])) == []
    (note,) = group_notes([with_embedder(naive, None), naive, with_embedder(naive, LARGE)])
    assert note.startswith("The runs differ in embedder.model (minilm, large), embedder.provider (minilm, openai)")


def test_of_a_run_over_a_cluster_it_is_said_that_its_seconds_compare_with_no_others(make_run: MakeRun) -> None:
    run = make_run()
    run.reopen()
    run.keep_cluster_info(6)
    [group] = load_groups([run], load_prices())
    [note] = [note for view in group.views for note in view.notes if "cluster" in note]
    assert "by up to 6 workers at once" in note


def test_the_builder_of_an_index_is_noted_after_warnings_about_numbers(make_run: MakeRun) -> None:
    plans: list[dict[str, Any]] = [
        {"system": "kg", "reused_from": "demo--other"},
        {"notes": ("Rows are missing.",)},
    ]
    for runs in ([make_run(**plan) for plan in plans], [make_run(**plans[0], failing=3)]):
        [chapter] = load_chapters(runs, load_prices())
        *harmful, last = chapter.findings.verdict.caveats
        assert "demo--other" in last
        assert harmful
        assert not [note for note in harmful if "demo--other" in note]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("ใครเป็นผู้บริหารท่าเรือของเมืองหลวงและเมืองอื่นๆ {}", ["Thai"]),
        ("Кто управляет портом столицы и других городов? {}", ["Cyrillic"]),
        ("Wie is de burgemeester van {}?", ["another language"]),
        ("Wer leitet den Hafen von {}?", []),
        ("{} harbour manager name", []),
        ("谁管理首都的港口和其他城市的港口和机场？ {}", []),
    ],
)
def test_a_language_in_which_answers_are_not_understood_is_noted(
    make_run: MakeRun, question: str, named: list[str]
) -> None:
    [group] = load_groups([make_run(question=question)], load_prices())
    notes = [note for view in group.views for note in view.notes if "Hindi" in note]
    assert len(notes) == len(named)
    assert all(name in note for name, note in zip(named, notes, strict=True))


def test_a_latency_that_a_vector_of_an_earlier_query_shortened_is_blamed_on_no_interruption(
    make_run: MakeRun,
) -> None:
    run = make_run()
    first, second = [record for record in run.records().values() if record.status == "ok"][:2]
    run.reopen()
    for record, cost in ((first, {"cached_texts": 3}), (second, {"cached_texts": 3, "replayed_calls": 1})):
        run.append_record(record.model_copy(update={"attempt": 9, "cost": record.cost.model_copy(update=cost)}))
    [group] = load_groups([run], load_prices())
    assert [note for view in group.views for note in view.notes if "left out" in note] == [
        "1 latency left out: calls were replayed after an interruption.",
        "1 latency left out: vectors came from an earlier query, attempt or run.",
    ]


def imported(manifest: Manifest, name: str, model: dict[str, Any] | None = None) -> Manifest:
    models = {"generator": model or {"provider": "imported", "model": name}}
    return manifest.model_copy(update={"identity": {**manifest.identity, "models": models, "imported": {}}})


def test_the_name_of_an_import_is_no_difference_between_models(make_run: MakeRun) -> None:
    naive = make_run().manifest()
    (note,) = group_notes([imported(naive, "alpha"), imported(naive, "bravo")])
    assert "--model" in note
    assert "rag-harness import" in note
    named = [imported(naive, "alpha", {"provider": "openai", "model": model}) for model in ("large", "small")]
    assert next(group_notes(named)).startswith("The runs differ in model (large, small)")
    assert list(group_notes([named[0], named[0]])) == []


def test_seconds_under_other_limits_of_calls_at_once_are_not_to_be_compared(make_run: MakeRun) -> None:
    naive = make_run().manifest()

    def paced(**limits: float) -> Manifest:
        models = {"generator": {"max_concurrency": 8, **limits}}
        return naive.model_copy(update={"config": {**naive.config, "models": models}})

    (note,) = group_notes([paced(), paced(max_concurrency=1)])
    assert note == "The runs asked their generator with max_concurrency (8, 1): do not compare seconds."
    (note,) = group_notes([paced(), paced(requests_per_minute=60.0)])
    assert "requests_per_minute" in note
    assert list(group_notes([paced(), paced()])) == []
    (group,) = load_groups([make_run()], load_prices())
    table = known(latency_table(group))
    assert "Measured with max_concurrency 8 of the generator: other limits give other seconds." in table.note


def evaluated(*measures: str) -> EvaluationRecord:
    params = RetrievalParams().model_dump(mode="json")
    return EvaluationRecord(
        evaluator="retrieval", version="2", params=params, measures=measures, cost=Cost(wall_s=0.0)
    )


def test_a_judge_that_was_shown_a_part_is_named_with_its_share() -> None:
    shares = [0.5, 0.7, 1.0, None]
    scores = [
        Score(query_id=str(at), repeat=0, measure="grade", status="scored", value=1.0, share_read=share)
        for at, share in enumerate(shares)
    ]
    frame = Frame("run", "naive", "demo", dict.fromkeys("0123", "t"), {})
    assert list(share_notes([evaluated("grade")], ScoreColumns.of(frame, scores))) == [
        "retrieval: its judge was shown a part of the contexts in 2 of 3 scores (73 % on average over all): they "
        "say nothing of the rest."
    ]
    assert not list(share_notes([evaluated("grade")], ScoreColumns.of(frame, scores[2:])))


def test_a_score_says_how_much_of_the_contexts_its_judge_read() -> None:
    score = Score(query_id="q", repeat=0, measure="grade", status="scored", value=1.0, explanation="5 of 5")
    assert score.said == "5 of 5"
    assert score.model_copy(update={"share_read": 0.554}).said == "5 of 5; 55 % of the contexts read"
    for share in (-0.1, 1.1):
        with pytest.raises(ValidationError, match="share_read"):
            Score.model_validate({**score.model_dump(), "share_read": share})


def test_a_machine_that_was_busy_with_something_else_is_noted_once(make_run: MakeRun) -> None:
    def group(cores: int) -> Group:
        (found,) = load_groups([make_run(system=name, cores=cores) for name in ("naive", "kg")], load_prices())
        return found

    before, after = group(2), group(64)
    assert len(after.notes) == len(before.notes) + 1
    assert before.views[0].foreign_cpu == pytest.approx(9, abs=6)
    assert after.views[0].foreign_cpu == pytest.approx(34, abs=6)


def test_differences_between_chapters_are_named(make_run: MakeRun) -> None:
    few = {"inference_query": 3}
    runs = [make_run(), make_run(generator={"provider": "none"}), make_run(types=few, digest="e" * 64)]
    named = [what_differs(load_chapters([runs[0], other], load_prices())) for other in runs[1:]]
    assert named == ["with and without a generator", "3 or 20 questions"]
    other = make_run(dataset="uda_qa", digest="f" * 64)
    assert what_differs(load_chapters([runs[0], other], load_prices())) == "different data sets"
