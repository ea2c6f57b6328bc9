"""`rag-harness review`: the page, and the sheet."""

from dataclasses import dataclass
from pathlib import Path

from harness.cli.console import open_console
from harness.core.errors import ConfigError
from harness.display.text_format import counted
from harness.extensions.testset.review.decisions import Review
from harness.extensions.testset.review.session import open_review
from harness.extensions.web.serve import serve_page


@dataclass(frozen=True)
class ReviewOptions:
    """The options of the command."""

    file: Path
    by: str | None = None
    docs: Path | None = None
    port: int = 0
    to_csv: Path | None = None
    from_csv: Path | None = None


def run_review(options: ReviewOptions) -> None:
    """Write or read a sheet, or serve the page until it is done, or Ctrl-C."""
    if options.to_csv and options.from_csv:
        raise ConfigError("--to-csv and --from-csv", "use them one after the other")
    with open_review(options.file, options.by, options.docs) as review:
        if options.to_csv:
            _write_sheet(review, options.to_csv)
        elif options.from_csv:
            _take_sheet(review, options.from_csv)
        else:
            from harness.extensions.testset.review.page import review_page

            serve_page(review_page(review), options.port)
        _say(_standing(review))


def _write_sheet(review: Review, path: Path) -> None:
    from harness.extensions.testset.review.csv_sheet import write_sheet

    number = counted(write_sheet(review, path), "question")
    _say(f"{path}: {number}; fill in `decision` with accept or reject, then --from-csv {path}")


def _take_sheet(review: Review, path: Path) -> None:
    from harness.extensions.testset.review.csv_sheet import take_sheet

    taken = take_sheet(review, path)
    _say(f"{taken.accepted} accepted, {taken.edited} of them edited, {taken.rejected} rejected, {taken.left} left")


def _standing(review: Review) -> str:
    rejected = sum(one.is_rejected for one in review.rows)
    kept = len(review.rows) - rejected
    seen = sum(one.is_seen and not one.is_rejected for one in review.rows)
    said = f"{counted(kept, 'question')}, {seen:,} reviewed by a person; {rejected:,} rejected"
    return f"{review.path}: {said} (decisions: {review.log})"


def _say(line: str) -> None:
    open_console().print(line, soft_wrap=True)
