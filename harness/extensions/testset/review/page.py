"""The data of the review page."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from harness.core.errors import ConfigError
from harness.datasets.question_files.row_validation import AskedQuote
from harness.extensions.testset.review.decisions import AskedDecision, Review, ReviewedRow
from harness.extensions.testset.review.edit_checks import RowWords, verdicts
from harness.extensions.web.pages import LocalPage, framed
from harness.store.atomic_files import first_error

_ASSETS = Path(__file__).parent / "assets"
_AROUND = 400
"""Characters of the document shown on each side of a quote."""


def review_page(review: Review) -> LocalPage:
    """Every question of a file, to accept, edit or reject; decisions are kept at once."""

    def decide(body: bytes) -> object:
        try:
            asked = AskedDecision.model_validate_json(body)
        except ValidationError as error:
            raise ConfigError(first_error(error)) from error
        review.decide(asked.id, asked.verdict, asked.edit, asked.version)
        return _whole(review, asked.id)

    def rows(_asked: object) -> object:
        review.refresh()
        return [_shown(one) for one in review.rows]

    def row(asked: Mapping[str, str]) -> object:
        review.refresh()
        return _whole(review, asked.get("id", ""))

    gets = {"/rows": rows, "/row": row}
    return framed("Review of questions", _ASSETS, "review", gets, {"/decide": decide})


def _shown(one: ReviewedRow) -> dict[str, object]:
    """The fields of a row in the list."""
    return {
        "id": one.row_id,
        "question": one.row.get("question", ""),
        "type": one.row.get("type", ""),
        "state": "rejected" if one.is_rejected else "seen" if one.is_seen else "new",
    }


def _whole(review: Review, row_id: str) -> dict[str, object]:
    """What the page shows of a row."""
    one = review.find(row_id)
    words = RowWords.of(one.row)
    row = {name: one.row.get(name) for name in ("type", "made_by", "seen_by", "checks")}
    quotes = [_quote(review, item) for item in words.evidence]
    said = {"question": words.question, "answers": words.answers, "quotes": quotes}
    warnings = [
        f"{check.name}: {check.note}" for check in verdicts(one.row, review.documents) if check.passed is False
    ]
    state = {"version": one.version, "times_read": review.times_read, "told": review.take_told()}
    return {**_shown(one), **row, **said, **state, "edited": one.is_edited, "warnings": warnings}


def _quote(review: Review, item: AskedQuote) -> dict[str, str]:
    """The quote as in the row, with its surroundings in the document."""
    placed = review.documents.placed(item)
    document = review.documents.by_id.get(placed.doc_id)
    text = document.text if document else ""
    at = text.find(placed.fact) if placed.fact else -1
    end = at + len(placed.fact)
    return {
        "document": item.document,
        "quote": item.quote,
        "title": document.title if document else "",
        "before": text[max(0, at - _AROUND) : at] if at >= 0 else "",
        "after": text[end : end + _AROUND] if at >= 0 else "",
    }
