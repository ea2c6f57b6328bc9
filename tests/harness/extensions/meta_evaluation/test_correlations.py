import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from paired_runs import FAILED, IMPUTED, NOT_APPLICABLE, ScoredRun, write_run

from harness.core.errors import ConfigError, DataError, StoreError
from harness.core.records import Cost, EvaluationRecord
from harness.extensions.meta_evaluation.correlation_columns import (
    LabelSheet,
    ValueColumns,
    measured_columns,
    parse_scale,
    read_labels,
    with_labels,
)
from harness.extensions.meta_evaluation.correlation_output import correlation_data, correlation_sections
from harness.extensions.meta_evaluation.correlations import (
    CorrelationFindings,
    correlate_columns,
    fit_weights,
    weights_section,
)
from harness.store import RunDir

N = 40
RNG = random.Random(4)
X: list[float | str] = [RNG.random() for _ in range(N)]
Y: list[float | str] = [float(value) + RNG.gauss(0, 0.3) for value in X]
Z: list[float | str] = [RNG.random() for _ in range(N)]


def run_with(results: Path, system: str = "s", judge: str = "", **scores: list[float | str]) -> RunDir:
    made = EvaluationRecord(evaluator="answer", version="1", cost=Cost(wall_s=0.0))
    made = made.model_copy(update={"models": {"judge": {"model": judge}} if judge else {}})
    return write_run(results, ScoredRun(system=system, scores=scores, evaluator=made, types=("a", "b")))


def columns_of(results: Path, **scores: list[float | str]) -> ValueColumns:
    return measured_columns([run_with(results, "s", "", **scores)])


def labelled(folder: Path, columns: ValueColumns, *lines: str) -> ValueColumns:
    path = folder / "labels.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return with_labels(columns, read_labels(path))


def notes(findings: CorrelationFindings) -> str:
    return "\n".join(correlation_sections(findings)[0].content.items)


def test_two_measures_are_correlated_over_all_computed_values_and_by_type(tmp_path: Path) -> None:
    spoilt = [FAILED, NOT_APPLICABLE, IMPUTED, *Y[3:]]
    findings = correlate_columns(columns_of(tmp_path, x=X, y=spoilt), "type")
    (pair,) = findings.pairs
    assert (pair.n, pair.n_of, pair.n_clusters) == (N - 3, N, N - 3)
    assert pair.found is not None
    assert pair.found.pearson.value is not None
    assert pair.found.pearson.value > 0.5
    assert [(part.part, part.n) for part in findings.parts] == [("a", 18), ("b", 19)]


def test_a_query_type_called_all_is_a_part_of_the_answers(tmp_path: Path) -> None:
    run = write_run(tmp_path, ScoredRun(scores={"x": X, "y": Y}, types=("all", "b")))
    findings = correlate_columns(measured_columns([run]), "type")
    assert [pair.n for pair in findings.pairs] == [N]
    assert [(part.part, part.n) for part in findings.parts] == [("all", N // 2), ("b", N // 2)]


def test_means_of_answers_with_high_and_low_values_and_deviations_are_given(tmp_path: Path) -> None:
    columns = columns_of(tmp_path, x=[0.9, 0.6, 0.4, 0.1] * 10, y=[0.75, 0.5, 0.5, 0.43] * 10)
    data = correlation_data(correlate_columns(columns))
    assert data["groups"] == [{"one": "x", "other": "y", "high": 0.75, "n_high": 10, "low": 0.43, "n_low": 10}]
    assert data["columns"]["x"]["mean"] == pytest.approx(0.5)
    assert data["columns"]["x"]["deviation"] == pytest.approx((0.085 * 40 / 39) ** 0.5)


def test_answers_of_all_runs_to_a_query_are_in_the_cluster_of_its_document(tmp_path: Path) -> None:
    runs = [run_with(tmp_path, name, x=X, y=Y) for name in ("s", "t")]
    (pair,) = correlate_columns(measured_columns(runs)).pairs
    assert (pair.n, pair.n_clusters) == (2 * N, N)
    queries = [f"q{number:03d}" for number in range(N)]
    cites = ["d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"] * 5
    whole = write_run(tmp_path, ScoredRun("u", {"x": X, "y": Y}, queries, cites=cites))
    some = {"x": X[:20], "y": Y[:20]}
    part = write_run(tmp_path, ScoredRun("v", some, queries[:20], cites=cites[:20], digest="e" * 64))
    (pair,) = correlate_columns(measured_columns([whole, part])).pairs
    assert (pair.n, pair.n_clusters) == (N + 20, 8)


def test_constant_and_perfect_columns_are_explained_and_no_number_is_nan(tmp_path: Path) -> None:
    findings = correlate_columns(columns_of(tmp_path, x=X, y=X, z=[0.5] * N))
    assert notes(findings).startswith("z is 0.5 for all 40 answers")
    data = correlation_data(findings)
    same, *constant = (pair["spearman"] for pair in data["pairs"])
    assert same == {"value": 1.0, "low": None, "high": None}
    assert constant == [None, None]
    assert "NaN" not in json.dumps(data)


def test_too_few_answers_different_judges_and_lost_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="9 answers with both"):
        correlate_columns(columns_of(tmp_path, x=X[:9], y=Y[:9]))
    runs = [run_with(tmp_path, judge, judge, x=X, y=Y) for judge in ("m1", "m2")]
    with pytest.raises(ConfigError, match="different judges, versions or parameters"):
        measured_columns(runs)
    records = runs[0].path / "records.jsonl"
    records.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:5]))
    with pytest.raises(StoreError, match=r"records\.jsonl"):
        measured_columns(runs[:1])


