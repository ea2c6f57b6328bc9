"""Cards: RAGChecker's published figures from its own files, and what a card says of scores that say nothing."""

import json
from collections.abc import Mapping, Sequence
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
from harness.extensions.meta_evaluation.labelled_sets import load_set
from harness.extensions.meta_evaluation.validate import card_values
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
