"""Labelled sets and their cards: the real files, faulty ones, RAGChecker's published figures, what a card says of
scores that say nothing, and `rag-harness validate` on a small set.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from pydantic import ValidationError
from typer.testing import CliRunner

from harness.core.errors import ConfigError, DataError, HarnessError
from harness.datasets.local_files import ENV
from harness.extensions.meta_evaluation.card_output import (
    card_json,
    card_sentences,
    card_tables,
    read_values,
    write_card,
)
from harness.extensions.meta_evaluation.commands import validate
from harness.extensions.meta_evaluation.labelled_sets import SETS, load_set
from harness.extensions.meta_evaluation.validate import card_values
from harness.extensions.meta_evaluation.validity_card import (
    CardValues,
    LabelledRow,
    MeasuredBy,
    agreement,
    build_card,
)

Row = dict[str, Any]
SHAPES = {
    "ragchecker": (560, 280, ["correctness", "completeness", "overall"], {2}),
    "clapnq": (300, 100, ["faithfulness", "answer_relevance", "fluency"], {3}),
    "neural_bridge": (100, 100, ["quality"], {1}),
    "ms_marco_hard": (400, 200, ["relevance"], {1}),
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of labelled sets, in the data folder."""
    folder = tmp_path / "data" / "human_eval"
    folder.mkdir(parents=True)
    monkeypatch.setenv(ENV, str(folder.parent))
    return folder


def pair(number: int, label: object = 1, second: object = 2) -> list[Row]:
    """A pair of answers as two people compared it: the second is the longer part of the reference."""
    words = [f"word{number}{place}" for place in range(6)]
    sides = {"model1": words[: 1 + number % 3], "model2": words[: 2 + number % 4]}
    row = {
        "instance_id": number,
        "query": f"What is {number}?",
        "gt_answer": " ".join(words),
        **{side: {"model_name": side, "response": " ".join(said)} for side, said in sides.items()},
    }
    names = ("correctness", "completeness", "overall")
    return [{**row, **{f"{name}_label": value for name in names}} for value in (label, second)]


def write_pairs(data: Path, *pairs: Sequence[Row]) -> None:
    rows = list(chain.from_iterable(pairs))
    (data / "ragchecker_human_labeled_data.json").write_text(json.dumps(rows), encoding="utf-8")


def write_graded(data: Path, *changes: Row) -> None:
    """A row of graded answers for each change of a good one."""
    good = {"question": "Who?", "answer": "She.", "contexts": "['A context.']", "ground_truth": "A truth."}
    with (data / "neural_bridge_rag_human_eval_100.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(
            file, ["qa_index", *good, "Human label", "answer_correctness", "context_relevancy"]
        )
        writer.writeheader()
        for number, change in enumerate(changes):
            scores = {"answer_correctness": "", "context_relevancy": "0.5"}
            writer.writerow({"qa_index": number, **good, "Human label": 1 + number % 5, **scores, **change})


@pytest.mark.parametrize("name", SETS)
def test_the_real_files_have_the_published_counts(
    name: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENV, str(data_folder))
    human = load_set(name)
    people = {len(row.labels) for one in human.dimensions for row in one.rows}
    found = (len(human.items), len(human.question_ids), [one.name for one in human.dimensions], people)
    assert found == SHAPES[name]
    known = {item.item_id for item in human.items}
    assert {item for one in human.dimensions for row in one.rows for item in row.item_ids} <= known


def test_missing_labels_are_counted_and_the_other_persons_are_kept(data: Path) -> None:
    write_pairs(data, *map(pair, range(11)), pair(11, None), pair(12, None, ""))
    human = load_set("ragchecker")
    assert [len(row.labels) for row in human.dimensions[2].rows] == [2] * 11 + [1]
    assert "2 pairs with a missing label of overall" in human.notes
    write_graded(data, *[{}] * 12, {"Human label": " "})
    human = load_set("neural_bridge")
    assert (len(human.dimensions[0].rows), human.notes) == (12, ("1 answers with a missing label of quality",))


@pytest.mark.parametrize("label", [3, "good", True, "nan"])
def test_a_label_outside_its_scale_is_one_line_that_names_the_row(data: Path, label: object) -> None:
    write_pairs(data, pair(0), pair(1, label))
    with pytest.raises(DataError, match=r"row 3: the label .* is not from -2 to 2"):
        load_set("ragchecker")


def test_people_who_were_shown_different_texts_are_refused(data: Path) -> None:
    rows = pair(0)
    rows[1]["gt_answer"] = "Another."
    write_pairs(data, rows)
    with pytest.raises(DataError, match="different texts"):
        load_set("ragchecker")