def test_labels_are_correlated_with_every_measure_and_measures_not_with_each_other(tmp_path: Path) -> None:
    rows = [f"q{number:03d},{round(5 * float(value))}" for number, value in enumerate(X)]
    columns = labelled(tmp_path, columns_of(tmp_path, x=X, y=Y), "query_id,grade", *rows, "q999,3")
    findings = correlate_columns(columns)
    assert [(pair.one, pair.other) for pair in findings.pairs] == [("x", "grade"), ("y", "grade")]
    assert "labels of answers that these runs do not have: 1" in notes(findings)


@pytest.mark.parametrize(
    ("systems", "lines", "trouble"),
    [
        (("s", "t"), ("query_id,grade", "q001,3"), "which of 2 runs"),
        (("s",), ("query_id,grade", "other,3"), "no label of"),
        (("s",), ("query_id,run,grade", "q001,other,3"), "first: run 'other'"),
    ],
)
def test_labels_of_no_answer_are_refused_with_the_reason(
    tmp_path: Path, systems: tuple[str, ...], lines: tuple[str, ...], trouble: str
) -> None:
    columns = measured_columns([run_with(tmp_path, name, x=X) for name in systems])
    with pytest.raises(ConfigError, match=trouble):
        labelled(tmp_path, columns, *lines)


def test_labels_that_name_a_run_in_two_ways_are_averaged(tmp_path: Path) -> None:
    run = run_with(tmp_path, x=X)
    lines = ("query_id,run,grade", f"q001,{run.run_id},5", f"q001,{run.run_id[-8:]},1")
    columns = labelled(tmp_path, measured_columns([run]), *lines)
    assert columns.column("grade") == [3.0]


def test_the_weights_behind_the_labels_are_found(tmp_path: Path) -> None:
    values = zip(X, Z, strict=True)
    lines = [f"q{number:03d},{5 * (0.7 * float(x) + 0.3 * float(z))}" for number, (x, z) in enumerate(values)]
    columns = labelled(tmp_path, columns_of(tmp_path, x=X, y=Y, z=Z), "query_id,quality", *lines)
    fitted = fit_weights(columns, "quality", (0.0, 5.0))
    assert fitted.weights == pytest.approx({"x": 0.7, "y": 0.0, "z": 0.3}, abs=0.001)
    assert (fitted.answers, fitted.clusters) == (N, N)
    assert fitted.left_out_error < 0.001 < fitted.equal_weights_error
    assert len(weights_section(fitted).content.tables[0].rows) == 3


def test_weights_need_the_label_two_metrics_and_enough_answers(tmp_path: Path) -> None:
    lines = (f"q{number:03d},{number}" for number in range(9))
    few = labelled(tmp_path, columns_of(tmp_path, x=X, y=Y), "query_id,quality", *lines)
    alone = replace(few, measures=("x",))
    for given, label in ((few, "quality"), (few, "qualty"), (alone, "quality")):
        with pytest.raises(ConfigError):
            fit_weights(given, label, None)


def read(folder: Path, *lines: str) -> LabelSheet:
    path = folder / "labels.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_labels(path, (1.0, 5.0))


def test_wide_and_long_sheets_have_the_same_labels(tmp_path: Path) -> None:
    wide = read(tmp_path, "query_id,answer,faithfulness,fluency", "q1,It is 5.,4,", "q2,No.,1,5")
    assert wide.dimensions == ("faithfulness", "fluency")
    assert wide.means("faithfulness") == {("", "q1"): 4.0, ("", "q2"): 1.0}
    long = read(tmp_path, "item,run,dimension,label", "q1,naive,fluency,5", "q2,naive,fluency,Cannot tell")
    assert long.means("fluency") == {("naive", "q1"): 5.0}
    assert wide.n_empty == long.n_empty == 1


def test_labels_of_several_people_are_averaged_and_their_overlap_is_reported(tmp_path: Path) -> None:
    found = read(tmp_path, "query_id,annotator,grade", "q1,ann,4", "q1,ben,2", "q2,ben,1")
    assert found.means("grade") == {("", "q1"): 3.0, ("", "q2"): 1.0}
    assert "2 people, 1 by more than one" in found.said_of("grade")
    apart = read(tmp_path, "query_id,annotator,grade", "q1,ann,4", "q2,ben,1")
    assert "0 by more than one: strict people" in apart.said_of("grade")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("query_id,grade", "q1,6"), "labels.csv line 2: grade '6' is outside the scale 1 to 5"),
        (("query_id,grade", "q1,3", "q2,good"), "line 3: grade 'good' is no number"),
        (("query_id,label", "q1,nan"), "'nan' is no number"),
        (("query_id,grade", "q1,3", "q1,4"), "labels grade of q1 twice"),
        (("query_id,grade", "q1,"), "has no labels"),
        (("query,grade", "q1,3"), "has no column query_id"),
    ],
)
def test_an_invalid_label_is_one_line_that_says_where(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(DataError) as refused:
        read(tmp_path, *lines)
    assert said in str(refused.value)
    with pytest.raises(DataError, match="name a CSV of labels"):
        read_labels(tmp_path / "none.csv")


def test_a_scale_is_two_numbers() -> None:
    assert (parse_scale("1-5"), parse_scale("-2..2"), parse_scale("0..1.5")) == ((1, 5), (-2, 2), (0, 1.5))
    for text in ("5", "5-1", "a-b", "1..nan"):
        with pytest.raises(ConfigError):
            parse_scale(text)
