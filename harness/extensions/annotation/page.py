"""The data of the labelling page. It contains no run, no system and no score."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from harness.core.errors import ConfigError
from harness.core.records import Dimension, Record
from harness.extensions.annotation.labelling_session import LabellingSession
from harness.extensions.annotation.sampled_answers import ShownAnswer
from harness.extensions.annotation.scales import SCALES, asked_of
from harness.extensions.web.pages import LocalPage, framed
from harness.store.atomic_files import first_error

_ASSETS = Path(__file__).parent / "assets"


class SubmittedLabel(Record):
    """A label or a note sent by the page."""

    id: str
    dimension: Dimension | None
    says: Literal["label", "cannot_tell", "nothing", "note"]
    label: int | None = Field(None, ge=1, le=5)
    note: str = Field("", max_length=4_000)


def annotation_page(desk: LabellingSession) -> LocalPage:
    """Every sampled item, by keys; labels are kept at once."""

    def say(body: bytes) -> object:
        try:
            said = SubmittedLabel.model_validate_json(body)
        except ValidationError as error:
            raise ConfigError(first_error(error)) from error
        item = desk.find(said.id)
        _keep(desk, item, said)
        return _whole(desk, item)

    gets = {
        "/items": lambda _asked: [
            {"id": one.item_id, "complete": desk.is_complete(one)} for one in desk.drawn.items
        ],
        "/item": lambda asked: _whole(desk, desk.find(asked.get("id", ""))),
    }
    return framed("Labels of answers", _ASSETS, "annotate", gets, {"/say": say})


def _keep(desk: LabellingSession, item: ShownAnswer, said: SubmittedLabel) -> None:
    if said.says == "note":
        desk.keep([desk.note(item, said.note.strip())])
    elif said.dimension is None or (said.says == "label") != (said.label is not None):
        raise ConfigError("a label is a number from 1 to 5, of one dimension", "reload the page")
    else:
        kept = desk.label(item, said.dimension, said.label, cannot_tell=said.says == "cannot_tell")
        desk.keep([kept])


def _whole(desk: LabellingSession, item: ShownAnswer) -> dict[str, object]:
    """What the page shows of one item."""
    said, asked = desk.labels_of(item), {scale.dimension for scale in asked_of(item.prediction)}
    note = said.get(None)
    return {
        "id": item.item_id,
        "question": item.row.query.text,
        "reference": list(item.row.reference.answers),
        "answer": item.prediction.answer,
        "contexts": [context.text for context in item.prediction.contexts],
        "note": note.note if note else "",
        "complete": desk.is_complete(item),
        "scales": [
            {
                "dimension": scale.dimension,
                "title": scale.title,
                "asks": scale.asks,
                "anchors": scale.anchors,
                "label": said[scale.dimension].label if scale.dimension in said else None,
                "cannot_tell": scale.dimension in said and said[scale.dimension].cannot_tell,
            }
            for scale in SCALES
            if scale.dimension in asked
        ],
    }