@pytest.mark.parametrize("contexts", ["open('x')", "[1]", "['a'"])
def test_contexts_that_are_no_list_of_texts_are_refused_and_never_run(data: Path, contexts: str) -> None:
    write_graded(data, {}, {"contexts": contexts})
    with pytest.raises(DataError, match=r"line 3: field 'contexts' is no list of texts"):
        load_set("neural_bridge")


def test_passages_that_numpy_printed_without_commas_are_several_contexts(data: Path) -> None:
    write_graded(data, {"contexts": "['One passage.'\n 'Another one.']"})
    assert load_set("neural_bridge").items[0].contexts == ("One passage.", "Another one.")


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("name", SETS)
def test_a_missing_file_is_one_line_with_the_way_out(name: str) -> None:
    with pytest.raises(DataError, match=f"(?s)is not there.*{ENV}"):
        load_set(name)


def test_a_part_of_a_set_is_whole_questions_by_seed_and_at_least_ten(data: Path) -> None:
    write_pairs(data, *map(pair, range(30)))
    human = load_set("ragchecker")
    part = human.drawn(12)
    assert part.question_ids == human.drawn(12).question_ids != human.drawn(12, seed=1).question_ids
    assert (len(part.items), [len(one.rows) for one in part.dimensions]) == (24, [12, 12, 12])
    assert human.drawn(30) is human
    write_pairs(data, *map(pair, range(9)))
    with pytest.raises(DataError, match="fewer than 10"):
        load_set("ragchecker").drawn(None)


# Cards.


PUBLISHED = {
    "correctness": (0.6367, 0.4966),
    "completeness": (0.7191, 0.6067),
    "overall": (0.7009, 0.6193),
}
"""RAGChecker (Ru et al. 2024): one person with another, and its own scores with one person."""


def made(scores: Mapping[str, Sequence[float | None]], labels: Sequence[tuple[float, ...]]) -> CardValues:
    """A card of these columns; None: not scored."""
    rows = [
        LabelledRow(
            dimension="good",
            row_id=str(place),
            question_id=str(place),
            labels=given,
            scores={name: value for name, column in scores.items() if (value := column[place]) is not None},
            filled={name: 0.0 for name, column in scores.items() if column[place] is None},
        )
        for place, given in enumerate(labels)
    ]
    measures = tuple(MeasuredBy(name=name, evaluator="ours", n_items=len(labels)) for name in scores)
    return CardValues(
        name="made",
        title="Made",
        notes=(),
        dimensions={"good": "is it good"},
        binary=(),
        measures=measures,
        rows=tuple(rows),
        models={},
    )


RISING = [n % 5 + 0.1 * n for n in range(20)]
"""Scores that mostly agree with two people."""


def rising() -> CardValues:
    return made({"rising": RISING}, [(float(n % 5), float((2 * n) % 5)) for n in range(20)])


def test_the_published_figures_of_ragchecker_come_out(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENV, str(data_folder))
    card = build_card(card_values(load_set("ragchecker"), [], {}, {}))
    for one in card.dimensions:
        people, own = PUBLISHED[one.name]
        assert one.people.pearson.value == pytest.approx(people, abs=5e-5)
        (worth,) = one.measures
        assert worth.one.value == pytest.approx(own, abs=5e-5)
        assert worth.mean.pearson.value is not None
        assert worth.mean.pearson.value > own


def test_a_constant_column_is_named_and_ranks_last() -> None:
    card = build_card(made({"flat": [1.0] * 20, "rising": RISING}, [(float(n % 5),) for n in range(20)]))
    (dimension,) = card.dimensions
    assert [(one.measure.name, one.is_constant) for one in dimension.measures] == [
        ("rising", False),
        ("flat", True),
    ]
    assert not dimension.has_people
    assert any(line.endswith(": flat") for line in card_sentences(card))


def test_a_measure_that_leaves_rows_out_is_also_compared_over_all_rows() -> None:
    labels = [(float(n % 5), float((n + 1) % 5)) for n in range(20)]
    column = [value if n % 5 else None for n, value in enumerate(RISING)]
    (validity,) = build_card(made({"picky": column}, labels)).dimensions[0].measures
    assert (validity.n, validity.of) == (16, 20)
    assert validity.filled.value is not None
    assert validity.filled.value != validity.mean.pearson.value


def test_people_who_never_differ_have_no_correlation_and_no_measure_has() -> None:
    card = build_card(made({"rising": RISING}, [(4.0, 4.0)] * 20))
    (dimension,) = card.dimensions
    assert dimension.people.pearson.value is dimension.measures[0].mean.pearson.value is None
    assert next(card_sentences(card)).startswith("good: 20 rows of 20 questions")


