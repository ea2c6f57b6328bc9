"""Splits documents into passages with their positions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from harness.core.errors import need
from harness.core.records import Document, Span
from harness.protocols import Params
from systems.common.headings import document_heading, origin_of, under_heading


class ChunkParams(Params):
    """Size and overlap in characters (the thesis's 1,200 and 100)."""

    chunk_size: int = Field(1200, ge=50)
    chunk_overlap: int = Field(100, ge=0)
    splitter: Literal["own", "langchain"] = "own"
    """`own`: also at sentence ends, every character kept; `langchain`: RecursiveCharacterTextSplitter with its
    separators, white space stripped (thesis).
    """

    @property
    def shows_headings(self) -> bool:
        """Whether models read title, source and date with a passage."""
        return True

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> Self:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError("chunk_overlap must be smaller than chunk_size")
        return self


@dataclass(frozen=True)
class Chunk:
    """A passage: `document.text[span.start:span.end] == text`."""

    chunk_id: str
    """Unique in the corpus, in document order."""
    text: str
    span: Span
    document: Document
    shows_heading: bool = True
    """Whether models read the document's title, source and date with it."""

    @property
    def heading(self) -> str:
        """Title, source and date on one line; empty if models do not read headings."""
        return document_heading(self.document) if self.shows_heading else ""

    @property
    def origin(self) -> str:
        """Source and date, or the title; empty if models do not read headings."""
        return origin_of(self.document) if self.shows_heading else ""

    @property
    def shown(self) -> str:
        """The text as a model reads it, below its heading."""
        return under_heading(self.heading, self.text.strip())


def check_splitter(params: ChunkParams) -> None:
    """Raise MissingDependency if the splitter's package is not installed; fast, because it imports nothing."""
    if params.splitter == "langchain":
        need("splitter-langchain", "langchain_text_splitters")


def iter_chunks(corpus: Sequence[Document], params: ChunkParams) -> Iterator[Chunk]:
    """Split at paragraphs, then lines, sentences and words, as LangChain's recursive character splitter does.

    Chunks of only white space are dropped, so an empty document yields none.
    """
    for document_number, document in enumerate(corpus):
        for number, (start, end) in enumerate(_places(document.text, params)):
            text = document.text[start:end]
            if text.strip():
                span = Span(doc_id=document.doc_id, start=start, end=end)
                chunk_id = f"{document_number:06d}-{number:05d}"
                yield Chunk(chunk_id, text, span, document, params.shows_headings)


def _places(text: str, params: ChunkParams) -> "Iterator[_Place]":
    if params.splitter == "own":
        return _split(text, (0, len(text)), params, _SEPARATORS)
    check_splitter(params)
    return _places_by_langchain(text, params)


def _places_by_langchain(text: str, params: ChunkParams) -> "Iterator[_Place]":
    """Where a text repeats itself, a place may be that of an earlier copy of the same words."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=params.chunk_size, chunk_overlap=params.chunk_overlap, add_start_index=True
    )
    for piece in splitter.create_documents([text]):
        start = piece.metadata["start_index"]
        yield start, start + len(piece.page_content)


_SEPARATORS = ("\n\n", "\n", ". ", " ")
_Place = tuple[int, int]
"""Start and end of a piece of a text. LangChain's splitter makes the same pieces but searches for their positions
afterwards, and finds wrong ones if a text repeats itself."""


def _split(text: str, whole: _Place, params: ChunkParams, separators: Sequence[str]) -> Iterator[_Place]:
    """Split at the first separator that occurs; pieces that are still too long are split at the next ones."""
    while separators and text.find(separators[0], *whole) < 0:
        separators = separators[1:]
    run: list[_Place] = []
    for piece in _pieces(text, whole, separators[0] if separators else ""):
        if piece[1] - piece[0] < params.chunk_size:
            run.append(piece)
        else:
            yield from _join(run, params)
            run = []
            yield from _split(text, piece, params, separators[1:])
    yield from _join(run, params)


def _pieces(text: str, whole: _Place, separator: str) -> Iterator[_Place]:
    """Each piece with its separator at its end; single characters without a separator."""
    start, end = whole
    while start < end:
        found = text.find(separator, start, end) if separator else start + 1
        cut = end if found < 0 else found + len(separator)
        yield start, cut
        start = cut


def _join(run: Sequence[_Place], params: ChunkParams) -> Iterator[_Place]:
    """Neighbouring pieces joined up to chunk_size; each chunk repeats the last pieces of the previous one, up to
    the overlap.
    """
    first = 0
    for number, (start, end) in enumerate(run):
        if number > first and end - run[first][0] > params.chunk_size:
            yield run[first][0], start
            while first < number and (
                start - run[first][0] > params.chunk_overlap or end - run[first][0] > params.chunk_size
            ):
                first += 1
    if run:
        yield run[first][0], run[-1][1]
