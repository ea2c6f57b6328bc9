"""Cards: RAGChecker's published figures from its own files, and what a card says of scores that say nothing."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from harness.core.errors import ConfigError, DataError
from harness.datasets.local_files import ENV
from harness.extensions.meta_evaluation.card_output import (
    card_json,
    card_sentences,
    card_tables,
    read_values,
    write_card,
)
from harness.extensions.meta_evaluation.labelled_sets import LabelledSet, load_set
from harness.extensions.meta_evaluation.validate import _rows
from harness.extensions.meta_evaluation.validity_card import (
    CardValues,
    LabelledRow,
    MeasuredBy,
    agreement,
    build_card,
)

PUBLISHED = {
    "correctness": (0.6367, 0.4966),
    "completeness": (0.7191, 0.6067),
    "overall": (0.7009, 0.6193),
}
"""RAGChecker (Ru et al. 2024): one person with another, and its own scores with one person."""


def values_of(human: LabelledSet) -> CardValues:
    """A card of what came with the set alone."""
    stored = dict.fromkeys(name for one in human.dimensions for name in one.stored)
    return CardValues(
        name=human.name,
        title=human.title,
        notes=human.notes,
        dimensions={one.name: one.title for one in human.dimensions},
        binary=tuple(one.name for one in human.dimensions if one.is_binary),
        measures=tuple(MeasuredBy(name=name) for name in stored),
        rows=tuple(row for one in human.dimensions for row in _rows(one, {}, {})),
        models={},
    )


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


def rising() -> CardValues:
    """A metric that mostly agrees with two people."""
    labels = [(float(n % 5), float((2 * n) % 5)) for n in range(20)]
    return made({"rising": [n % 5 + 0.1 * n for n in range(20)]}, labels)


def test_the_published_figures_of_ragchecker_come_out(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENV, str(data_folder))
    card = build_card(values_of(load_set("ragchecker")))
    for one in card.dimensions:
        people, own = PUBLISHED[one.name]
        assert one.people.pearson.value == pytest.approx(people, abs=5e-5)
        (worth,) = one.measures
        assert worth.one.value == pytest.approx(own, abs=5e-5)
        assert worth.mean.pearson.value is not None
        assert worth.mean.pearson.value > own


def test_a_constant_column_is_said_and_ranks_last() -> None:
    labels = [(float(n % 5),) for n in range(20)]
    card = build_card(made({"flat": [1.0] * 20, "rising": [n % 5 + 0.1 * n for n in range(20)]}, labels))
    assert [one.measure.name for one in card.dimensions[0].measures] == ["rising", "flat"]
    assert any("so no correlation: flat" in line for line in card_sentences(card))
    assert any("the agreement of people is unknown" in line for line in card_sentences(card))


def test_a_measure_that_leaves_rows_out_is_also_held_against_all() -> None:
    labels = [(float(n % 5), float((n + 1) % 5)) for n in range(30)]
    column: list[float | None] = [n % 5 + 0.01 * n if n % 5 else None for n in range(30)]
    (worth,) = build_card(made({"picky": column}, labels)).dimensions[0].measures
    assert (worth.n, worth.of) == (24, 30)
    assert worth.filled.value is not None
    assert worth.filled.value != worth.mean.pearson.value


def test_people_who_never_differ_have_no_correlation_and_no_measure_has() -> None:
    card = build_card(made({"any": [float(n) for n in range(12)]}, [(4.0, 4.0)] * 12))
    assert card.dimensions[0].people.pearson.value is None
    assert card.dimensions[0].measures[0].mean.pearson.value is None
    assert any("never differ" in line for line in card_sentences(card))


def test_a_card_is_made_again_byte_for_byte_from_its_values(tmp_path: Path) -> None:
    write_card(build_card(rising()), tmp_path / "one")
    write_card(build_card(read_values(tmp_path / "one")), tmp_path / "two")
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    assert {str(one) for one in files} >= {"values.json", "card.json", "made_good.csv", "figures/correlations.svg"}
    assert all((tmp_path / "one" / one).read_bytes() == (tmp_path / "two" / one).read_bytes() for one in files)


def test_tables_and_json_show_the_same_numbers() -> None:
    card = build_card(rising())
    (table,) = card_tables(card)
    shown = dict(zip(table.header, table.rows[0], strict=True))
    (said,) = card_json(card)["dimensions"][0]["measures"]
    assert getattr(shown["Pearson"], "value", None) == said["pearson"]["value"]
    assert getattr(shown["one person"], "low", None) == said["pearson_one_person"]["low"]


def test_values_that_are_not_there_or_are_none_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_values(tmp_path)
    (tmp_path / "values.json").write_text("[]")
    with pytest.raises(DataError, match="has no valid values of a card"):
        read_values(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values["rows"][0]["labels"].__setitem__(0, 9000.0),
        lambda values: values["rows"][0]["scores"].update(rising=1.0),
        lambda values: values.update(name="../../elsewhere"),
        lambda values: values["rows"].append({**values["rows"][0], "row_id": "new"}),
    ],
)
def test_values_that_were_edited_are_refused(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    write_card(build_card(rising()), tmp_path)
    sealed = json.loads((tmp_path / "values.json").read_text())
    change(sealed["values"])
    (tmp_path / "values.json").write_text(json.dumps(sealed))
    with pytest.raises(DataError, match=r"was changed after it was written|has no valid values"):
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
def test_values_name_files_within_their_folder_and_each_thing_once(wrong: dict[str, Any]) -> None:
    row = {"dimension": "good", "row_id": "1", "question_id": "1", "labels": [1.0], "scores": {}, "filled": {}}
    values = {**made({}, []).model_dump(mode="json"), "rows": [row]}
    CardValues.model_validate_json(json.dumps(values))
    if "rows" in wrong:
        wrong = {"rows": [{**row, **one} for one in wrong["rows"]]}
    with pytest.raises(ValidationError):
        CardValues.model_validate_json(json.dumps({**values, **wrong}))


# What people say and what scores say, by question.


def columns(n: int, seed: int = 0) -> tuple[list[float], list[float]]:
    random = np.random.default_rng(seed)
    x = random.integers(0, 6, n).astype(float)
    return list(x), list(np.round(x + random.normal(0, 2, n)))


def test_rows_that_are_written_thrice_are_no_more_questions() -> None:
    x, y = columns(40)
    names = [str(place) for place in range(120)]
    asked = ((x, y, names[:40]), (3 * x, 3 * y, 3 * names[:40]), (3 * x, 3 * y, names))
    once, thrice, more = (np.ptp(np.array(agreement(*rows).pearson.interval, float)) for rows in asked)
    assert thrice == pytest.approx(once, rel=0.01)
    assert more < 0.7 * once


def test_an_interval_holds_the_truth_nine_times_of_ten_at_thirty_questions_of_three_rows() -> None:
    held = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        shared = np.repeat(random.normal(size=(30, 2)) @ np.array([[1, 0.5], [0, 0.75**0.5]]), 3, axis=0)
        x, y = (shared + 0.5 * random.normal(size=shared.shape)).T
        low, high = agreement(list(x), list(y), [str(n // 3) for n in range(90)]).pearson.interval
        assert low is not None
        assert high is not None
        held += low <= 0.5 / 1.25 <= high
    assert held >= 90