def test_a_card_is_recreated_byte_for_byte_from_its_values(tmp_path: Path) -> None:
    card = build_card(rising())
    write_card(card, tmp_path / "one")
    write_card(build_card(read_values(tmp_path / "one")), tmp_path / "two")
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    assert {str(one) for one in files} >= {"values.json", "card.json", "made_good.csv", "figures/correlations.svg"}
    assert all((tmp_path / "one" / one).read_bytes() == (tmp_path / "two" / one).read_bytes() for one in files)
    # The table shows the numbers of the JSON.
    (table,) = card_tables(card)
    shown = dict(zip(table.header, table.rows[0], strict=True))
    (said,) = card_json(card)["dimensions"][0]["measures"]
    assert getattr(shown["Pearson"], "value", None) == said["pearson"]["value"]
    assert getattr(shown["one person"], "low", None) == said["pearson_one_person"]["low"]


def test_missing_damaged_and_edited_values_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_values(tmp_path)
    (tmp_path / "values.json").write_text("[]")
    with pytest.raises(DataError, match="has no valid values"):
        read_values(tmp_path)
    write_card(build_card(rising()), tmp_path)
    sealed = json.loads((tmp_path / "values.json").read_text())
    row = sealed["values"]["rows"][0]
    for change in ({"rows": [{**row, "labels": [9000.0, 1.0]}]}, {"rows": [{**row, "scores": {}}]}):
        (tmp_path / "values.json").write_text(json.dumps({**sealed, "values": {**sealed["values"], **change}}))
        with pytest.raises(DataError, match="was changed after it was written"):
            read_values(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "../../elsewhere"},
        {"dimensions": {"a/b": "is it good"}},
        {"rows": [{"labels": []}]},
        {"rows": [{}, {}]},
        {"rows": [{"dimension": "another"}]},
        {"measures": [{"name": "x"}, {"name": "x"}]},
        {"measures": [{"name": "x", "n_failed": -1}]},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_values_name_files_within_their_folder_and_each_measure_and_row_once(wrong: dict[str, Any]) -> None:
    row = {"dimension": "good", "row_id": "1", "question_id": "1", "labels": [1.0], "scores": {}, "filled": {}}
    values = {**made({}, []).model_dump(mode="json"), "rows": [row]}
    assert CardValues.model_validate_json(json.dumps(values)).rows
    if "rows" in wrong:
        wrong = {"rows": [{**row, **one} for one in wrong["rows"]]}
    with pytest.raises(ValidationError):
        CardValues.model_validate_json(json.dumps({**values, **wrong}))


def test_more_rows_of_the_same_questions_do_not_narrow_an_interval() -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 6, 40).astype(float)
    rows = [(one, round(one + random.normal(0, 2)), str(place)) for place, one in enumerate(x)]
    more = [(one, other, str(place)) for place, (one, other, _) in enumerate(3 * rows)]
    once, thrice, narrow = (
        np.ptp(np.array(agreement(own).pearson.interval, float)) for own in (rows, 3 * rows, more)
    )
    assert thrice == pytest.approx(once, rel=0.01)
    assert narrow < 0.7 * once


# The command.


APP = typer.Typer()
APP.command()(validate)


@pytest.fixture
def labelled(data: Path) -> None:
    """Twelve pairs, the better answer with more of the reference; one person differs at times."""
    longer = [1 + n % 4 - n % 3 for n in range(12)]
    write_pairs(data, *(pair(n, min(2, more), min(2, more - 1 + n % 2)) for n, more in enumerate(longer)))


def called(*words: str) -> str:
    result = CliRunner().invoke(APP, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.usefixtures("labelled")
def test_a_set_is_scored_and_its_card_printed_and_written(tmp_path: Path) -> None:
    where = ("--results", str(tmp_path / "results"))
    said = json.loads(called("-e", "answer", "--json", "--quiet", *where))
    overall = said["dimensions"][2]
    found = {one["measure"]: one for one in overall["measures"]}
    assert overall["rows"] == 12
    assert found["token_f1"]["pearson_one_person"]["value"] > 0.5
    assert found["accuracy"]["constant"]
    out = tmp_path / "results" / "validity" / "ragchecker"
    assert (out / "figures" / "correlations.svg").is_file()
    text = called("--from", str(out))
    assert "which answer is better" in text
    assert "one person with another" in text


@pytest.mark.usefixtures("labelled")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "5"], "fewer than 10 questions"),
        (["--judge", "local", "--no-judge"], "--no-judge"),
        (["--from", "nowhere", "-e", "answer"], "drop -e"),
        (["-e", "anser"], "did you mean 'answer'"),
        (["--judge", "nobody/at-all"], "nobody"),
        (["--set-name", "clapnqa"], "did you mean 'clapnq'"),
    ],
)
def test_wrong_options_are_one_line_before_anything_is_scored(tmp_path: Path, words: list[str], said: str) -> None:
    with pytest.raises(HarnessError, match=said):
        called(*words, "--results", str(tmp_path / "results"))
    assert not (tmp_path / "results").exists()
