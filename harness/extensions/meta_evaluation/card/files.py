"""The files of a card. All except values.json can be recreated from it."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from harness.core.bounded_files import read_plain
from harness.core.errors import ConfigError, DataError
from harness.core.hashing import digest
from harness.core.records import Record
from harness.display import Picture
from harness.display.plotting import plotting, publish
from harness.extensions.meta_evaluation.card.build import Card
from harness.extensions.meta_evaluation.card.drawing import card_drawing
from harness.extensions.meta_evaluation.card.tables import card_json, card_tables
from harness.extensions.meta_evaluation.card.values import CardValues
from harness.report.folder import files_together
from harness.report.render.csv import table_csv

VALUES = "values.json"
_MOST_BYTES = 200_000_000


class StoredValues(Record):
    """Values with their digest, from which a card can be rebuilt."""

    digest: str
    values: CardValues


def write_card(card: Card, out: Path) -> Picture | None:
    """Write values.json, card.json, a table per dimension and the figure to `out`; None: nothing to draw."""
    with files_together(out) as folder:
        (folder / VALUES).write_text(_sealed(card.values).model_dump_json(indent=1) + "\n", encoding="utf-8")
        (folder / "card.json").write_text(json.dumps(card_json(card), indent=2) + "\n", encoding="utf-8")
        for table in card_tables(card):
            (folder / f"{table.name}.csv").write_text(table_csv(table), encoding="utf-8")
        with plotting() as new_figure:
            drawing = card_drawing(card, new_figure)
            return publish(drawing, folder) if drawing else None


def read_values(folder: Path) -> CardValues:
    """The values of a card in `folder`; an error of one line if they are missing or changed."""
    path = folder / VALUES
    try:
        text = read_plain(path, _MOST_BYTES)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror or error})", "name the folder of a card"
        ) from error
    fix = "make the card again without --from"
    try:
        found = StoredValues.model_validate_json(text)
    except ValidationError as error:
        raise DataError(f"{path} has no valid values of a card", fix) from error
    if found != _sealed(found.values):
        raise DataError(f"{path} was changed after it was written", fix)
    return found.values


def _sealed(values: CardValues) -> StoredValues:
    return StoredValues(digest=digest(values.model_dump(mode="json")), values=values)
